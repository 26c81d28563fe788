"""Reading a point: what was given, and the factor that stands for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from npkl_models.errors import OutOfRangeError, ProblemError, chosen
from npkl_models.linalg import Array, symmetrize
from npkl_models.linalg.owned import real_array
from npkl_models.model.statement import Statement

KINDS = ("auto", "factor", "kernel")
LARGEST = 1e300  # entry of a kernel
ASYMMETRY = 1e-6  # of the largest entry: beyond, a square array is no kernel with rounding errors


@dataclass(frozen=True)
class Given:
    """A factor V (n x r) for a point, and what the point was."""

    V: Array
    min_eigenvalue: float = 0.0  # of the kernel as given; 0 for a factor, or a kernel that is PSD to rounding
    moved: float = 0.0  # ||K - VV'|| / ||K||, for what was symmetrised and cut


def read_point(problem: Statement, point: Any, kind: str = "auto", root: float = 1.0) -> Given:
    """The factor of a factor or a kernel; an n x n array is a kernel unless ``kind`` says otherwise.

    ``root`` is a power of two, in units of which a factor is given; a kernel is in those of its square. A
    ProblemError is raised for a wrong shape, numbers that are not finite, or a square array that is far from
    symmetric and so neither clearly a kernel nor, without ``kind="factor"``, a factor.
    """
    chosen("kind of point", kind, KINDS)
    A = real_array(point, "a point")
    n = problem.n
    if A.ndim != 2 or A.shape[0] != n or not A.shape[1] or not np.isfinite(A).all():
        raise ProblemError(
            f"a point must be a finite factor ({n} x r) or kernel ({n} x {n}), got shape {A.shape}"
        )
    square, largest = A.shape[1] == n, float(np.abs(A).max())
    as_kernel = kind == "kernel" or (kind == "auto" and square)
    if root != 1.0:
        A = A / root / (root if as_kernel else 1.0)
        largest = float(np.abs(A).max())
    if largest > (LARGEST if as_kernel else LARGEST**0.5):
        raise OutOfRangeError(f"a point must have a finite objective, got entries up to {largest:.1e}")
    if not as_kernel:
        return Given(A if A.shape[1] <= n else _narrow(A))
    if not square:
        raise ProblemError(f"a kernel must be {n} x {n}, got shape {A.shape}")
    skew, size = float(np.abs(A - A.T).max()), largest
    if skew > ASYMMETRY * size:
        raise ProblemError(
            f"a kernel must be symmetric, got a square array with a difference of {skew:.1e} between (i, j) "
            f"and (j, i), entries up to {size:.1e}; for a factor say kind='factor'"
        )
    return _kernel(problem, A)


def _narrow(V: Array) -> Array:
    """The same kernel with n columns."""
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    return U * s


def as_factor(problem: Statement, point: Any, kind: str = "auto") -> Array:
    """The factor V (n x r) of a factor or kernel; negative eigenvalues of a kernel are cut."""
    return read_point(problem, point, kind).V


def _kernel(problem: Statement, K: Array) -> Given:
    inside = symmetrize(K if problem.basis is None else problem.drop(problem.drop(K).T))
    values, vectors = scipy.linalg.eigh(inside, driver="evd")
    rounding = 4 * len(values) * np.finfo(float).eps * float(np.abs(values).max(initial=0.0))
    kept = values > 0
    V = problem.lift(vectors[:, kept] * np.sqrt(values[kept])) if kept.any() else np.zeros((problem.n, 1))
    distance = float(np.linalg.norm(K - V @ V.T)) / max(float(np.linalg.norm(K)), 1e-300)
    lowest = float(values[0])
    return Given(V, lowest if lowest < -rounding else 0.0, distance if distance > 1e-13 * problem.n else 0.0)
