"""The run of the interior-point method on a general semidefinite program, until a certificate confirms it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.certificates.certificate import Certificate
from npkl_models.certificates.repairs import NO_NEED
from npkl_models.interior.program import Point, Program, falling
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.scale import FAINT
from npkl_models.model.statement import Statement
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import Options
from npkl_models.solve.watch import RunMonitor

ITERATIONS = 100
READY = 0.5  # a point is certified when its gap and its residual are below this share of what is asked
AGAIN = 0.1  # and again when its gap has fallen by this factor
STALLED = 15  # a run ends after so many iterations without a better point
FAR = 1e8  # multipliers or a kernel this many times the size of the data may be a ray


@dataclass
class Best:
    """The best point so far, by the larger one of its gap and its residual in units of what is asked."""

    merit: float = np.inf
    factors: list[Array] | None = None
    y: Multipliers | None = None
    iteration: int = 0


class ProgramRun:
    """The state of one run."""

    def __init__(self, problem: Statement, options: Options, watch: RunMonitor) -> None:
        self.problem, self.options, self.watch = problem, options, watch
        self.point = Point(Program.of(problem))
        self.best = Best()
        self.certificates: list[Certificate] = []
        self.ray: list[Array] | None = None  # factors of a direction along which the objective falls
        self.threshold = READY
        self.center: Multipliers | None = None  # a dual feasible point, far from the boundary
        self.last = 0.0  # seconds of the last iteration

    def until(self) -> Status:
        """Iterate until a point is certified, a ray appears, or nothing is gained; the status at the end."""
        for iteration in range(1, (getattr(self.options, "max_iter", None) or ITERATIONS) + 1):
            if not self.watch.affords(self.last):
                return self._finally(Status.TIME_LIMIT)
            began = self.watch.seconds
            try:
                self.point.advance()
            except np.linalg.LinAlgError as error:
                self.watch.trouble = f"stopped at iteration {iteration}: {error}"
                return self._finally(Status.INACCURATE)
            self.last = self.watch.seconds - began
            status = self._after(iteration)
            if status is not None:
                return status
        return self._finally(Status.ITERATION_LIMIT)

    def _after(self, iteration: int) -> Status | None:
        now = self.point
        if not np.isfinite([now.objective, now.bound, now.inner]).all():
            return Status.FAILED
        size = (
            self.problem.size(now.objective, now.bound) + FAINT * now.scale_b * now.scale_C
        )  # they may be zero
        gap = now.inner / size
        self.watch.record(
            iteration, now.objective, now.bound if now.met else np.nan, max(now.primal, now.dual),
            now.program.order,
        )  # fmt: skip
        if now.met and (self.center is None or gap > np.sqrt(self.options.tol)):
            self.center = now.program.multipliers(now.y)
        merit = max(gap / self.options.tol, max(now.primal, now.dual) / self.options.feasibility)
        if merit < 0.9 * self.best.merit:
            self.best = Best(merit, now.factors_X, now.program.multipliers(now.y), iteration)
        if now.met and merit <= self.threshold:
            if self.watch.suffices(self._look()):
                return Status.OPTIMAL
            self.threshold = AGAIN * merit
        status = self._ray()
        if status is not None:
            return status
        if self.best.iteration and iteration - self.best.iteration >= STALLED:
            return self._finally(Status.INACCURATE)
        return self.watch.heed(None)

    def _ray(self) -> Status | None:
        """INFEASIBLE or UNBOUNDED if one side is met, and its value is far beyond the data."""
        now = self.point
        if now.met and now.bound > FAR * now.scale_b * now.scale_C and now.primal > self.options.feasibility:
            return Status.INFEASIBLE
        if now.objective < -FAR * now.scale_b * now.scale_C and not now.met:
            self.ray = falling(now.program)
            return None if self.ray is None else Status.UNBOUNDED
        return None

    def _finally(self, status: Status) -> Status:
        if self.best.factors is not None and self.watch.suffices(self._look()):
            return Status.OPTIMAL
        return status

    def _look(self) -> Certificate:
        assert self.best.factors is not None
        V = self.point.program.factor(self.best.factors)
        found = self.watch.certify(self.problem, V, self.best.y, restoring=False)
        if not self.watch.suffices(found) and found.repair != NO_NEED and self.center is not None:
            if self.watch.offer(self.problem, self.center):
                found = self.watch.certify(self.problem, V, self.best.y, restoring=False)
            self.center = None
        self.certificates.append(found)
        return found

    def claim(self, status: Status) -> Claim:
        """The claim with the best certified point, or with the last one."""
        now, count = self.point, len(self.watch.rows)
        words = f"mu {now.mu:.1e}"
        if self.certificates and status not in (Status.INFEASIBLE, Status.UNBOUNDED):
            found = min(self.certificates, key=lambda one: (one.relative_gap, one.violation))
            return Claim(
                found.point, found.multipliers, status, found.objective, count, words, certificate=found
            )
        if status in (Status.INFEASIBLE, Status.UNBOUNDED) or self.best.factors is None:
            V = now.program.factor(now.factors_X if self.ray is None else self.ray)
            return Claim(V, now.program.multipliers(now.y), status, now.objective, count, words)
        V = now.program.factor(self.best.factors)
        return Claim(V, self.best.y, status, self.problem.objective_of_factor(V), count, words)
