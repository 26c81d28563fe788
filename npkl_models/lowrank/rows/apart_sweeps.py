"""Sweeps over rows whose values are squared distances, and whose cost has a low-rank part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, Index, LowRankUpdate, Matrix
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.apart import minimise_apart
from npkl_models.lowrank.rows.coupling import Coupling, cost_of_rows
from npkl_models.lowrank.rows.layout import Table, color_classes, color_graph
from npkl_models.lowrank.rows.minimise import RowProblem
from npkl_models.lowrank.rows.sweeps import COLOURED, Sweeper
from npkl_models.lowrank.structure import Structure
from npkl_models.model.statement import Statement

STRETCHES = 8  # groups of points in a sweep without colours; the coupling is updated before each group


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that the bound of the coupling makes independent (`coupling`), and the curvature of the bound."""

    points: Index
    mu0: Array  # (n,), the curvature of the bound included
    delta: float
    tables: list[tuple[Table, Matrix]]  # tables of points that do not interact; empty for a compiled sweep


class ApartSweeper(Sweeper):
    """Sweeps over rows with distances (`apart`), with the cost of `cost_of_rows`."""

    def __init__(
        self, problem: Statement, pairs: Structure, model: EdgeModel, compiled: bool, random_state: int | None
    ) -> None:
        self.cost = cost_of_rows(problem)
        tied = isinstance(self.cost, LowRankUpdate)
        self.coupling = Coupling(self.cost) if tied else None
        self.groups: list[Group] = []
        super().__init__(problem, pairs, model, compiled, random_state, self.cost.S if tied else self.cost)

    def begin(self, random_state: int | None) -> None:
        """Group the points by colour; for a compiled sweep over many rows, in the order of the points."""
        count = self.order.size
        if self.compiled and count > COLOURED:
            classes = np.array_split(self.order, STRETCHES)
        else:
            classes = color_classes(color_graph(self.interactions(), random_state))
        self.order = np.concatenate(classes)
        if self.compiled and self.coupling is None:
            classes = [self.order]
        self.groups = [self._group(points) for points in classes]
        self.classes = [group.tables for group in self.groups]

    def _group(self, points: Index) -> Group:
        delta = 0.0 if self.coupling is None else self.coupling.bend(points)
        tables = [] if self.compiled else self.incidence.tables(points)
        laid = [(table, self.off[table.points]) for table in tables]
        return Group(points, self.mu0 + 2 * delta, delta, laid)

    def run(self, V: Array) -> tuple[float, float]:
        """Sweep once, in place; the fall of the smooth model, and the norm of the gradients met."""
        measured, fixed, self.left = np.zeros(2), np.zeros_like(V), 0
        for group in self.groups:
            points, before = group.points, None
            if self.coupling is not None:
                before = V[points]
                fixed[points] = 2 * (self.coupling.pull(points, V) - group.delta * before)
            if self.compiled:
                self.sweep_compiled(V, points, group.mu0, fixed, measured)
            for table, C_off in group.tables:
                measured += self.update_rows(V, table, C_off, group.mu0, fixed)
            if self.coupling is not None and before is not None:
                measured[0] += self.coupling.saved(points, V[points] - before, group.delta)
        return float(measured[0]), float(np.sqrt(measured[1]))

    def minimise(self, rows: RowProblem, v: Array) -> Array:
        return minimise_apart(rows, self.model, v)
