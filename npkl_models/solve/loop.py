"""The one loop of all engines: the engine steps, the loop looks, and something ends the run."""

from __future__ import annotations

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.solve.engine import Engine
from npkl_models.solve.watch import BROKEN, RunMonitor


class Loop:
    """The one loop: the engine steps, the loop looks, and something ends the run."""

    def __init__(self, engine: Engine, watch: RunMonitor) -> None:
        self.engine, self.watch, self.tol = engine, watch, watch.options.tol
        self.best, self.best_at, self.level = np.inf, 0, np.inf
        self.bound = float("nan")  # of the last look

    def until(self, limit: int) -> Status:
        """Iterate until something ends the run; the status with which it ends."""
        for iteration in range(1, limit + 1):
            self._iterate()
            engine = self.engine
            if not np.isfinite(engine.objective) or np.isnan(engine.residual):
                return Status.FAILED
            self.bound = engine.bound
            status = engine.verdict or self.ends(iteration)
            self.watch.record(
                iteration, engine.objective, self.bound, engine.residual, engine.rank, **engine.measured
            )
            status = status or self.watch.heed(engine.shown, engine.work)
            if status is not None:
                return status
        return Status.ITERATION_LIMIT

    def ends(self, iteration: int) -> Status | None:
        """The status with which the engine's own criterion ends the run, or its standstill."""
        if self.engine.met:
            return Status.LOCALLY_SOLVED
        return Status.INACCURATE if self.stuck(iteration) else None

    def stuck(self, iteration: int, falls: bool = False) -> bool:
        """Whether the engine has come to its end, or has gained nothing for long; ``falls`` is a gain."""
        engine = self.engine
        if engine.residual < 0.9 * self.best or falls or engine.moving:
            self.best, self.best_at = min(self.best, engine.residual), iteration
            self.level = engine.objective
        return iteration - self.best_at > engine.patience or engine.hopeless

    def _iterate(self) -> None:
        try:
            self.engine.iterate()
        except ValueError as error:
            if isinstance(error, BROKEN) or np.isfinite(self.engine.V).all():
                raise
            raise ArithmeticError(str(error)) from error  # the factor is not finite
