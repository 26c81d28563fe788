"""Tables of the pairs of points, for updates of many rows at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Index, Mask
from npkl_models.lowrank.structure import Structure


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
        """Tables that together hold the points, split by degree at powers of two for little padding."""
        degree = self.degree[points]
        level = np.ceil(np.log2(np.maximum(degree, 0.5))).astype(int)  # -1 without pairs
        return [self._table(points[level == a], int(degree[level == a].max())) for a in np.unique(level)]

    def _table(self, points: Index, width: int) -> Table:
        slot = np.arange(width)
        valid = slot < self.degree[points, None]
        at = np.where(valid, self.start[points, None] + slot, 0)
        return Table(points, self.neighbor[at], self.pair[at], self.second[at], valid)
