"""Which pairs to ask for next: those that the kernel cannot tell."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.owned import Seed, generator, whole_number
from npkl_models.model.functionals import Entries
from npkl_models.model.pairs import Pairs, components

AT_FIRST = 100  # of the list, for each pair that is wanted
LISTED = 2_000_000  # candidate pairs: of more, so many are drawn


def suggest_pairs(
    solution: Solution, k: int, *, random_state: Seed = 0, known: Pairs | None = None,
    exclude: ArrayLike | None = None,
) -> Index:  # fmt: skip
    """The pairs that a kernel is least sure of, no two of which have a point in common.

    K_ij / sqrt(K_ii K_jj) is compared with what lies half-way between the targets of must-links and
    cannot-links; the nearest to that are asked for. A pair that was given, or that follows from those that
    were, is not, and the points that must-links join count as one.

    That is better than random pairs on some sets and worse on others (measured in docs/lab/applications.md).

    Parameters
    ----------
    solution : Solution
        Of a problem with pairs, by a loss or as constraints.
    k : int
        How many. There may be fewer: points with pairs still to ask for run out.
    random_state : int or Generator
        Of the two million candidates that are drawn where there are more.
    known : Pairs, optional
        Answers that came after the solve; those of the problem are known without.
    exclude : array_like of shape (m, 2), optional
        Pairs that are not to be asked for.

    Returns
    -------
    ndarray of int, shape (k, 2)
        The least certain first.

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
    V, k = factor_of(solution, "kernel to ask"), whole_number(k, "k", 1)
    must, cannot, threshold = _given(solution)
    n = solution.problem.n
    if known is not None:
        if known.n != n:
            raise ProblemError(f"known pairs must be over the {n} points, got pairs over {known.n}")
        must, cannot = np.concatenate([must, known.must_link]), np.concatenate([cannot, known.cannot_link])
    group = components(n, must)[1]
    ends = _candidates(n, generator(random_state))
    margin = np.abs(cosines(V, ends) - threshold)
    return first_apart(ends[np.argsort(margin, kind="stable")], group, cannot, k, exclude)


def first_apart(
    ends: Index, group: Index, cannot: Index, k: int, exclude: ArrayLike | None = None
) -> Index:  # fmt: skip
    """The first k open pairs (m, 2), in their order, of which no two have a group in common.

    ``group`` is the one of each point: those that must-links join count as one. What is taken of the first
    pairs does not depend on those that follow: so the list is read as far as it takes, twice as far each
    time.
    """
    count = len(group)
    left_out = np.sort(np.asarray([] if exclude is None else exclude, dtype=np.intp).reshape(-1, 2), axis=1)
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
    """K_ij / sqrt(K_ii K_jj) of pairs (m, 2), from a factor."""
    rows = V / np.maximum(np.linalg.norm(V, axis=1), 1e-300)[:, None]
    return np.einsum("er,er->e", rows[ends[:, 0]], rows[ends[:, 1]])


def _given(solution: Solution) -> tuple[Index, Index, float]:
    """Must-links, cannot-links, and the value that is neither's."""
    must, cannot = [np.zeros((0, 2), dtype=np.intp)], [np.zeros((0, 2), dtype=np.intp)]
    targets: list[Array] = []
    terms = [(term.functional, term.target) for term in solution.problem.terms]
    terms += [(part.functional, part.value) for part in solution.problem.equalities]
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
        raise ProblemError("a solution must be of a problem with pairs, got one without any")
    signed = bool((known < 0).any())
    return np.concatenate(must), np.concatenate(cannot), 0.0 if signed else 0.5


def _shared(solution: Solution) -> Index:
    """Pairs that join the points which a basis gives one row: those of must-links as constraints."""
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
    """Which pairs do not follow from those that were given."""
    count = int(group.max()) + 1
    codes = [np.sort(group[part], axis=1) @ np.array([count, 1]) for part in (ends, cannot)]
    return (group[ends[:, 0]] != group[ends[:, 1]]) & ~np.isin(codes[0], codes[1])


def _apart(ends: Index, group: Index, k: int) -> Index:
    """The first k of the pairs, in their order, of which no two have a group in common.

    In each round those pairs are taken that come first among the pairs of both their groups.
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
