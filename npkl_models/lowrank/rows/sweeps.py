"""Compiled sweeps over all rows of V, one row after the other."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index, LowRankUpdate, Matrix
from npkl_models.linalg.compile import Loop
from npkl_models.linalg.owned import frozen
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.coupling import Coupling
from npkl_models.lowrank.rows.layout import PairTables
from npkl_models.lowrank.structure import Structure
from npkl_models.model.facts import row_bound
from npkl_models.model.statement import Statement

SWEEP = Loop("npkl_models.lowrank.rows.compiled", "sweep", 10.0)
STRETCHES = 8  # groups of points in a sweep with a coupling, which is updated before each group


class Sweeper:
    """A sweep over all rows in ``order``: values are entries and squared distances."""

    def __init__(
        self, problem: Statement, pairs: Structure, model: EdgeModel, cost: Matrix | None = None
    ) -> None:
        self.pairs, self.model, self.held = pairs, model, PairTables(pairs)
        self.radius = radius_of(problem)
        self.cost = problem.cost if cost is None else cost
        self.mu0 = 2 * (self.cost.diagonal() + pairs.linear)
        self.order: Index = np.arange(problem.n)
        far = np.zeros(pairs.size, dtype=bool) if pairs.apart is None else pairs.apart
        self.far, self.near = far[self.held.pair], frozen(self.held.neighbor.astype(np.int32))

    def run(self, V: Array) -> tuple[float, float]:
        """Sweep once, in place; the smooth model of the objective never rises.

        Returns
        -------
        tuple of (float, float)
            The fall of the smooth model, and the norm of the rows' gradients just before their updates.
        """
        measured = np.zeros(2)
        self.update(V, self.order, self.mu0, np.zeros((0, V.shape[1])), measured)
        return float(measured[0]), float(np.sqrt(measured[1]))

    def update(self, V: Array, order: Index, mu0: Array, fixed: Array, measured: Array) -> None:
        """Update rows in the given order; ``fixed`` adds to gradients."""
        held, radius = self.held, 0.0 if self.radius is None else float(self.radius)
        losses = tuple(part[held.pair] for part in self.model.ramps())
        pairs = np.append(held.start, held.neighbor.size), self.near, self.far, losses
        apart = self.pairs.apart is not None
        kinds = apart, not self.model.quadratic, not (apart or losses[4].any())
        most, r = int(held.degree.max(initial=0)) + 1, V.shape[1]
        width = max(most, r) + 2
        work = tuple(map(np.empty, ((6, r), (most, r), (width, width), (width, width), (2, most))))
        rows = mu0, self.pairs.quadratic, radius, fixed
        SWEEP(order, V, as_compiled(self.cost), pairs, rows, kinds, work, measured)


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


def as_compiled(C: Matrix) -> tuple[Index, Array, Array]:
    """The arrays of a cost, as compiled sweeps take them: read-only."""
    indptr, indices = C.indptr.astype(np.intp, copy=False), C.indices.astype(np.int32, copy=False)
    return frozen(indptr.view()), frozen(indices.view()), frozen(C.data.view())


def radius_of(problem: Statement) -> float | None:
    """The largest norm of a row; None without a bound."""
    bound = row_bound(problem)
    return None if bound is None else float(np.sqrt(bound))
