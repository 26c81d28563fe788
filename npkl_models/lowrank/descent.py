"""The descent that all low-rank solvers share: one residual, one rule for multipliers, one for a slow method.

A `FactorEngine` improves a factor V by steps of its own. The loop that runs it
(`npkl_models.solve.engine_plan`) looks at a certificate when the residual that is defined here is small, or
no longer falls. So the numbers of this file mean the same for sweeps over rows, for Newton steps and for
alternating directions.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from npkl_models.linalg import TINY, Array
from npkl_models.lowrank.factor.rank import escape
from npkl_models.lowrank.tolerances import ROUNDING
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.engine import Engine
from npkl_models.solve.engine_plan import EnginePlan

PATIENCE, SLOW = 100, 0.1  # steps; if they do not gain this factor, another method takes over
INEXACT = 0.3  # a smooth model is solved to this share of the residual before its multipliers move
LAG, PATIENT = 0.25, 0.75  # beta grows if a move keeps this share of the residual; if it fits the cost
GROWTH, MOST = 3.0, 1e7  # the factor of beta; the largest beta, as a multiple of the first


class FactorEngine(Engine):
    """A solver of the factorised problem.

    Losses with kinks and constraints have a smooth model with multipliers and a penalty beta.

    Attributes
    ----------
    stationarity : float
        What the gradient of the smooth model may cost, relative to the size of the objective.
    misfit : float
        What the next move of the multipliers may cost; 0 for a smooth problem.
    """

    problem: Statement
    options: Any  # the options of the backend
    finisher: FactorEngine | None = None
    stationarity: float = np.inf
    misfit: float = 0.0
    misfit_then: float = np.inf  # at the last move of the multipliers
    lag: float = LAG
    residual_then: float = np.inf  # at the last check whether the method is slow
    count: int = 0  # steps since the last restart

    @abstractmethod
    def step(self) -> None:
        """Do one step of the method, and set V, objective and residual."""

    @abstractmethod
    def restart(self, V: Array) -> None:
        """Continue from another factor, which may have another number of columns."""

    @abstractmethod
    def dual_point(self) -> Multipliers:
        """The multipliers of the method's own point."""

    def iterate(self) -> None:
        finisher = self.finisher
        if finisher is None:
            self.step()
            return
        before = finisher.work
        finisher.iterate()
        self.work += finisher.work - before
        self.V, self.objective, self.residual = finisher.V, finisher.objective, finisher.residual
        self.hopeless = finisher.hopeless

    def multipliers(self) -> Multipliers:
        return self.dual_point() if self.finisher is None else self.finisher.multipliers()

    def settle(self, gradient: float, length: float, misfit: float) -> None:
        """Set the residual from the norms of the gradient and of the factor, and the cost of a move."""
        size = max(self.problem.size(2 * self.objective), self.problem.typical, TINY)
        self.stationarity, self.misfit = 0.5 * gradient * length / size, misfit / size
        self.residual = self.stationarity + self.misfit

    def solved(self) -> bool:
        """Whether the smooth model is solved well enough for its multipliers to move."""
        return self.stationarity <= max(ROUNDING, INEXACT * min(self.residual, 1.0))

    def stiffer(self, beta: float, first: float) -> float:
        """The penalty after a move of the multipliers: it grows if the move before has gained too little."""
        before, self.misfit_then = self.misfit_then, self.misfit
        self.hopeless = beta >= MOST * first and self.misfit > max(before, 1.0)
        return GROWTH * beta if self.misfit > self.lag * before and beta < MOST * first else beta

    def slow(self) -> bool:
        """Count a step; whether the last `PATIENCE` steps have gained too little."""
        self.count += 1
        if self.count % PATIENCE:
            return False
        then, self.residual_then = self.residual_then, self.residual
        return self.residual > SLOW * then

    def begin_again(self) -> None:
        """Forget the residuals so far."""
        self.count, self.residual_then, self.finisher, self.note, self.hopeless = 0, np.inf, None, "", False

    def grow(self, direction: Array) -> bool:
        if self.options.rank != "auto" or self.V.shape[1] >= self.problem.order:
            return False
        self.restart(escape(self.problem, self.V, direction))
        return True


@dataclass(frozen=True)
class FactorPlan(EnginePlan):
    """A plan whose engine improves a factor; tables are made when the run begins."""

    def describe(self) -> str:
        (n, r), entries = self.engine().V.shape, self.problem.cost.nnz
        words = f"V is {n} x {r}, {sum(self.problem.sizes)} values, {entries} cost entries"
        return f"{words}; about {8e-6 * (14 * n * r + 6 * entries):.3g} MB"
