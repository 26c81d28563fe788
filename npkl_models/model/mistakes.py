"""What may be wrong with comparisons and with measured distances, in the words of these problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from npkl_models.linalg import Array, Index
from npkl_models.model.constraint import Constraint
from npkl_models.model.distances import DistanceCombinations, OfDistances, SquaredDistances
from npkl_models.model.functional import Functional
from npkl_models.model.functionals import Entries
from npkl_models.model.pairs import components
from npkl_models.model.sampling import AT_ONCE
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Term

SHOWN = 3  # examples in a message
PATHS = 20_000_000  # most paths of two distances that are compared with a third
ROUNDED = 1e-9  # a smaller share of a distance, or of the largest entry of a matrix, is rounding


class Finding(NamedTuple):
    """A finding of `diagnose`: its kind, and a message."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def compares(problem: Statement) -> bool:
    """Whether all values compare two distances, and the cost penalises each point alone."""
    plain = all(_compared(part.functional) is not None for part in problem.terms)
    return plain and _of_points(problem) and bool((problem.cost.diagonal() > 0).all())


def measures(problem: Statement) -> bool:
    """Whether all values are distances but for anchors, no graph joins points, and no kernel is far off."""
    anchored = _anchors(problem)[0].size > 0
    fixed = anchored or (problem.basis is not None and problem.basis.centring)
    others = [part for part in problem.terms if not isinstance(part.functional, SquaredDistances)]
    alone = others == (_holding(problem) if anchored else [])
    return bool(problem.losses) and fixed and alone and _of_points(problem)


def _of_points(problem: Statement) -> bool:
    """Whether the cost is diagonal."""
    C = sp.coo_array(problem.cost)
    return not C.data[C.row != C.col].any()


def joined_by_distances(terms: Iterable[Term], steep: bool = False) -> list[Index]:
    """The pairs (., 2) of each term of distances that may not grow for free, or, ``steep``, for any gain."""
    out = []
    for term in terms:
        upper = term.domain[1]
        bounded = upper == np.inf if steep else upper > 0
        if isinstance(term.functional, SquaredDistances):
            out.append(np.stack(term.functional.indices, axis=1)[bounded])
    return out


def of_comparisons(problem: Statement) -> Iterator[Finding]:
    """What may be wrong with an ordinal problem."""
    parts = [term.functional for term in problem.terms]
    joined = np.concatenate([_joined(f) for f in parts])
    touched = np.zeros(problem.n, dtype=bool)
    touched[joined] = True
    lonely = np.flatnonzero(~touched)
    if lonely.size:
        yield Finding(
            "isolation",
            f"no comparison names {lonely.size} of {problem.n} points: {some(lonely)}; the penalty "
            "alone places them, at the centre",
        )
    _, label = components(problem.n, joined)
    groups, sizes = np.unique(label[touched], return_counts=True)
    if sizes.size > 1:
        many = ", ".join(str(int(size)) for size in np.sort(sizes)[::-1][:SHOWN])
        many += " and fewer points" if sizes.size > SHOWN else " points"
        smallest = np.flatnonzero(touched & (label == groups[np.argmin(sizes)]))
        yield Finding(
            "disconnection",
            f"the comparisons fall into {sizes.size} groups of points, of {many}, that no "
            f"comparison joins, for example {some(smallest)}; the data do not determine how the "
            "groups lie to each other",
        )
    yield from _contradictions(problem)


def of_distances(problem: Statement) -> Iterator[Finding]:
    """What may be wrong with a problem of measured distances."""
    anchors, d = _anchors(problem)
    lost = unjoined(joined_by_distances(problem.terms), anchors, problem.n)
    whom = "an anchor" if anchors.size else "each other"
    if lost.size:
        yield Finding(
            "disconnection",
            f"no path of distances or upper bounds joins {lost.size} of {problem.n} points to {whom}: "
            f"{some(lost)}; the data do not determine where they are",
        )
    ends, targets = _measured(problem)
    if not targets.size:
        return
    i, j = ends.T
    degree = np.bincount(np.concatenate([i, j]), minlength=problem.n)
    degree[anchors] = d + 1
    few = np.flatnonzero(degree < d + 1)
    if few.size:
        sensors, named = problem.n - anchors.size, some(few)
        yield Finding(
            "isolation",
            f"fewer than {d + 1} distances at {few.size} of {sensors} sensors: {named}; distances alone do "
            f"not determine where they are in {d} dimensions"
            if anchors.size
            else f"fewer than two distances at {few.size} of {sensors} points: {named}; a point with one "
            "can rotate around its neighbour",
        )
    yield from of_triangles(i, j, np.sqrt(np.maximum(targets, 0.0)), range(problem.n))


def _measured(problem: Statement) -> tuple[Index, Array]:
    """The pairs (m, 2) whose distances have losses on both sides, and their targets."""
    kept = [(t, (t.domain[0] < 0) & (t.domain[1] > 0)) for t in problem.losses]
    ends = [np.stack(t.functional.indices, axis=1)[both] for t, both in kept]
    return np.concatenate(ends), np.concatenate([t.target[both] for t, both in kept])


def unjoined(edges: Sequence[Index], anchors: Index, n: int) -> Index:
    """The points of n that no path of edges joins to an anchor; without anchors, to the largest group."""
    tied = np.stack([np.full(anchors.size, anchors[0] if anchors.size else 0), anchors], axis=1)
    label = components(n, np.concatenate([tied.astype(np.intp), *edges]))[1]
    home = label[anchors[0]] if anchors.size else int(np.argmax(np.bincount(label)))
    return np.flatnonzero(label != home)


def _joined(f: Functional) -> Index:
    """Pairs of points that one value joins (., 2), so that the points of a value are connected."""
    if isinstance(f, DistanceCombinations):
        A = f.combination.tocoo()
        i, j = (end[A.col] for end in f.distances.indices)
        first = np.full(f.size, -1, dtype=np.intp)
        first[A.row[::-1]] = i[::-1]
        return np.concatenate([np.stack([i, j], axis=1), np.stack([first[A.row], i], axis=1)])
    ends = f.indices
    return np.concatenate([np.stack([ends[0], end], axis=1) for end in ends[1:]])


def _contradictions(problem: Statement) -> Iterator[Finding]:
    """Comparisons whose opposite was said, too, and circles of comparisons."""
    n, near, far, weight = problem.n, [], [], []
    for term in problem.terms:
        found = _compared(term.functional)
        if found is not None and (isinstance(term, Constraint) or term.loss.sign_targets):
            turned = (term.value if isinstance(term, Constraint) else term.target) > 0
            near.append(np.where(turned, found[1], found[0]))
            far.append(np.where(turned, found[0], found[1]))
            weight.append(np.ones(turned.size) if isinstance(term, Constraint) else term.weight)
    if not near:
        return
    one, two, w = (np.concatenate(part) for part in (near, far, weight))
    pairs, place = np.unique(np.concatenate([one, two]), return_inverse=True)
    a, b = np.split(place.ravel(), 2)
    graph = sp.csr_array((w, (a, b)), shape=(pairs.size, pairs.size))
    against = np.asarray(graph[b, a]).ravel()
    wrong = np.flatnonzero(against > 0)
    if wrong.size:
        e = wrong[0]
        least = float(np.minimum(w, against)[wrong].sum() / 2 / w.sum())
        yield Finding(
            "contradiction",
            f"{_share(wrong, a)} are contradicted by their opposite, for example that {_pair(one[e], n)} are "
            f"nearer to each other than {_pair(two[e], n)}; every kernel "
            f"answers at least {least:.1%} of the weight wrongly",
        )
    label = connected_components(graph, directed=True, connection="strong")[1]
    circular = np.flatnonzero((label[a] == label[b]) & (against <= 0))
    if circular.size:
        yield Finding(
            "contradiction",
            f"{_share(circular, a)} lie on circles, such as ij < ik < il < ij, that no distances satisfy",
        )


def _compared(f: Functional) -> tuple[Index, Index] | None:
    """The near and the far pair of each comparison, as a code; None for other functionals."""
    if not isinstance(f, OfDistances):
        return None
    A = f.combination.tocoo()
    i, j = f.distances.indices
    code = np.minimum(i, j) * f.n + np.maximum(i, j)
    near, far = (np.full(f.size, -1, dtype=np.intp) for _ in range(2))
    near[A.row[A.data > 0]] = code[A.col[A.data > 0]]
    far[A.row[A.data < 0]] = code[A.col[A.data < 0]]
    plain = bool((near >= 0).all() and (far >= 0).all()) and A.nnz == 2 * f.size
    plain &= bool((np.abs(A.data) == 1).all())
    return (near, far) if plain else None


def of_triangles(i: Index, j: Index, d: Array, names: Sequence[object]) -> Iterator[Finding]:
    """Distances that are longer than a way of two other distances, in the names of the points."""
    n = len(names)
    D = sp.csr_array((np.tile(np.maximum(d, 1e-300), 2), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    degree = np.diff(D.indptr)
    row, paths = np.repeat(np.arange(n), degree), np.cumsum(degree[D.indices])
    seen = int(np.searchsorted(paths, PATHS, side="right"))
    cuts = np.searchsorted(
        paths[:seen], np.arange(AT_ONCE, paths[-1] if paths.size else 0, AT_ONCE), side="right"
    )
    many, worst, example = 0, 0.0, ""
    for own in np.split(np.arange(seen), np.unique(cuts)):
        middle, length = D.indices[own], degree[D.indices[own]]
        rank = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
        second = np.repeat(D.indptr[middle], length) + rank
        a, b, by = np.repeat(row[own], length), D.indices[second], np.repeat(middle, length)
        way, once = np.repeat(D.data[own], length) + D.data[second], a < b
        a, b, by, way = a[once], b[once], by[once], way[once]
        direct = np.asarray(D[a, b]).ravel()
        excess = direct - way
        many += int(np.sum(excess > ROUNDED * direct))
        share = excess / np.maximum(way, 1e-300)
        k = int(np.argmax(share)) if share.size else -1
        if k >= 0 and excess[k] > ROUNDED * direct[k] and share[k] > worst:
            worst = float(share[k])
            example = (
                f"{names[a[k]]} and {names[b[k]]} are {direct[k]:.4g} apart, but the path through "
                f"{names[by[k]]} is shorter by {excess[k]:.2g} ({excess[k] / direct[k]:.1%}): {way[k]:.4g}"
            )
    if many:
        part = "" if seen == row.size else f" (of the first {PATHS:,} paths that were compared)"
        yield Finding(
            "triangle", f"{many} triangles{part} violate the triangle inequality; the worst: {example}"
        )


def _holding(problem: Statement) -> list[Constraint]:
    """The equalities on entries, which hold anchors if they are on all inner products of d of them."""
    return [part for part in problem.constraints if isinstance(part.functional, Entries) and part.equal]


def _anchors(problem: Statement) -> tuple[Index, int]:
    """The numbers of the anchors and their dimension; none, and the dimension 1, without anchors.

    The first d columns of the basis are those of the anchors, and every other point has a column of its own.
    """
    none, held = np.zeros(0, dtype=np.intp), _holding(problem)
    if len(held) != 1 or problem.basis is None:
        return none, 1
    d = int((np.sqrt(8 * held[0].functional.size + 1) - 1) / 2)
    Q = sp.csc_array(problem.basis.Q)
    points = np.unique(Q[:, :d].indices).astype(np.intp)
    alone = np.setdiff1d(np.arange(problem.n), points)
    chosen = np.unique(np.concatenate(held[0].functional.indices))
    own = np.array_equal(np.sort(Q[:, d:].indices), alone) and np.isin(chosen, points).all()
    return (points, d) if own and chosen.size == d else (none, 1)


def _share(which: Index, every: Index) -> str:
    return f"{which.size} of {every.size} different comparisons ({which.size / every.size:.1%})"


def _pair(code: int, n: int) -> str:
    return " and ".join(str(int(end)) for end in divmod(int(code), n))


def some(which: Index, names: Sequence[object] | None = None, most: int = SHOWN) -> str:
    """The first points, by number or name, and how many there are beyond them."""
    shown = ", ".join(str(int(k) if names is None else names[k]) for k in which[:most])
    return shown if which.size <= most else f"{shown} and {which.size - most} more"
