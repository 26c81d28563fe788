"""Kernel matrix completion: the kernel that fits the known entries best."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError, instance
from npkl_models.formulations.pair_terms import soft_or_hard
from npkl_models.linalg import SKEW, Array, Index
from npkl_models.linalg.owned import real_array, real_matrix, whole_array, whole_number
from npkl_models.model.basis import Basis
from npkl_models.model.functionals import Entries
from npkl_models.model.graph import affinity
from npkl_models.model.regularizers import NoRegularizer, TracePower
from npkl_models.problem import Problem


def kernel_completion(
    observed: Any,
    *,
    weights: ArrayLike | None = None,
    penalty: float | None = None,
    basis: Basis | None = None,
    n_points: int | None = None,
) -> Problem:
    r"""Kernel matrix completion.

    .. math::

        \min_{K \succeq 0} \sum_{(i,j) \in \Omega} w_{ij} (K_{ij} - k_{ij})^2
        \quad \left[{} + G \operatorname{tr} K\right] \quad [K = QUQ']

    Parameters
    ----------
    observed : array_like or sparse of shape (n, n), or tuple (i, j, values)
        The known entries. An array has NaN for each unknown entry; of a sparse matrix, the stored entries are
        known. A tuple has three vectors of one length.
        An entry that is known in the order (i, j) is known in the order (j, i), too, and Omega contains both.
        So each known number off the diagonal counts twice.
    weights : array_like, optional
        Positive weights w_ij of the observed entries: shape (n, n) if ``observed`` is a matrix, else a
        vector. All weights are one by default. An entry of the weight ``np.inf`` is met exactly.
    penalty : float, optional
        Positive number G. Of many kernels that fit, the penalty selects a kernel of small trace, and hence
        of low rank.
    basis : Basis, optional
        Basis Q of the kernel; by default the kernel is not restricted.
    n_points : int, optional
        Number n of points, for a tuple; by default the largest index plus one.

    Raises
    ------
    ProblemError
        If nothing is observed, if an entry has two values or two weights (the message names the entry), if
        values or weights are not finite, or if the basis has another number of points.

    Notes
    -----
    Graepel, ICANN 2002, "Kernel matrix completion by semidefinite programming", with weights. If all entries
    are known and all weights are one, the optimal kernel is the positive part of the symmetric matrix k. With
    a penalty it is the positive part of k - (G / 2) I.

    If a diagonal entry is unknown, a large value there lets the other entries of the point be met
    arbitrarily closely. Such a problem may not attain its optimum; a penalty makes it attained.
    """
    i, j, value, weight, n = known_entries(observed, weights, n_points)
    if basis is not None:
        instance(basis, Basis, "basis", "eigenbasis(L, 10)")
        if basis.n != n:
            raise ProblemError(f"basis and entries must be over the same points, got {basis.n} and {n}")
    regularizer = NoRegularizer() if penalty is None else TracePower(1, penalty=penalty)
    weight = np.where(i == j, 1.0, 2.0) * weight
    terms = soft_or_hard(Entries(n, (i, j)), "square", value, weight, "entries", "equal")
    return Problem(sp.csr_array((n, n)), terms, regularizer, basis, "kernel_completion")


def known_affinities(X: Any, n_neighbors: int = 5) -> tuple[Index, Index, Array]:
    """Entries (i, j, values) of the Gaussian kernel of points (n x d): of neighbours and the diagonal."""
    S = sp.triu(affinity(X, n_neighbors), k=1).tocoo()
    own = np.arange(S.shape[0])
    order = np.lexsort([S.col, S.row])
    ends = (np.concatenate([own, end[order]]) for end in (S.row, S.col))
    i, j = (end.astype(np.intp) for end in ends)
    return i, j, np.concatenate([np.ones(own.size), S.data[order]])


def known_entries(
    observed: Any, weights: ArrayLike | None, n_points: int | None
) -> tuple[Index, Index, Array, Array, int]:
    """Each known entry once, i <= j: (i, j, values, weights, number of points)."""
    listed = isinstance(observed, tuple)
    i, j, value, n = _listed(observed, n_points) if listed else _of_matrix(observed, n_points)
    weight: Array = np.ones(value.size)
    if weights is not None:
        given = real_matrix(weights, "weights of entries")
        shape = value.shape if listed else (n, n)
        if given.shape != shape:
            raise ProblemError(f"weights of entries must have shape {shape}, got {given.shape}")
        weight = np.asarray(given if listed else given[i, j]).ravel()
    if not value.size:
        raise ProblemError("observed must hold at least one entry, got none")
    if not np.isfinite(value).all():
        bad = np.flatnonzero(~np.isfinite(value))[:3]
        raise ProblemError(f"observed entries must be finite, got {value[bad].tolist()} at {_at(i, j, bad)}")
    if not (weight > 0).all():
        bad = np.flatnonzero(~(weight > 0))[:3]
        raise ProblemError(
            f"weights of entries must be positive, got {weight[bad].tolist()} at {_at(i, j, bad)}"
        )
    code = np.minimum(i, j) * n + np.maximum(i, j)
    found, first, place = np.unique(code, return_index=True, return_inverse=True)
    i, j = np.divmod(found, n)
    return i, j, _one(value, first, place, i, j, "value"), _one(weight, first, place, i, j, "weight"), n


def _listed(observed: tuple[Any, ...], n_points: int | None) -> tuple[Index, Index, Array, int]:
    """Indices and values of a tuple, and the number of points."""
    if len(observed) != 3:
        raise ProblemError(f"a tuple of observed entries must be (i, j, values), got {len(observed)} parts")
    i, j = (whole_array(part, "indices of observed entries") for part in observed[:2])
    value = real_array(observed[2], "observed values")
    if i.ndim != 1 or i.shape != j.shape or i.shape != value.shape:
        raise ProblemError(
            f"observed (i, j, values) must be vectors of one length, got shapes {i.shape}, {j.shape} and "
            f"{value.shape}"
        )
    least = 1 + max(int(np.max(i, initial=0)), int(np.max(j, initial=0)))
    n = max(least, 2) if n_points is None else whole_number(n_points, "n_points", 2)
    if n < least or min(int(np.min(i, initial=0)), int(np.min(j, initial=0))) < 0:
        wrong = np.flatnonzero((np.minimum(i, j) < 0) | (np.maximum(i, j) >= n))[:3]
        raise ProblemError(f"indices of observed entries must lie in 0..{n - 1}, got {_at(i, j, wrong)}")
    return i, j, value, n


def _of_matrix(observed: Any, n_points: int | None) -> tuple[Index, Index, Array, int]:
    """Indices and values of the stored entries, or of those that are not NaN, and the number of points."""
    A = real_matrix(observed, "observed")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] < 2:
        raise ProblemError(
            f"observed must have shape (n, n) with n >= 2, or be a tuple (i, j, values), got {A.shape}"
        )
    n = int(A.shape[0])
    if n_points is not None and whole_number(n_points, "n_points", 2) != n:
        raise ProblemError(f"n_points must be {n}, the order of the array, or None, got {n_points}")
    if sp.issparse(A):
        coo = A.tocoo()
        return coo.row, coo.col, coo.data, n
    i, j = np.nonzero(~np.isnan(A))
    return i, j, A[i, j], n


def _one(numbers: Array, first: Index, place: Index, i: Index, j: Index, what: str) -> Array:
    """The number of each distinct entry; an error if an entry has two numbers that differ beyond rounding."""
    own = numbers[first]
    off = np.zeros(own.size)
    differ = numbers != own[place]  # infinite weights may be equal
    np.maximum.at(off, place[differ], np.abs(numbers[differ] - own[place[differ]]))
    twofold = np.flatnonzero(off > SKEW * np.max(np.abs(numbers), initial=0.0, where=np.isfinite(numbers)))
    if twofold.size:
        raise ProblemError(
            f"an observed entry must have the same {what} in both orders, got {twofold.size} with two "
            f"{what}s that differ by up to {off.max():.3g}: {_at(i, j, twofold[:3])}"
        )
    return own


def _at(i: Index, j: Index, which: Index) -> list[tuple[int, int]]:
    return [(int(i[k]), int(j[k])) for k in which]
