"""The one loop of all iterative solvers.

An engine improves a factor; the loop records, reports, respects limits, asks for a certificate when the
engine has settled, lets the engine grow where the certificate shows a way down, and names the status.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from npkl_models.answer.solution import History, Iterate, Solution, Status, with_seconds
from npkl_models.certify.budget import Budget
from npkl_models.certify.certificate import Certificate, certify
from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.program import IterativeOptions, logger, progress_log

FIRST_LOOK = 1e3  # certify once the residual is below this multiple of tol
NEXT_LOOK = 0.2  # and again each time it has fallen by this factor
CLEARLY = 10.0  # a negative eigenvalue must cost so much more than what is not yet stationary
SMALLEST_RESIDUAL = 1e-15
PATIENCE = 400  # iterations without a better residual after which an engine counts as stuck
BROKEN = (np.linalg.LinAlgError, ArithmeticError, ValueError)  # how numbers out of range show themselves
SMOOTHING = 5  # iterations between a correction and the next look
LOG_EVERY = 100
DEEP = 1e12  # an objective so many times the first one's size below zero: the run is falling without limit


class Engine(ABC):
    """A solver, one iteration at a time."""

    V: Array
    objective: float
    residual: float  # scale-free estimate of the relative gap that non-stationarity costs
    finisher: Engine | None = None  # who has taken over
    note: str = ""  # what the solution's message should say of this run

    @abstractmethod
    def iterate(self) -> None:
        """One iteration; sets V, objective and residual."""

    def follow(self) -> None:
        """An iteration of the engine that has taken over."""
        assert self.finisher is not None
        self.finisher.iterate()
        self.V, self.objective, self.residual = (
            self.finisher.V, self.finisher.objective, self.finisher.residual,
        )  # fmt: skip

    @abstractmethod
    def multipliers(self) -> Multipliers:
        """A dual point in the domain of the conjugates."""

    def grow(self, direction: Array) -> bool:
        """Leave a stationary point along a negative direction of the slack; False if it cannot."""
        return False

    def correct(self, directions: Array) -> bool:
        """Improve in the span of low eigenvectors of the slack; False if it cannot."""
        return False


@dataclass
class _Run:
    """State of one solve."""

    problem: Problem
    options: IterativeOptions
    engine: Engine
    started: float
    rows: list[Iterate]
    certificate: Certificate | None = None
    threshold: float = 0.0
    best: float = np.inf
    best_at: int = 0
    budget: Budget = field(default_factory=Budget)
    rest: int = 0  # no look before this iteration
    first: float | None = None  # objective
    trouble: str = ""

    @property
    def confined(self) -> bool:
        """Whether the regulariser alone bounds all kernels."""
        R = self.problem.regularizer
        return R.finite_support or bool(np.isfinite(R.trace_bound(self.problem.n)))

    def look(self, quick: bool) -> Certificate:
        """The certificate of the point as it is."""
        found = certify(
            self.problem, self.engine.V, self.engine.multipliers(), kind="factor", tol=self.options.tol,
            failure_probability=self.budget.next(), quick=quick, random_state=_seed(self.options),
        )  # fmt: skip
        return self.budget.stated(found)

    def proof(self, found: Certificate) -> Certificate:
        """The same with a proof of the slack's spectrum, if that was asked for and can be had."""
        if self.options.rigour != "proved" or found.rigour == "proved":
            return found
        proof = certify(
            self.problem, self.engine.V, self.engine.multipliers(), kind="factor", method="cholesky",
            tol=self.options.tol, random_state=_seed(self.options),
        )  # fmt: skip
        return proof if proof.rigour == "proved" else found

    def suffices(self, found: Certificate) -> bool:
        """Whether the gap is met, as rigorously as was asked for."""
        enough = self.options.rigour != "proved" or found.rigour == "proved"
        return enough and found.certifies(self.options.tol)


def drive(
    problem: Problem, backend: str, options: IterativeOptions, build: Callable[[], Engine], max_iter: int,
    build_time: float, message: str = "",
) -> Solution:  # fmt: skip
    """Build an engine and run it until its point is certified, or a limit is reached."""
    started = time.perf_counter()
    with progress_log(options.verbose), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            engine = build()
        except (np.linalg.LinAlgError, ArithmeticError) as error:
            claim = Claim(None, None, Status.FAILED, message=f"{type(error).__name__}: {error}")
            return judge(problem, backend, claim, options.tol)
        if options.rigour == "proved":
            _require_factorisable(problem, engine)
        run = _Run(problem, options, engine, started, [])
        run.threshold = FIRST_LOOK * options.tol
        status = _iterate(run, options.max_iter or max_iter)
        certificate = run.certificate
        if status is Status.FAILED:
            certificate = None
        elif status is not Status.OPTIMAL:
            certificate = run.proof(run.look(quick=False))
        y = certificate.multipliers if certificate is not None else None
        claim = Claim(
            engine.V, y, status, engine.objective, len(run.rows), History.of(run.rows),
            "; ".join(part for part in (message, engine.note, run.trouble) if part), certificate=certificate,
        )  # fmt: skip
        solution = judge(
            problem, backend, claim, options.tol, rigour=options.rigour, build_time=build_time,
            random_state=_seed(options),
        )  # fmt: skip
    return with_seconds(solution, time.perf_counter() - started)


def _iterate(run: _Run, limit: int) -> Status:
    """Iterations until something ends the run."""
    try:
        for iteration in range(1, limit + 1):
            run.engine.iterate()
            outcome = _after(run, iteration)
            if outcome is not None:
                return outcome
    except KeyboardInterrupt:
        return Status.STOPPED
    except BROKEN as error:
        if isinstance(error, ValueError) and np.isfinite(run.engine.V).all():
            raise  # not what becomes of numbers out of range
        run.trouble = f"{type(error).__name__}: {error}"
        return Status.FAILED
    return Status.ITERATION_LIMIT


def _seed(options: IterativeOptions) -> int | None:
    return getattr(options, "random_state", None)


def _require_factorisable(problem: Problem, engine: Engine) -> None:
    if not can_factorise(problem.restrict(problem.slack(engine.multipliers()))):
        raise UnsupportedError(
            f"rigour='proved' needs a factorisation of the dual slack: at order {problem.order} it is "
            f"neither below {DENSE_CHOLESKY} nor sparse enough; use rigour='probable'"
        )


def _after(run: _Run, iteration: int) -> Status | None:
    """Bookkeeping after an iteration; a status ends the run."""
    engine, options = run.engine, run.options
    if not np.isfinite(engine.objective) or np.isnan(engine.residual):
        return Status.FAILED
    if run.first is None:
        run.first = abs(engine.objective)
    if engine.objective < -DEEP * (1 + run.first) and not run.confined:
        return Status.UNBOUNDED
    seconds = time.perf_counter() - run.started
    settled = engine.residual <= run.threshold and iteration >= run.rest
    if engine.residual < 0.9 * run.best:
        run.best, run.best_at = engine.residual, iteration
    stuck = iteration - run.best_at > PATIENCE
    bound, outcome = float("nan"), None
    if settled or stuck:
        outcome, bound = _look(run, iteration, stuck)
    row = Iterate(iteration, seconds, engine.objective, bound, engine.residual, engine.V.shape[1])
    run.rows.append(row)
    if iteration % LOG_EVERY == 0:
        logger.info(
            "iteration %d: objective %.10g, residual %.1e, rank %d", iteration, engine.objective,
            engine.residual, engine.V.shape[1],
        )  # fmt: skip
    if outcome is not None:
        return outcome
    if options.callback is not None and options.callback(row._replace(V=engine.V)):
        return Status.STOPPED
    if options.time_limit is not None and seconds > options.time_limit:
        return Status.TIME_LIMIT
    return None


def _look(run: _Run, iteration: int, stuck: bool) -> tuple[Status | None, float]:
    """Certify; then stop, escape to a higher rank, or ask for a smaller residual."""
    options, engine = run.options, run.engine
    found = run.look(quick=True)
    if found.certifies(options.tol):
        found = run.proof(found)
    run.certificate = found
    if run.suffices(found):
        return Status.OPTIMAL, found.bound
    if found.directions is not None and engine.correct(found.directions):
        logger.info("iteration %d: corrected in %d directions", iteration, found.directions.shape[1])
        run.threshold, run.rest = FIRST_LOOK * options.tol, iteration + SMOOTHING
        run.best, run.best_at = np.inf, iteration
        return None, found.bound
    cost_of_negative = -found.min_eigenvalue * float(np.sum(engine.V**2))
    needed = options.tol * (1 + abs(found.objective) + abs(found.bound))
    stationary = cost_of_negative > CLEARLY * engine.residual * (1 + 2 * abs(found.objective))
    worth = cost_of_negative > 0.1 * needed or not np.isfinite(needed)
    if (stationary or stuck) and worth and engine.grow(found.direction):
        logger.info(
            "iteration %d: smallest eigenvalue %.1e, now %d columns",
            iteration, found.min_eigenvalue, engine.V.shape[1],
        )  # fmt: skip
        run.threshold = FIRST_LOOK * options.tol
        run.best, run.best_at = np.inf, iteration
        return None, found.bound
    if stuck and engine.residual > FIRST_LOOK * options.tol:
        return Status.INACCURATE, found.bound
    if stuck or run.threshold < SMALLEST_RESIDUAL:
        return Status.LOCALLY_SOLVED, found.bound
    run.threshold = NEXT_LOOK * min(run.threshold, engine.residual)
    return None, found.bound
