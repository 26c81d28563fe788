"""The order in which algorithm 1 of BCDKL takes the rows: drawn anew for each sweep, the labelled ones first.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, algorithm 1, lines 5 to 11.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index, Matrix
from npkl_models.lowrank.edges import EdgeModel, Structure
from npkl_models.lowrank.rows.minimise import RowProblem
from npkl_models.lowrank.rows.sweeps import Sweeper
from npkl_models.model.statement import Statement
from npkl_models.printed.free_rows import labelled
from npkl_models.printed.row_programs import minimise_rows_by_dual


class ShuffledSweeper(Sweeper):
    """Sweeps in a new order each time; losses with kinks by the row programs.

    Parameters
    ----------
    alone : bool
        The rows of points with pairs only; somebody else updates the others.
    """

    def __init__(
        self, problem: Statement, pairs: Structure, model: EdgeModel, random_state: int | None, alone: bool
    ) -> None:
        self.alone, self.labelled = alone, labelled(pairs)
        self.rng = np.random.default_rng(random_state)
        super().__init__(problem, pairs, model, "auto" if model.smooth else "numpy", random_state)

    def begin(self, random_state: int | None) -> None:
        self.graph = self.interactions()

    def run(self, V: Array) -> tuple[float, float] | None:
        self.reshuffle()
        return super().run(V)

    def reshuffle(self) -> None:
        """A new order; in numpy as levels, which give what one row after the other gives."""
        order = self.rng.permutation(self.labelled.size)
        own = self.labelled[order]
        order = order[own] if self.alone else np.concatenate([order[own], order[~own]])
        if self.compiled:
            self.order = order
        else:
            self.lay_out(level_sets(self.graph, order))

    def minimise(self, rows: RowProblem, v: Array) -> Array:
        if self.model.smooth:
            return super().minimise(rows, v)
        return minimise_rows_by_dual(rows, self.model)

    def __str__(self) -> str:
        return "rows in a new order each sweep"


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
