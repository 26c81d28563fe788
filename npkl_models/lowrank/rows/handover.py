"""When Newton steps take over from sweeps.

A sweep minimises over each row alone. It is quick, and a row that only weak edges hold goes all the way round
a curved valley in one sweep. But heavy pairs let a row move only as far as its partners allow, so that sweeps
are slow where many rows must move together. Newton steps move them together.
"""

from __future__ import annotations

import numpy as np

from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.cost import dense_step, iteration_seconds
from npkl_models.lowrank.structure import Structure
from npkl_models.lowrank.tolerances import PATIENCE, SLOW
from npkl_models.model.facts import row_bound
from npkl_models.model.statement import Statement

NEAR, CLOSE = 1e-3, 0.03  # Newton steps take over below these residuals: after PATIENCE, or by prediction
CHEAP = 0.05  # if a factorisation for distances takes fewer seconds, Newton steps may take over earlier
CHECK = 10  # sweeps from one prediction of the rest to the next
STEPS, PRODUCTS, OVERHEAD = 20, 25.0, 4e-3  # Newton steps that may be needed; products, and seconds beside


class Handover:
    """The residuals of a run of sweeps, from which it is decided when Newton steps take over."""

    def __init__(self, problem: Statement, pairs: Structure, tol: float) -> None:
        self.problem, self.tol = problem, tol
        entries = pairs.apart is None and not isinstance(pairs, Comparisons)
        self.predicts = entries and problem.basis is None and row_bound(problem) is None
        self.far = pairs.distances and dense_step(problem) < CHEAP  # Newton steps may take over far away
        self.restart()

    def restart(self) -> None:
        """Begin with sweeps again."""
        self.sweeps, self.then, self.checked = 0, np.inf, np.inf  # residuals at the last two sorts of check

    def due(self, residual: float, rank: int, seconds: float) -> bool:
        """Count a sweep of so many seconds; whether sweeps have become slow."""
        self.sweeps += 1
        slow = False
        if self.predicts and self.sweeps % CHECK == 0:
            close = residual < CLOSE or self.sweeps >= PATIENCE  # far away, Newton steps are short
            slow = self._long(residual, rank, seconds) and close
            self.checked = residual
        if self.sweeps % PATIENCE == 0:
            slow |= residual > SLOW * self.then and (residual < NEAR or self.far)
            self.then = residual
        return slow

    def _long(self, residual: float, rank: int, seconds: float) -> bool:
        """Whether sweeps would take longer than Newton steps, if they go on as since the last check."""
        if not (0 < self.checked < np.inf and residual > 0):
            return False
        rate = np.log(self.checked / residual) / CHECK
        left = np.log(max(residual / self.tol, 1.0)) / rate if rate > 0 else np.inf
        newton = OVERHEAD + iteration_seconds(self.problem, rank, PRODUCTS)
        return bool(left * seconds > STEPS * newton)
