"""Sweeps over rows whose values are squared distances, and whose cost has a low-rank part."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, LowRankUpdate
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.coupling import Coupling
from npkl_models.lowrank.rows.sweeps import Sweeper
from npkl_models.lowrank.structure import Structure
from npkl_models.model.statement import Statement

STRETCHES = 8  # groups of points in a sweep; the coupling is updated before each group


class CoupledSweeper(Sweeper):
    """Sweeps group after group: the bound of the coupling makes the rows of a group independent."""

    def __init__(self, problem: Statement, pairs: Structure, model: EdgeModel, cost: LowRankUpdate) -> None:
        super().__init__(problem, pairs, model, cost.S)
        self.coupling = Coupling(cost)
        groups = np.array_split(self.order, min(STRETCHES, self.order.size))
        self.groups = [(points, self.coupling.bend(points)) for points in groups]

    def run(self, V: Array) -> tuple[float, float]:
        measured, fixed = np.zeros(2), np.zeros_like(V)
        for points, delta in self.groups:
            before = V[points]
            fixed[points] = 2 * (self.coupling.pull(points, V) - delta * before)
            self.update(V, points, self.mu0 + 2 * delta, fixed, measured)
            measured[0] += self.coupling.saved(points, V[points] - before, delta)
        return float(measured[0]), float(np.sqrt(measured[1]))
