"""The layout of sweeps over rows: points that are updated at once, and tables of their pairs.

Points of one colour share no cost entry and no pair. So their rows of V can be minimised at the same time:
block coordinate descent without a loop over points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Index, Mask, Matrix, without_diagonal
from npkl_models.lowrank.structure import Structure

SPLIT_ABOVE = 256  # a larger batch is split by degree, so that it needs little padding


@dataclass(frozen=True)
class Table:
    """The pairs of a batch of b points, at most k of each point."""

    points: Index  # (b,)
    neighbor: Index  # (b, k), the other point of each pair
    pair: Index  # (b, k), the pair's number
    second: Mask  # (b, k), whether the point is the pair's second (larger) index
    valid: Mask  # (b, k), False for padding


class PairTables:
    """Pairs sorted by point; each pair appears at both of its points."""

    def __init__(self, pairs: Structure) -> None:
        m = pairs.size
        owner = np.concatenate([pairs.i, pairs.j])
        order = np.argsort(owner, kind="stable")
        self.neighbor = np.concatenate([pairs.j, pairs.i])[order]
        self.pair = np.tile(np.arange(m), 2)[order]
        self.second = np.repeat([False, True], m)[order]
        self.degree = np.bincount(owner, minlength=pairs.n).astype(np.intp)
        self.start = np.concatenate([[0], np.cumsum(self.degree)[:-1]]).astype(np.intp)

    def tables(self, points: Index) -> list[Table]:
        """Tables that together hold the points; large batches are split by degree at powers of two."""
        degree = self.degree[points]
        if points.size <= SPLIT_ABOVE:
            return [self._table(points, int(degree.max(initial=0)))] if points.size else []
        level = np.ceil(np.log2(np.maximum(degree, 0.5))).astype(int)  # -1 without pairs
        return [self._table(points[level == a], int(degree[level == a].max())) for a in np.unique(level)]

    def _table(self, points: Index, width: int) -> Table:
        slot = np.arange(width)
        valid = slot < self.degree[points, None]
        at = np.where(valid, self.start[points, None] + slot, 0)
        if not self.pair.size:
            at = np.zeros((points.size, 0), dtype=np.intp)
            valid = np.zeros((points.size, 0), dtype=bool)
            return Table(points, at, at, valid, valid)
        return Table(points, self.neighbor[at], self.pair[at], self.second[at], valid)


def color_graph(A: Matrix, random_state: int | np.random.Generator | None = 0) -> Index:
    """Proper colouring (n,) of the off-diagonal pattern of a symmetric sparse matrix, colours 0, 1, ...

    Each round colours all points whose priority is higher than that of their uncoloured neighbours. The
    priority is the degree, with ties broken at random. A point gets the smallest free colour (Jones &
    Plassmann 1993).
    """
    n = A.shape[0]
    graph = without_diagonal(A)
    degree = np.diff(graph.indptr)
    row = np.repeat(np.arange(n), degree)
    col = graph.indices.astype(np.intp)
    rng = np.random.default_rng(random_state)
    priority = np.empty(n, dtype=np.intp)
    priority[np.lexsort((rng.random(n), degree))] = np.arange(n)
    later = priority[col] > priority[row]  # the lower end of an edge waits until the other end has a colour
    row, col = row[later], col[later]
    color = np.full(n, -1, dtype=np.intp)
    while (color < 0).any():
        held = np.zeros(n, dtype=bool)
        held[row] = True
        ready = np.flatnonzero((color < 0) & ~held)
        color[ready] = _smallest_free(ready, graph, color)
        waiting = color[col] < 0
        row, col = row[waiting], col[waiting]
    return color


def _smallest_free(points: Index, graph: Matrix, color: Index) -> Index:
    """Smallest colour that no coloured neighbour has, for each of the points."""
    part = graph[points]
    owner = np.repeat(np.arange(points.size), np.diff(part.indptr))
    seen = color[part.indices]
    owner, seen = owner[seen >= 0], seen[seen >= 0]
    if not seen.size:
        return np.zeros(points.size, dtype=np.intp)
    width = int(seen.max()) + 2
    taken = np.unique(owner * width + seen)
    owner, value = taken // width, taken % width
    start = np.searchsorted(owner, np.arange(points.size))
    rank = np.arange(owner.size) - start[owner]
    gap = value != rank  # the sorted colours have skipped a colour
    free = np.bincount(owner, minlength=points.size).astype(np.intp)
    np.minimum.at(free, owner[gap], rank[gap])
    return free


def color_classes(color: Index) -> list[Index]:
    """The points of each colour, in ascending order."""
    order = np.argsort(color, kind="stable")
    splits = np.cumsum(np.bincount(color))[:-1]
    return list(np.split(order, splits))
