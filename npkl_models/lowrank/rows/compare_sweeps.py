"""Sweeps over rows whose values are comparisons of distances (`compiled_compare`)."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array
from npkl_models.linalg.compile import Loop
from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.sweeps import as_compiled
from npkl_models.model.statement import Statement

SWEEP_COMPARED = Loop("npkl_models.lowrank.rows.compiled_compare", "sweep_compared", 3.0)


class CompareSweeper:
    """Comparisons sorted by point. Each is there three times: with the point as i, as j and as k.

    Half the gradient of the value in the row of the point is V[plus] - V[minus].
    """

    def __init__(self, problem: Statement, pairs: Comparisons, model: EdgeModel) -> None:
        i, j, k, every = pairs.i, pairs.j, pairs.far, np.arange(pairs.size)
        owner = np.concatenate([i, j, k])
        order = np.argsort(owner, kind="stable")
        start = np.searchsorted(owner[order], np.arange(pairs.n + 1)).astype(np.intp)
        bent = np.repeat([0.0, 1.0, -1.0], pairs.size)
        parts = (np.concatenate([k, j, i]), np.concatenate([j, i, k]), np.tile(every, 3), bent)
        self.places = start, *(part[order] for part in parts)
        self.order, self.model, self.cost = np.arange(problem.n), model, problem.cost
        self.mu0 = 2 * (problem.cost.diagonal() + pairs.linear)
        self.sums = np.asarray(problem.cost.sum(axis=0)).ravel()

    def run(self, V: Array) -> tuple[float, float]:
        """Sweep once, in place; the fall of the smooth model, and the norm of the gradients met."""
        measured = np.zeros(2)
        SWEEP_COMPARED(
            self.order, V, as_compiled(self.cost), self.places, self.model.ramps(), self.mu0, measured
        )
        return float(measured[0]) + self._move(V), float(np.sqrt(measured[1]))

    def _move(self, V: Array) -> float:
        """Move all rows to where they cost least, in place; the fall. No comparison changes."""
        total = float(self.sums.sum())
        if not total > 0:
            return 0.0
        pull = self.sums @ V
        V -= pull / total
        return float(pull @ pull) / total
