"""Suggestions of pairs to ask for: the pairs of which the kernel is least certain."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.owned import Seed, generator, whole_array, whole_number
from npkl_models.model.functionals import Entries
from npkl_models.model.pairs import Pairs, components

AT_FIRST = 100  # candidates that are read at first for each wanted pair
LISTED = 2_000_000  # the largest number of candidates; of more pairs, so many are drawn


def suggest_pairs(
    solution: Solution, k: int, *, random_state: Seed = 0, known: Pairs | None = None,
    exclude: ArrayLike | None = None,
) -> Index:  # fmt: skip
    """Suggest the pairs that a kernel is least certain of; no two of these pairs share a point.

    The cosine K_ij / sqrt(K_ii K_jj) is compared with the value half-way between the targets of must-links
    and cannot-links. The pairs nearest to that value are suggested. Known pairs, and pairs that follow from
    known pairs, are left out. Points that must-links join count as one point.

    On some data sets these pairs are better than random pairs, on others worse; docs/lab/applications.md has
    the measurements.

    Parameters
    ----------
    solution : Solution
        The solution of a problem with pairs, which have a loss or are constraints.
    k : int
        Number of pairs. The result has fewer pairs if not enough candidates are left.
    random_state : int or Generator
        Seed of the draw of two million candidates, which is made if there are more pairs than that.
    known : Pairs, optional
        Answers that came after the solve. The pairs of the problem need not be repeated here.
    exclude : array_like of shape (m, 2), optional
        Pairs that must not be suggested.

    Returns
    -------
    ndarray of int, shape (k, 2)
        The pairs, the least certain pair first.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.suggest import suggest_pairs
    >>> X = [[0.0], [1.0], [2.0], [6.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(7, must_link=[(0, 1), (4, 5)], cannot_link=[(2, 4)])
    >>> solution = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs, gamma=10.0).solve()
    >>> bool((suggest_pairs(solution, 1) == 3).any())  # the point between the two groups
    True
    """
    instance(solution, Solution, "solution", "problem.solve()")
    V, k = factor_of(solution, "kernel to ask"), whole_number(k, "k", 1)
    must, cannot, threshold = _given(solution)
    n = solution.problem.n
    if known is not None:
        instance(known, Pairs, "known")
        if known.n != n:
            raise ProblemError(f"known pairs must be over the {n} points, got pairs over {known.n} points")
        must, cannot = np.concatenate([must, known.must_link]), np.concatenate([cannot, known.cannot_link])
    group = components(n, must)[1]
    ends = _candidates(n, generator(random_state))
    margin = np.abs(cosines(V, ends) - threshold)
    return first_apart(ends[np.argsort(margin, kind="stable")], group, cannot, k, exclude)


def first_apart(
    ends: Index, group: Index, cannot: Index, k: int, exclude: ArrayLike | None = None
) -> Index:  # fmt: skip
    """The first k open pairs of a list (m, 2), in their order, such that no two share a group.

    ``group`` holds the group of each point; must-links join points into groups. The choice among the first
    pairs does not depend on later pairs. So the list is read as far as necessary, twice as far each time.
    """
    count = len(group)
    left_out = whole_array([] if exclude is None else exclude, "exclude of shape (m, 2)")
    if left_out.size and (left_out.ndim != 2 or left_out.shape[1] != 2):
        raise ProblemError(f"exclude must be integers of shape (m, 2), got shape {left_out.shape}")
    left_out = np.sort(left_out.reshape(-1, 2), axis=1)
    read = AT_FIRST * k
    while True:
        part = ends[:read]
        part = part[open_pairs(part, group, cannot)]
        part = part[~np.isin(part @ np.array([count, 1]), left_out @ np.array([count, 1]))]
        found = _apart(part, group, k)
        if len(found) >= k or read >= len(ends):
            return found
        read *= 2


def cosines(V: Array, ends: Index) -> Array:
    """The cosines K_ij / sqrt(K_ii K_jj) of pairs (m, 2), computed from a factor."""
    rows = V / np.maximum(np.linalg.norm(V, axis=1), 1e-300)[:, None]
    return np.einsum("er,er->e", rows[ends[:, 0]], rows[ends[:, 1]])


def _given(solution: Solution) -> tuple[Index, Index, float]:
    """Must-links, cannot-links, and the value half-way between their targets."""
    must, cannot = [np.zeros((0, 2), dtype=np.intp)], [np.zeros((0, 2), dtype=np.intp)]
    targets: list[Array] = []
    terms = [(term.functional, term.target) for term in solution.problem.losses]
    terms += [(part.functional, part.value) for part in solution.problem.constraints]
    for functional, target in terms:
        if isinstance(functional, Entries):
            ends = np.stack(functional.indices, axis=1)
            off = ends[:, 0] != ends[:, 1]
            must.append(ends[off & (target > 0)])
            cannot.append(ends[off & (target <= 0)])
            targets.append(target[off])
    known = np.concatenate([*targets, np.zeros(0)])
    must.append(_shared(solution))
    if not known.size and not len(must[-1]):
        raise ProblemError("a solution must be of a problem with pairs, got a problem without pairs")
    signed = bool((known < 0).any())
    return np.concatenate(must), np.concatenate(cannot), 0.0 if signed else 0.5


def _shared(solution: Solution) -> Index:
    """Pairs that join points with the same row of the basis; must-links as constraints have this form."""
    basis = solution.problem.basis
    if basis is None or not sp.issparse(basis.Q):
        return np.zeros((0, 2), dtype=np.intp)
    Q = sp.csr_array(basis.Q)
    if not (np.diff(Q.indptr) == 1).all():
        return np.zeros((0, 2), dtype=np.intp)
    order = np.argsort(Q.indices, kind="stable")
    same = np.flatnonzero(np.diff(Q.indices[order]) == 0)
    return np.stack([order[same], order[same + 1]], axis=1)


def _candidates(n: int, rng: np.random.Generator) -> Index:
    if n * (n - 1) // 2 <= LISTED:
        return np.stack(np.triu_indices(n, k=1), axis=1)
    drawn = np.sort(rng.integers(0, n, size=(LISTED, 2)), axis=1)
    return drawn[drawn[:, 0] < drawn[:, 1]]


def open_pairs(ends: Index, group: Index, cannot: Index) -> Mask:
    """Which pairs do not follow from the known pairs."""
    count = int(group.max()) + 1
    codes = [np.sort(group[part], axis=1) @ np.array([count, 1]) for part in (ends, cannot)]
    return (group[ends[:, 0]] != group[ends[:, 1]]) & ~np.isin(codes[0], codes[1])


def _apart(ends: Index, group: Index, k: int) -> Index:
    """The first k pairs, in their order, such that no two share a group.

    Each round takes the pairs that come first among all pairs of both their groups.
    """
    chosen = [np.zeros((0, 2), dtype=np.intp)]
    place = [np.zeros(0, dtype=np.intp)]
    rank = np.arange(len(ends))
    while len(ends):
        first = np.full(int(group.max()) + 1, len(group) ** 2)
        np.minimum.at(first, group[ends].ravel(), np.repeat(rank, 2))
        taken = (first[group[ends]] == rank[:, None]).all(axis=1)
        chosen.append(ends[taken])
        place.append(rank[taken])
        used = np.zeros(len(first), dtype=bool)
        used[group[ends[taken]].ravel()] = True
        left = ~used[group[ends]].any(axis=1)
        ends, rank = ends[left], rank[left]
    order = np.argsort(np.concatenate(place))[:k]
    return np.concatenate(chosen)[order]
