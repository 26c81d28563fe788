"""The loop that runs an engine, with a certificate (a look) when its residual is small; and its plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.certificates.certificate import Certificate
from npkl_models.errors import UnsupportedError
from npkl_models.model.facts import trace_bound
from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import DENSE_EIGH
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise
from npkl_models.solve.cost import certificate_seconds, last_seconds, proof_seconds
from npkl_models.solve.engine import FIRST_LOOK, Engine
from npkl_models.solve.judge import Claim
from npkl_models.solve.loop import Loop
from npkl_models.solve.options import Options
from npkl_models.solve.watch import BROKEN, RunMonitor

FARTHEST = 0.05  # the first look comes at this residual at the latest, however large tol is
THOROUGH = 0.1  # below this multiple of tol, a quick certificate without a bound is followed by a full one
FACTORISED = 0.1  # a full certificate may follow after this share of the work of a factorisation
DUE = 5.0  # another look comes after this many times the work of a certificate
LATER = 1.5  # and the one after it after so many times as much
NEXT_LOOK = 0.2  # another look comes when the residual has fallen by this factor
CLEARLY = 10.0  # a negative eigenvalue counts if it costs this many times as much as the residual
SMALLEST_RESIDUAL = 1e-15
FALLING = 100.0  # an objective that falls by this multiple of tol counts as progress: it leaves a saddle
WORTH = 0.1  # the share of the required gap that a new column must promise, and the last one have gained
STATIONARY = 1e-4  # a residual below this multiple of tol leaves nothing to gain without a new column
ALWAYS = 0.02  # a first iteration that takes fewer seconds begins whatever the limit
GROWTH = 10  # iterations between a new column and the next look
DEEP = 1e12  # below minus this many times the first objective's size, the objective counts as unbounded


class Run(Loop):
    """The loop of an engine whose points are certified: looks, and columns that the factor lacks."""

    def __init__(self, problem: Statement, engine: Engine, watch: RunMonitor) -> None:
        super().__init__(engine, watch)
        self.problem = problem
        self.last: Certificate | None = None
        self.first_look = min(engine.first_look * self.tol, FARTHEST)
        self.threshold = self.first_look
        self.rest = 0  # no look before this iteration
        self.worked, self.due = 0.0, DUE  # work at the last look, and from there to the next, in certificates
        self.before_growth = np.inf  # the objective before the last new column
        self.confined = problem.regularizer.finite_support or np.isfinite(trace_bound(problem))
        self.floor = -np.inf

    def ends(self, iteration: int) -> Status | None:
        engine = self.engine
        if iteration == 1 and not self.confined:
            self.floor = -DEEP * self.problem.size(engine.objective)
        if engine.objective < self.floor:
            return Status.UNBOUNDED
        if engine.met is not None:
            return super().ends(iteration)
        rested = iteration >= self.rest and engine.residual <= self.first_look
        settled = rested and (engine.residual <= self.threshold or self._due())
        falls = engine.objective < self.level - FALLING * self.tol * self.problem.size(engine.objective)
        stuck = self.stuck(iteration, falls)
        if not (settled or stuck):
            return None
        status, self.bound = self._look(iteration, stuck)
        return status

    def claim(self, status: Status) -> Claim:
        """The claim at the end of the run; a point without a certificate gets one now."""
        engine, found, V = self.engine, None, self.engine.V
        if status is Status.OPTIMAL:
            found = self.last
        elif status is not Status.FAILED:
            late = status is Status.TIME_LIMIT and self.watch.late
            found = self._proof(self._certificate(quick=late, last=True))
            if late and self.last is not None and self.last.relative_gap < found.relative_gap:
                found, V = self.last, self.last.point  # an older point, but with a better bound
        y = None if found is None else found.multipliers
        return Claim(V, y, status, engine.objective, len(self.watch.rows), engine.note, certificate=found)

    def _certificate(self, quick: bool, last: bool = False, method: str = "auto") -> Certificate:
        V, y = self.engine.V, self.engine.multipliers()
        return self.watch.certify(self.problem, V, y, quick=quick, last=last, method=method)

    def _proof(self, found: Certificate) -> Certificate:
        """The certificate with the rigour "proved", if the options require it and a proof is possible."""
        if self.watch.rigour != "proved" or found.rigour == "proved":
            return found
        proof = self._certificate(quick=False, method="cholesky")
        return proof if proof.rigour == "proved" else found

    def _due(self) -> bool:
        """Whether the work since the last look is large compared with a certificate."""
        return self.engine.work - self.worked >= self.due * certificate_seconds(self.problem)

    def _look(self, iteration: int, stuck: bool) -> tuple[Status | None, float]:
        """Certify; then stop, add a column, or require a smaller residual."""
        engine, residual, objective = self.engine, self.engine.residual, self.engine.objective
        since, self.worked = engine.work - self.worked, engine.work
        self.due *= LATER if residual > self.threshold else 1.0
        found = self._certificate(quick=True)
        if self._incomplete(found, since) and not self._way_down(found, stuck):
            found = self._certificate(quick=False)
        if found.certifies(self.tol):
            found = self._proof(found)
        self.last = found
        if self.watch.suffices(found):
            return Status.OPTIMAL, found.bound
        ahead = self._beyond(found, since)
        down = self._way_down(ahead, stuck) and self._pays(stuck)
        if down and engine.grow(ahead.direction):
            self.watch.log(
                "iteration %d: smallest eigenvalue %.1e, now %d columns",
                iteration, ahead.min_eigenvalue, engine.V.shape[1],
            )  # fmt: skip
            self.threshold = min(self.first_look, max(residual, self.tol))
            self.rest, self.due = iteration + GROWTH, DUE
            self.best, self.best_at = np.inf, iteration
            self.before_growth = objective
        elif stuck and engine.residual > FIRST_LOOK * self.tol:
            return Status.INACCURATE, found.bound
        elif stuck or self.threshold < SMALLEST_RESIDUAL or (down and self._at_rest):
            return Status.LOCALLY_SOLVED, found.bound
        else:
            self.threshold = min(self.threshold, NEXT_LOOK * engine.residual)
        return None, found.bound

    def _incomplete(self, found: Certificate, since: float) -> bool:
        """Whether a full certificate may show more than this quick one."""
        if found.certifies(self.tol):
            return False
        order, residual = self.problem.order, self.engine.residual
        if residual <= THOROUGH * self.tol and not np.isfinite(found.bound):
            return True
        if order <= DENSE_EIGH or residual > self.tol or self._owed(found) > self._needed(found):
            return False
        dense = order <= DENSE_CHOLESKY
        return since >= (FACTORISED * proof_seconds(order) if dense else certificate_seconds(self.problem))

    def _beyond(self, found: Certificate, since: float) -> Certificate:
        """A search for directions that the factor lacks, if much work led to a certificate without a bound.

        Where the slack is negative on the range of the factor, a quick certificate looks no further.
        """
        if np.isfinite(found.bound) or since < certificate_seconds(self.problem):
            return found
        return self._certificate(quick=True, method="ritz")

    def _owed(self, found: Certificate) -> float:
        """What the slack's smallest eigenvalue costs."""
        return -found.min_eigenvalue * float(np.sum(self.engine.V**2))

    def _needed(self, found: Certificate) -> float:
        """The gap that suffices."""
        return self.tol * self.problem.size(found.objective, found.bound)

    def _way_down(self, found: Certificate, stuck: bool) -> bool:
        """Whether the slack's negative eigenvalue costs clearly more than the residual."""
        residual = self.engine.residual * self.problem.size(2 * found.objective)
        cost, needed = self._owed(found), self._needed(found)
        worth = cost > WORTH * needed or not np.isfinite(needed)
        return (cost > CLEARLY * residual or stuck) and worth

    @property
    def _at_rest(self) -> bool:
        """Whether no step may help; small columns of a factor of full width may still grow."""
        return self._stationary and self.engine.V.shape[1] < self.problem.order

    @property
    def _stationary(self) -> bool:
        return self.engine.residual <= STATIONARY * self.tol

    def _pays(self, stuck: bool) -> bool:
        """Whether the last new column has gained enough, or further iterations have nothing left to gain.

        If the last column has gained little, further iterations pay more than another column, except at a
        stationary point, where there is nothing left to sweep.
        """
        gained = self.before_growth - self.engine.objective
        return (
            stuck or self._stationary or gained > WORTH * self.tol * self.problem.size(self.engine.objective)
        )


@dataclass(frozen=True)
class EnginePlan(ABC):
    """Base class of plans that run an engine; the engine is made when the run begins."""

    problem: Statement
    options: Options
    loop: ClassVar[type[Run]] = Run
    iterations: ClassVar[int]  # limit on the iterations if max_iter is None

    @abstractmethod
    def engine(self) -> Engine:
        """Make the engine at its starting point."""

    @abstractmethod
    def describe(self) -> str:
        """Describe the sizes, and the memory that they need."""

    def ahead(self) -> float:
        """Predicted seconds of the start and the first iteration; 0 if they are few."""
        return 0.0

    def run(self, watch: RunMonitor) -> Claim:
        """Iterate until the point is certified, or a limit is reached."""
        watch.expect(last_seconds(self.problem), cut=self.problem.order > DENSE_CHOLESKY)
        if self.ahead() > ALWAYS and not watch.affords(self.ahead()):
            words = (
                "the time limit allows no iteration: the first one and its certificate take about "
                f"{self.ahead() + watch.proof_ahead:.2g} s; raise time_limit"
            )
            return Claim(None, None, Status.TIME_LIMIT, message=words)
        try:
            engine = self.engine()
        except BROKEN as error:
            return Claim(None, None, Status.FAILED, message=f"{type(error).__name__}: {error}")
        S = self.problem.slack(engine.multipliers()) if watch.rigour == "proved" else None
        if S is not None and not can_factorise(self.problem.restrict(S)):
            raise UnsupportedError(
                "rigour='proved' needs a factorisation of the dual slack; the slack of order "
                f"{self.problem.order} is too large (above {DENSE_CHOLESKY}) and not sparse enough; "
                "use rigour='probable'"
            )
        run = self.loop(self.problem, engine, watch)
        status = watch.attempt(lambda: run.until(self.options.max_iter or self.iterations))
        return run.claim(status)
