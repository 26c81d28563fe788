"""The sweeps of algorithm 1 of BCDKL: the rows in a new order each time, the labelled ones first.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, algorithm 1, lines 5 to 11, and eqs. (19)-(22) and (26)-(28) for a
row of V with the kinks of its losses. They hand the dual of that row program, a quadratic program on a box,
to a general code; coordinate ascent solves it here.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index, Matrix
from npkl_models.lowrank.edges import EdgeModel, Structure
from npkl_models.lowrank.rows.minimise import RowProblem
from npkl_models.lowrank.rows.sweeps import Sweeper
from npkl_models.model.statement import Statement
from npkl_models.printed.free_rows import labelled


class ShuffledSweeper(Sweeper):
    """Sweeps in a new order each time; losses with kinks by the row programs.

    With ``alone`` it takes the rows of points with pairs only; somebody else updates the others.
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


PASSES = 200
SETTLED = 1e-11  # change of a multiplier


def minimise_rows_by_dual(rows: RowProblem, model: EdgeModel) -> Array:
    """The row problem with its kinks, by coordinate ascent on its dual, eq. (22).

    With v(y) = -(g + P'y) / mu0 each multiplier has the closed form that the proximal map of its
    loss gives.
    """
    if not rows.pairs.shape[1]:
        return -rows.g / rows.mu0[:, None]
    y = np.zeros(rows.pairs.shape)
    norm = np.einsum("bkr,bkr->bk", rows.P, rows.P) / rows.mu0[:, None]
    v = -rows.g / rows.mu0[:, None]
    for _ in range(PASSES):
        largest = 0.0
        for k in range(rows.pairs.shape[1]):
            step = np.maximum(norm[:, k], 1e-300)
            z = np.einsum("br,br->b", rows.P[:, k], v)
            u = model.prox(z + step * y[:, k], step, rows.pairs[:, k])
            change = np.where(rows.valid[:, k], (z - u) / step, 0.0)
            y[:, k] += change
            v -= (change / rows.mu0)[:, None] * rows.P[:, k]
            largest = max(largest, float(np.max(np.abs(change), initial=0.0)))
        if largest <= SETTLED:
            break
    return v
