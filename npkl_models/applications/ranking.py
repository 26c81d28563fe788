"""Rankings of similar points, and of the groups of similar points, by the values of a learnt kernel.

Examples
--------
>>> import npkl_models as nm
>>> from npkl_models.applications.ranking import similar_points
>>> data = nm.datasets.load("iris")
>>> pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
>>> solution = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs).solve()
>>> found = similar_points(solution, 0, count=5)
>>> bool((data.y[found.best] == data.y[0]).all())
True
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
    """Points or groups in the order of their scores, the best first.

    Attributes
    ----------
    best : ndarray of int, shape (k,)
        Indices of the points or groups.
    score : ndarray of shape (k,)
        Their scores.
    """

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

    Returns
    -------
    Ranking
        The points and their scores K_ij. Of equal scores, the lower index comes first.

    Raises
    ------
    ProblemError
        If an index is no point, or if ``count`` is below 1.

    Notes
    -----
    Zhuang, Tsang & Hoi, JMLR 12, 2011, section 7.5.3, propose this ranking for users of a photo platform.
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
    given : Solution or array_like
        A solution, a kernel or a factor, as in `similar_points`.
    membership : array_like or sparse of shape (n, g)
        1 where a point belongs to a group, else 0. Groups of the point itself are left out.
    point : int
        Index of the point.
    count : int
        Number of groups; all other groups if there are fewer.
    n_neighbors : int
        Number of similar points that vote.

    Returns
    -------
    Ranking
        The groups and their numbers of votes. Of equal numbers, the lower index comes first.

    Raises
    ------
    ProblemError
        If the index is no point, if a number is below 1, or if ``membership`` has another shape or other
        values.

    Notes
    -----
    Zhuang, Tsang & Hoi, JMLR 12, 2011, section 7.5.3.
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
