"""In which order a sweep takes the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Index, Mask, Matrix


@dataclass(frozen=True)
class RowOrder:
    """The printed sweep's order, as far as it is asked for.

    Attributes
    ----------
    reshuffle : bool
        A new permutation for every sweep.
    labelled_first : bool
    free_apart : bool
        Rows of free points are left out; somebody else updates them.
    """

    reshuffle: bool = False
    labelled_first: bool = False
    free_apart: bool = False

    def arranged(self, order: Index, labelled: Mask) -> Index:
        """That order with the labelled points first, or alone."""
        if not (self.labelled_first or self.free_apart):
            return order
        own = labelled[order]
        return order[own] if self.free_apart else np.concatenate([order[own], order[~own]])

    def arranged_classes(self, classes: list[Index], labelled: Mask) -> list[Index]:
        """Colour classes with the labelled points first, or alone."""
        if not (self.labelled_first or self.free_apart):
            return classes
        first = [points[labelled[points]] for points in classes]
        rest = [] if self.free_apart else [points[~labelled[points]] for points in classes]
        return [points for points in (*first, *rest) if points.size]


def level_sets(graph: Matrix, order: Index) -> list[Index]:
    """Points that may be updated at once, such that the result is that of taking them in the order.

    A point comes as soon as all its neighbours that are before it in the order have come. Points that
    are not in the order are left out.
    """
    n = graph.shape[0]
    place = np.full(n, -1, dtype=np.intp)
    place[order] = np.arange(order.size)
    coo = graph.tocoo()
    row, col = coo.row, coo.col
    waits = (place[col] >= 0) & (place[col] < place[row])
    row, col = row[waits], col[waits]
    ahead = place >= 0
    out: list[Index] = []
    while ahead.any():
        held = np.zeros(n, dtype=bool)
        held[row] = True
        ready = np.flatnonzero(ahead & ~held)
        out.append(ready)
        ahead[ready] = False
        waiting = ahead[col]
        row, col = row[waiting], col[waiting]
    return out
