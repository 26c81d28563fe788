"""Sweeps over rows whose values are comparisons of distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Mask, Matrix
from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.compare import ComparedRows, step_compared
from npkl_models.lowrank.rows.layout import color_classes, color_graph
from npkl_models.lowrank.rows.sweeps import SWEEP_COMPARED, Sweeper
from npkl_models.model.statement import Statement


class PlaceTables:
    """Comparisons sorted by point. Each is there three times: with the point as i, as j and as k.

    Half the gradient of the value in the row of the point is V[plus] - V[minus].
    """

    def __init__(self, pairs: Comparisons) -> None:
        i, j, k, every = pairs.i, pairs.j, pairs.far, np.arange(pairs.size)
        owner = np.concatenate([i, j, k])
        order = np.argsort(owner, kind="stable")
        self.plus = np.concatenate([k, j, i])[order]
        self.minus = np.concatenate([j, i, k])[order]
        self.which = np.tile(every, 3)[order]
        self.bent = np.repeat([0.0, 1.0, -1.0], pairs.size)[order]
        self.degree = np.bincount(owner, minlength=pairs.n).astype(np.intp)
        self.start = np.concatenate([[0], np.cumsum(self.degree)]).astype(np.intp)

    def places(self, points: Index) -> tuple[Index, Mask]:
        """The places (b, k) of the comparisons of points, and which of them are no padding."""
        slot = np.arange(int(self.degree[points].max(initial=0)))
        valid = slot < self.degree[points, None]
        return np.where(valid, self.start[points, None] + slot, 0), valid


def _both(j: Index, k: Index) -> tuple[Index, Index]:
    return np.concatenate([j, k]), np.concatenate([k, j])


@dataclass(frozen=True, eq=False)
class Colour:
    """Points that share no comparison and no entry of the cost, and the layout of their rows."""

    points: Index
    place: Index
    valid: Mask
    C_off: Matrix


class CompareSweeper(Sweeper):
    """Sweeps over rows with comparisons (`compare`); compiled sweeps keep the order of the points."""

    def __init__(
        self, problem: Statement, pairs: Comparisons, model: EdgeModel, compiled: bool,
        random_state: int | None,
    ) -> None:  # fmt: skip
        self.compared = pairs
        self.held = PlaceTables(pairs)
        self.colours: list[Colour] = []
        self.sums = np.asarray(problem.cost.sum(axis=0)).ravel()
        super().__init__(problem, pairs, model, compiled, random_state)

    def begin(self, random_state: int | None) -> None:
        if self.compiled:
            return
        for points in color_classes(color_graph(self.interactions(), random_state)):
            self.colours.append(Colour(points, *self.held.places(points), self.off[points]))
        self.order = np.concatenate([np.zeros(0, dtype=np.intp), *(each.points for each in self.colours)])

    def interactions(self) -> Matrix:
        """The graph of the points that share an entry of the cost or a comparison."""
        j, k, n = self.compared.j, self.compared.far, self.compared.n
        return sp.csr_array(super().interactions() + sp.coo_array((np.ones(2 * j.size), _both(j, k)), (n, n)))

    def __str__(self) -> str:
        return "rows compiled" if self.compiled else f"{len(self.colours)} colours in numpy"

    def run(self, V: Array) -> tuple[float, float]:
        """Sweep once, in place; the fall of the smooth model, and the norm of the gradients met."""
        measured = np.zeros(2)
        if self.compiled:
            held = self.held
            places = held.start, held.plus, held.minus, held.which, held.bent
            losses = self.model.smooth_ramps()
            SWEEP_COMPARED(self.order, V, self.compiled_cost(), places, losses, self.mu0, measured)
        else:
            z = self.pairs.pair_values(V)
            for colour in self.colours:
                measured += self._step(colour, V, z)
        return float(measured[0]) + self._move(V), float(np.sqrt(measured[1]))

    def _move(self, V: Array) -> float:
        """Move all rows together to where they cost least, in place; the fall of the cost.

        No comparison changes. Row by row, such a move is slow: the cost alone pulls it.
        """
        total = float(self.sums.sum())
        if not total > 0:
            return 0.0
        pull = self.sums @ V
        V -= pull / total
        return float(pull @ pull) / total

    def _step(self, colour: Colour, V: Array, z: Array) -> tuple[float, float]:
        held, points, place = self.held, colour.points, colour.place
        which = held.which[place]
        rows = ComparedRows(
            self.mu0[points], 2 * (colour.C_off @ V), V[held.plus[place]] - V[held.minus[place]],
            held.bent[place], which, colour.valid,
        )  # fmt: skip
        new, values, fall, steep = step_compared(rows, self.model, V[points], z[which])
        V[points] = new
        z[which[colour.valid]] = values[colour.valid]
        return float(fall.sum()), float(steep.sum())
