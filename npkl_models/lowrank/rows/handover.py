"""When Newton steps take over from sweeps.

A sweep minimises over each row alone. Heavy pairs let a row move only as far as its partners allow, so that
sweeps are slow where many rows must move together. Newton steps move them together.
"""

from __future__ import annotations

import numpy as np

from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.cost import dense_step, iteration_seconds
from npkl_models.lowrank.descent import PATIENCE
from npkl_models.lowrank.structure import Structure
from npkl_models.model.facts import row_bound
from npkl_models.model.statement import Statement

NEAR, CLOSE = 1e-3, 0.03  # Newton steps take over below these residuals: after PATIENCE, or by prediction
CHEAP = 0.05  # if a factorisation for distances takes fewer seconds, Newton steps may take over earlier
CHECK = 10  # sweeps from one prediction of the rest to the next
STEPS, PRODUCTS, OVERHEAD = 20, 25.0, 4e-3  # Newton steps that may be needed; products, and seconds beside


class Handover:
    """When Newton steps take over; with the objective, its fall and the wait at the last check."""

    def __init__(self, problem: Statement, pairs: Structure, tol: float) -> None:
        self.problem, self.tol = problem, tol
        entries = pairs.apart is None and not isinstance(pairs, Comparisons)
        self.predicts = entries and problem.basis is None and row_bound(problem) is None
        self.far = pairs.distances and dense_step(problem) < CHEAP  # Newton steps may take over far away
        self.begin_again()

    def begin_again(self) -> None:
        """Forget the falls so far."""
        self.objective, self.fall, self.waited = np.inf, np.inf, 0

    def reaches(self, residual: float) -> bool:
        """Whether Newton steps take over from slow sweeps at a residual."""
        return residual < NEAR or self.far

    def shorter(self, count: int, residual: float, objective: float, rank: int, seconds: float) -> bool:
        """Whether sweeps at their present rate would take longer than Newton steps.

        The falls of the objective between checks are taken as a geometric series. Where its rest is below
        the tolerance, sweeps end soon or never: they may take as long again as has been waited since.
        Extrapolation makes the residual jump, so the residual shows no rate.
        """
        if not self.predicts or count % CHECK:
            return False
        fall, before = self.objective - objective, self.fall
        self.objective, self.fall = objective, fall
        if not np.isfinite(fall + before) or (residual >= CLOSE and count < PATIENCE):
            return False
        wanted, left = self.tol * self.problem.size(2 * objective), np.inf
        if 0 < fall < before and wanted > 0:
            rest = fall**2 / (before - fall)
            left = np.log(max(rest / wanted, 1.0)) * CHECK / np.log(before / fall)
        if left == 0 or abs(fall) <= wanted:
            self.waited += CHECK
            left = self.waited
        newton = OVERHEAD + iteration_seconds(self.problem, rank, PRODUCTS)
        return bool(left * seconds > STEPS * newton)
