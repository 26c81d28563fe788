"""For each point its pairs, as padded tables that numpy can work on a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Index, Mask
from npkl_models.lowrank.edges import Structure

SPLIT_ABOVE = 256  # a batch larger than this is cut by degree, so that little padding is computed


@dataclass(frozen=True)
class Table:
    """Pairs of a batch of points.

    Attributes
    ----------
    points : ndarray of shape (b,)
    neighbor, pair : ndarray of shape (b, k)
        The other point of each pair, and the pair's number.
    second : ndarray of shape (b, k)
        Whether the point is the pair's second (larger) index.
    valid : ndarray of shape (b, k)
        False where the row is padded.
    """

    points: Index
    neighbor: Index
    pair: Index
    second: Mask
    valid: Mask


class PairTables:
    """Pairs sorted by point, both orders."""

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
        """Tables that together hold the points; large batches are cut by powers of two in degree."""
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
