"""The loop of the solvers that improve a factor an iteration at a time.

An engine improves a factor; the loop asks for a certificate when the engine has settled, lets the engine grow
where the certificate shows a way down, and stops when that is proved or the watch says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.certify.certificate import Certificate
from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise
from npkl_models.solve.cost import certificate_seconds, proof_seconds
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.watch import BROKEN, Watch

FIRST_LOOK = 1e3  # certify once the residual is below this multiple of tol
THOROUGH = 0.1  # of tol: a residual at which a quick look that has found nothing is not enough
DUE = 5.0  # times the work of a certificate: after so much more there is another look
NEXT_LOOK = 0.2  # and again each time it has fallen by this factor
CLEARLY = 10.0  # a negative eigenvalue must cost so much more than what is not yet stationary
SMALLEST_RESIDUAL = 1e-15
PATIENCE = 400  # iterations without a better residual after which an engine counts as stuck
FALLING = 100.0  # of tol: an objective that falls by so much in them leaves a saddle
WORTH = 0.1  # of the gap that is asked for: what a new column must promise, and must have gained
GROWTH = 10  # iterations between a new column and the next look
SMOOTHING = 5  # iterations between a correction and the next look
DEEP = 1e12  # an objective so many times the first one's size below zero: the run is falling without limit


class Engine(ABC):
    """Base class of solvers that improve a factor by one iteration at a time.

    Examples
    --------
    >>> import npkl_models as nm
    >>> sorted(nm.Engine.__abstractmethods__)
    ['iterate', 'multipliers']
    """

    V: Array
    objective: float
    residual: float  # scale-free estimate of the relative gap that non-stationarity costs
    finisher: Engine | None = None  # who has taken over
    note: str = ""  # what the solution's message should say of this run
    work: float = 0.0  # counted of its iterations, in seconds of the reference machine; 0 is not counted
    measured: Mapping[str, float] = {}  # further columns of the history
    first_look: float = FIRST_LOOK  # times tol: no certificate while the residual is above it
    met: bool | None = None  # whether the source's own criterion holds; None where the certificate decides

    @abstractmethod
    def iterate(self) -> None:
        """Do one iteration, and set V, objective and residual."""

    @abstractmethod
    def multipliers(self) -> Multipliers:
        """A dual point in the domain of the conjugates."""

    def grow(self, direction: Array) -> bool:
        """Leave a stationary point along a negative direction of the slack; False if this is not possible."""
        return False

    def correct(self, directions: Array) -> bool:
        """Improve the factor in the span of low eigenvectors of the slack; False if this is not possible."""
        return False

    def follow(self, finisher: Engine) -> None:
        """Do an iteration of the engine that has taken over."""
        before = finisher.work
        finisher.iterate()
        self.work += finisher.work - before
        self.V, self.objective, self.residual = finisher.V, finisher.objective, finisher.residual


@dataclass(frozen=True)
class EnginePlan(ABC):
    """Base class of plans that run an engine; the engine is made when the run begins.

    Examples
    --------
    >>> import npkl_models as nm
    >>> sorted(nm.EnginePlan.__abstractmethods__)
    ['describe', 'engine']
    """

    problem: Statement
    options: IterativeOptions
    iterations: ClassVar[int]  # at most, unless max_iter says otherwise

    @abstractmethod
    def engine(self) -> Engine:
        """Make the engine, with its start."""

    @abstractmethod
    def describe(self) -> str:
        """Describe the sizes, and the memory that they need."""

    def run(self, watch: Watch) -> Claim:
        """Iterate until the point is certified, or a limit is reached."""
        try:
            engine = self.engine()
        except BROKEN as error:
            return Claim(None, None, Status.FAILED, message=f"{type(error).__name__}: {error}")
        if watch.rigour == "proved":
            _require_factorisable(self.problem, engine)
        watch.expect(proof_seconds(self.problem.order))
        run = _Run(self.problem, engine, watch)
        status = watch.attempt(lambda: run.until(self.options.max_iter or self.iterations))
        return run.claim(status)


def _require_factorisable(problem: Statement, engine: Engine) -> None:
    if not can_factorise(problem.restrict(problem.slack(engine.multipliers()))):
        raise UnsupportedError(
            f"rigour='proved' needs a factorisation of the dual slack: at order {problem.order} it is "
            f"neither below {DENSE_CHOLESKY} nor sparse enough; use rigour='probable'"
        )


class _Run:
    """State of one run."""

    def __init__(self, problem: Statement, engine: Engine, watch: Watch) -> None:
        self.problem, self.engine, self.watch = problem, engine, watch
        self.tol = watch.options.tol
        self.last: Certificate | None = None
        self.threshold = engine.first_look * self.tol
        self.best, self.best_at, self.level = np.inf, 0, np.inf
        self.rest = 0  # no look before this iteration
        self.worked = 0.0  # by the engine, when it was looked at last
        self.before_growth = np.inf  # the objective when a column was added last
        R = problem.regularizer
        self.confined = R.finite_support or bool(np.isfinite(R.trace_bound(problem.n)))

    def until(self, limit: int) -> Status:
        """Iterations until something ends the run."""
        floor = -np.inf
        for iteration in range(1, limit + 1):
            self._iterate()
            engine = self.engine
            if not np.isfinite(engine.objective) or np.isnan(engine.residual):
                return Status.FAILED
            if iteration == 1 and not self.confined:
                floor = -DEEP * self.problem.size(engine.objective)
            if engine.objective < floor:
                return Status.UNBOUNDED
            status, bound = self._judge_progress(iteration)
            self.watch.record(
                iteration, engine.objective, bound, engine.residual, engine.V.shape[1], **engine.measured
            )
            status = status or self.watch.heed(engine.V, engine.work)
            if status is not None:
                return status
        return Status.ITERATION_LIMIT

    def claim(self, status: Status) -> Claim:
        """What is to be said at the end; what was not looked at last is looked at now."""
        engine, found, V = self.engine, None, self.engine.V
        if status is Status.OPTIMAL:
            found = self.last
        elif status is not Status.FAILED:
            late = status is Status.TIME_LIMIT and self.watch.late
            found = self._proof(self._certificate(quick=late))
            if late and self.last is not None and not np.isfinite(found.bound):
                found, V = self.last, self.last.point  # older, but bounded
        y = None if found is None else found.multipliers
        return Claim(
            V, y, status, engine.objective, len(self.watch.rows), engine.note,
            certificate=found,
        )  # fmt: skip

    def _iterate(self) -> None:
        try:
            self.engine.iterate()
        except ValueError as error:
            if isinstance(error, BROKEN) or np.isfinite(self.engine.V).all():
                raise
            raise ArithmeticError(str(error)) from error  # what becomes of numbers out of range

    def _certificate(self, quick: bool) -> Certificate:
        return self.watch.certify(self.problem, self.engine.V, self.engine.multipliers(), quick=quick)

    def _proof(self, found: Certificate) -> Certificate:
        """The same with a proof of the slack's spectrum, if that was asked for and can be had."""
        if self.watch.rigour != "proved" or found.rigour == "proved":
            return found
        engine = self.engine
        proof = self.watch.certify(self.problem, engine.V, engine.multipliers(), method="cholesky")
        return proof if proof.rigour == "proved" else found

    def _judge_progress(self, iteration: int) -> tuple[Status | None, float]:
        """Whether to stop: by the certificate, or by the criterion of the source where one was asked for."""
        if self.engine.met is None:
            return self._look_if_settled(iteration)
        return (Status.LOCALLY_SOLVED if self.engine.met else None), float("nan")

    def _look_if_settled(self, iteration: int) -> tuple[Status | None, float]:
        engine = self.engine
        rested = iteration >= self.rest and engine.residual <= engine.first_look * self.tol
        settled = rested and (engine.residual <= self.threshold or self._due())
        falls = engine.objective < self.level - FALLING * self.tol * self.problem.size(engine.objective)
        if engine.residual < 0.9 * self.best or falls:
            self.best, self.best_at = min(self.best, engine.residual), iteration
            self.level = engine.objective
        stuck = iteration - self.best_at > PATIENCE
        return self._look(iteration, stuck) if settled or stuck else (None, float("nan"))

    def _due(self) -> bool:
        """Whether so much was done since the last look that another one costs little beside it."""
        return self.engine.work - self.worked >= DUE * certificate_seconds(self.problem)

    def _look(self, iteration: int, stuck: bool) -> tuple[Status | None, float]:
        """Certify; then stop, escape to a higher rank, or ask for a smaller residual."""
        engine, residual, objective = self.engine, self.engine.residual, self.engine.objective
        self.worked = engine.work
        found = self._certificate(quick=True)
        if (
            residual <= THOROUGH * self.tol
            and not np.isfinite(found.bound)
            and not self._way_down(found, stuck)
        ):
            found = self._certificate(quick=False)
        if found.certifies(self.tol):
            found = self._proof(found)
        self.last = found
        if self.watch.suffices(found):
            return Status.OPTIMAL, found.bound
        if found.directions is not None and engine.correct(found.directions):
            self.watch.log("iteration %d: corrected in %d directions", iteration, found.directions.shape[1])
            self._begin_again(iteration, SMOOTHING, NEXT_LOOK * min(self.threshold, residual))
        elif self._way_down(found, stuck) and self._pays(stuck) and engine.grow(found.direction):
            self.watch.log(
                "iteration %d: smallest eigenvalue %.1e, now %d columns",
                iteration, found.min_eigenvalue, engine.V.shape[1],
            )  # fmt: skip
            self._begin_again(iteration, GROWTH, max(residual, self.tol))
            self.before_growth = objective
        elif stuck and engine.residual > FIRST_LOOK * self.tol:
            return Status.INACCURATE, found.bound
        elif stuck or self.threshold < SMALLEST_RESIDUAL:
            return Status.LOCALLY_SOLVED, found.bound
        else:
            self.threshold = min(self.threshold, NEXT_LOOK * engine.residual)
        return None, found.bound

    def _way_down(self, found: Certificate, stuck: bool) -> bool:
        """Whether the slack's negative eigenvalue costs more than what is not yet stationary."""
        residual = self.engine.residual * self.problem.size(2 * found.objective)
        cost = -found.min_eigenvalue * float(np.sum(self.engine.V**2))
        needed = self.tol * self.problem.size(found.objective, found.bound)
        worth = cost > WORTH * needed or not np.isfinite(needed)
        return (cost > CLEARLY * residual or stuck) and worth

    def _pays(self, stuck: bool) -> bool:
        """Whether the last new column has gained something; if not, it is better to settle first.

        A low eigenvector on few points has next to nothing to gain, and sweeps flatten it by themselves.
        """
        gained = self.before_growth - self.engine.objective
        return stuck or gained > WORTH * self.tol * self.problem.size(self.engine.objective)

    def _begin_again(self, iteration: int, rest: int, threshold: float = np.inf) -> None:
        self.threshold, self.rest = min(self.engine.first_look * self.tol, threshold), iteration + rest
        self.best, self.best_at = np.inf, iteration
