"""Read a point: a factor, or a kernel and the factor of its PSD part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from npkl_models.errors import OutOfRangeError, ProblemError, chosen
from npkl_models.kernel import units_of_kernel
from npkl_models.linalg import UNIT, Array, symmetrize
from npkl_models.linalg.owned import real_array
from npkl_models.model.reading import LARGEST
from npkl_models.model.statement import Statement

KINDS = ("auto", "factor", "kernel")
ASYMMETRY = 1e-6  # relative to the largest entry: a larger difference is more than rounding of a kernel
ROUNDING = 4  # units of roundoff, times the order: a kernel with such eigenvalues is judged by its PSD part


@dataclass(frozen=True, eq=False)
class Given:
    """A given point: a factor V (n x r), or a kernel K that is not PSD, with a factor V of its PSD part."""

    V: Array
    K: Array | None = None  # None for a factor, and for a kernel that is PSD to rounding
    min_eigenvalue: float = 0.0  # of K; 0 without K
    # the absolute value of the smallest eigenvalue, relative to the largest, where every K_ii is about one
    indefinite: float = 0.0


def read_point(problem: Statement, point: Any, kind: str = "auto", root: float = 1.0) -> Given:
    """The factor of a given factor or kernel; an n x n array is a kernel unless ``kind`` says otherwise.

    ``root`` is a power of two: a factor is divided by ``root``, and a kernel by its square. An n x n array
    that can be no kernel is a factor (`_no_kernel`). One that is neither, or may be either, is refused.
    """
    chosen("kind of point", kind, KINDS)
    A, n = real_array(point, "a point"), problem.n
    if A.ndim != 2 or A.shape[0] != n or not A.shape[1] or not np.isfinite(A).all():
        raise ProblemError(
            f"a point must be a finite factor ({n} x r) or kernel ({n} x {n}), got shape {A.shape}"
        )
    as_kernel = kind == "kernel" or (kind == "auto" and A.shape[1] == n and not _no_kernel(A))
    if root != 1.0:
        A = A / root / (root if as_kernel else 1.0)
    largest = float(np.abs(A).max())
    if largest > (LARGEST if as_kernel else LARGEST**0.5):
        raise OutOfRangeError(f"a point must have a finite objective, got entries up to {largest:.1e}")
    if as_kernel:
        return _kernel(A, largest)
    if A.shape[1] > n:  # a factor of the same kernel has n columns
        U, s, _ = np.linalg.svd(A, full_matrices=False)
        A = U * s
    return Given(A)


def _no_kernel(A: Array) -> bool:
    """Whether a square array is far from symmetric, and its signs fit no kernel with a wrong triangle."""
    signs = bool((A.diagonal() < 0).any()) or bool((np.sign(A) * np.sign(A.T) < 0).any())
    return signs and float(np.abs(A - A.T).max()) > ASYMMETRY**0.5 * float(np.abs(A).max())


def as_factor(problem: Statement, point: Any, kind: str = "auto") -> Array:
    """The factor V (n x r) of a factor, or of the PSD part of a kernel."""
    return read_point(problem, point, kind).V


def _kernel(K: Array, most: float) -> Given:
    """The factor of a kernel in the units of its rows, so that no row excuses another."""
    if K.shape[0] != K.shape[1]:
        raise ProblemError(f"a kernel must be {len(K)} x {len(K)}, got shape {K.shape}")
    skew = float(np.abs(K - K.T).max())
    if skew > ASYMMETRY * most:
        raise ProblemError(
            f"a kernel must be symmetric, got a square array with a difference of {skew:.1e} between (i, j) "
            f"and (j, i), entries up to {most:.1e}; for a factor use kind='factor'"
        )
    K = symmetrize(K)
    d = units_of_kernel(K)
    values, vectors = scipy.linalg.eigh(K / d / d[:, None], driver="evd")
    kept = values > 0
    V = d[:, None] * vectors[:, kept] * np.sqrt(values[kept]) if kept.any() else np.zeros((len(K), 1))
    largest = float(np.abs(values).max())
    if values[0] >= -ROUNDING * len(K) * UNIT * largest:
        return Given(V)
    return Given(V, K, float(scipy.linalg.eigvalsh(K)[0]), -float(values[0]) / largest)
