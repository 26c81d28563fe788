"""The loop of the solvers that improve a factor by one iteration at a time.

An engine improves a factor. The loop makes a certificate (a look) when the residual of the engine is small.
If the certificate shows a direction of descent, the engine adds a column. The loop stops when the point is
certified, or when the watch stops it.
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
from npkl_models.proof.bounds import DENSE_EIGH
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise
from npkl_models.solve.cost import certificate_seconds, proof_seconds
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.watch import BROKEN, Watch

FIRST_LOOK = 1e3  # the first look comes once the residual is below this multiple of tol
FARTHEST = 0.05  # and below this, however large tol is
THOROUGH = 0.1  # below this multiple of tol, a quick certificate without a bound is followed by a full one
FACTORISED = 0.1  # a full certificate may follow after this share of the work of a factorisation
DUE = 5.0  # another look comes after this many times the work of a certificate
NEXT_LOOK = 0.2  # another look comes when the residual has fallen by this factor
CLEARLY = 10.0  # a negative eigenvalue counts if it costs this many times as much as the residual
SMALLEST_RESIDUAL = 1e-15
PATIENCE = 400  # an engine counts as stuck after so many iterations without a better residual
FALLING = 100.0  # an objective that falls by this multiple of tol counts as progress: it leaves a saddle
WORTH = 0.1  # the share of the required gap that a new column must promise, and the last one have gained
STATIONARY = 1e-4  # a residual below this multiple of tol leaves nothing to gain without a new column
GROWTH = 10  # iterations between a new column and the next look
SMOOTHING = 5  # iterations between a correction and the next look
DEEP = 1e12  # below minus this many times the first objective's size, the objective counts as unbounded


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
    finisher: Engine | None = None  # the engine that has taken over
    note: str = ""  # a note on this run for the solution's message
    work: float = 0.0  # counted work of the iterations (`allowance`); 0 if the engine does not count
    measured: Mapping[str, float] = {}  # further columns of the history
    first_look: float = FIRST_LOOK  # no certificate while the residual is above this multiple of tol
    met: bool | None = None  # whether the source's own criterion holds; None if the certificate decides

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
        """Do one iteration of the engine that has taken over, and copy its state."""
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
    iterations: ClassVar[int]  # limit on the iterations if max_iter is None

    @abstractmethod
    def engine(self) -> Engine:
        """Make the engine at its starting point."""

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
            f"rigour='proved' needs a factorisation of the dual slack; the slack of order {problem.order} is "
            f"too large (above {DENSE_CHOLESKY}) and not sparse enough; use rigour='probable'"
        )


class _Run:
    """The state of one run."""

    def __init__(self, problem: Statement, engine: Engine, watch: Watch) -> None:
        self.problem, self.engine, self.watch = problem, engine, watch
        self.tol = watch.options.tol
        self.last: Certificate | None = None
        self.first_look = min(engine.first_look * self.tol, FARTHEST)
        self.threshold = self.first_look
        self.best, self.best_at, self.level = np.inf, 0, np.inf
        self.rest = 0  # no look before this iteration
        self.worked = 0.0  # the engine's work at the last look
        self.before_growth = np.inf  # the objective before the last new column
        R = problem.regularizer
        self.confined = R.finite_support or bool(np.isfinite(R.trace_bound(problem.n)))

    def until(self, limit: int) -> Status:
        """Iterate until something ends the run; the status with which it ends."""
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
            raise ArithmeticError(str(error)) from error  # the factor is not finite

    def _certificate(self, quick: bool, last: bool = False) -> Certificate:
        V, y = self.engine.V, self.engine.multipliers()
        return self.watch.certify(self.problem, V, y, quick=quick, last=last)

    def _proof(self, found: Certificate) -> Certificate:
        """The certificate with the rigour "proved", if the options require it and a proof is possible."""
        if self.watch.rigour != "proved" or found.rigour == "proved":
            return found
        engine = self.engine
        proof = self.watch.certify(self.problem, engine.V, engine.multipliers(), method="cholesky")
        return proof if proof.rigour == "proved" else found

    def _judge_progress(self, iteration: int) -> tuple[Status | None, float]:
        """The status to stop with, or None, and the bound.

        The certificate decides, or the source's own criterion if the engine has one.
        """
        if self.engine.met is None:
            return self._look_if_settled(iteration)
        return (Status.LOCALLY_SOLVED if self.engine.met else None), float("nan")

    def _look_if_settled(self, iteration: int) -> tuple[Status | None, float]:
        engine = self.engine
        rested = iteration >= self.rest and engine.residual <= self.first_look
        settled = rested and (engine.residual <= self.threshold or self._due())
        falls = engine.objective < self.level - FALLING * self.tol * self.problem.size(engine.objective)
        if engine.residual < 0.9 * self.best or falls:
            self.best, self.best_at = min(self.best, engine.residual), iteration
            self.level = engine.objective
        stuck = iteration - self.best_at > PATIENCE
        return self._look(iteration, stuck) if settled or stuck else (None, float("nan"))

    def _due(self) -> bool:
        """Whether the work since the last look is large compared with a certificate."""
        return self.engine.work - self.worked >= DUE * certificate_seconds(self.problem)

    def _look(self, iteration: int, stuck: bool) -> tuple[Status | None, float]:
        """Certify; then stop, correct the factor, add a column, or require a smaller residual."""
        engine, residual, objective = self.engine, self.engine.residual, self.engine.objective
        since, self.worked = engine.work - self.worked, engine.work
        found = self._certificate(quick=True)
        if self._incomplete(found, since) and not self._way_down(found, stuck):
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

    def _incomplete(self, found: Certificate, since: float) -> bool:
        """Whether a full certificate may show more than this quick one.

        ``since`` is the work since the last look. A factorisation may cost more, since it may end the run.
        """
        if found.certifies(self.tol):
            return False
        order, residual = self.problem.order, self.engine.residual
        if residual <= THOROUGH * self.tol and not np.isfinite(found.bound):
            return True
        if order <= DENSE_EIGH or residual > self.tol or self._owed(found) > self._needed(found):
            return False
        dense = order <= DENSE_CHOLESKY
        return since >= (FACTORISED * proof_seconds(order) if dense else certificate_seconds(self.problem))

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

    def _pays(self, stuck: bool) -> bool:
        """Whether the last new column has gained enough, or further iterations have nothing left to gain.

        If the last column has gained little, further iterations pay more than another column. An eigenvector
        on few points gains little, and sweeps remove it without a new column. At a stationary point there is
        nothing left to sweep: ordinal problems stayed at a gap of 5e-3 there.
        """
        gained = self.before_growth - self.engine.objective
        stationary = self.engine.residual <= STATIONARY * self.tol
        return stuck or stationary or gained > WORTH * self.tol * self.problem.size(self.engine.objective)

    def _begin_again(self, iteration: int, rest: int, threshold: float = np.inf) -> None:
        self.threshold, self.rest = min(self.first_look, threshold), iteration + rest
        self.best, self.best_at = np.inf, iteration
