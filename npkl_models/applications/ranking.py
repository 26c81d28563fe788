"""Rankings of similar points, and of the groups of similar points, by the values of a learnt kernel.

Zhuang, Tsang & Hoi, JMLR 12, 2011, section 7.5.3, propose them for users of a photo platform.

Examples
--------
>>> from npkl_models.applications.ranking import similar_points, voted_groups
>>> V, member = [[1.0], [0.9], [-1.0], [0.5]], [[0, 0], [1, 0], [0, 1], [1, 1]]
>>> similar_points(V, 0, count=2).best
array([1, 3])
>>> voted_groups(V, member, 0, n_neighbors=2)
Ranking(best=array([0, 1]), score=array([2., 1.]))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import finite, real_array, real_matrix, whole_number


class Ranking(NamedTuple):
    """Points or groups in the order of their scores, the best first; of equal scores, the lower index."""

    best: Index
    score: Array


def similar_points(
    given: Solution | ArrayLike, point: int, count: int = 10, *, known: ArrayLike = ()
) -> Ranking:
    """The points j that are most similar to a point i, by K_ij; for example, suggestions of friends.

    Parameters
    ----------
    given : Solution or array_like
        A solution, a kernel (n x n), or a factor V (n x r) with r < n.
    point : int
        Index of the point i.
    count : int
        Number of points; all other points if there are fewer.
    known : array_like of int
        Points that are left out in addition to i, for example those that are friends already.
    """
    values = _row(given, point)
    out = np.zeros(values.size, dtype=bool)
    out[_indices(known, values.size, "known")] = True
    out[point] = True
    return _first(values, np.flatnonzero(~out), whole_number(count, "count", 1))


def voted_groups(
    given: Solution | ArrayLike, membership: Any, point: int, count: int = 5, *, n_neighbors: int = 10
) -> Ranking:
    """The groups to which most of the similar points belong; for example, suggestions of groups.

    Parameters
    ----------
    given, point, count
        As in `similar_points`; ``count`` is that of groups.
    membership : array_like or sparse of shape (n, g)
        1 where a point belongs to a group, else 0. Groups of the point itself are left out.
    n_neighbors : int
        Number of similar points that vote.
    """
    whole_number(n_neighbors, "n_neighbors", 1)
    near, n = similar_points(given, point, n_neighbors), len(_row(given, point))
    table = real_matrix(membership, "membership")
    if table.ndim != 2 or table.shape[0] != n:
        raise ProblemError(f"membership must be of shape ({n}, g) and of 0 and 1, got shape {table.shape}")
    table = sp.csr_array(table)
    if not np.isin(table.data, (0, 1)).all():
        raise ProblemError(f"membership must be of 0 and 1, got up to {np.abs(table.data).max()}")
    votes = np.asarray(table[near.best].sum(axis=0), dtype=float).ravel()
    member = np.asarray(table[[point]].sum(axis=0)).ravel() > 0
    return _first(votes, np.flatnonzero(~member), whole_number(count, "count", 1))


def _row(given: Solution | ArrayLike, point: int) -> Array:
    """Row i of the kernel, of shape (n,)."""
    A = factor_of(given) if isinstance(given, Solution) else real_array(given, "a kernel")
    if finite(A, "a kernel").ndim != 2 or A.shape[1] > A.shape[0]:
        raise ProblemError(f"a kernel must have shape (n, n), and a factor (n, r), got shape {A.shape}")
    i = _indices([point], A.shape[0], "point")[0]
    square = not isinstance(given, Solution) and A.shape[0] == A.shape[1]
    out: Array = A[i] if square else A @ A[i]
    return out


def _indices(given: ArrayLike, n: int, name: str) -> Index:
    found = np.asarray(given)
    if found.size and not (
        np.issubdtype(found.dtype, np.integer) and found.ndim == 1 and np.all((found >= 0) & (found < n))
    ):
        raise ProblemError(f"{name} must be integers from 0 to {n - 1}, got {given!r}")
    return found.astype(np.intp)


def _first(score: Array, among: Index, count: int) -> Ranking:
    best = among[np.argsort(-score[among], kind="stable")[:count]]
    return Ranking(best, score[best])
