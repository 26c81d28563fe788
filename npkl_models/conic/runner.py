"""The one module that runs a conic solver, through CVXPY."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from npkl_models.answer.solution import History, Iterate, Solution, Status, with_seconds
from npkl_models.certify.budget import Budget
from npkl_models.certify.certificate import Certificate, certify
from npkl_models.conic.chunks import SolverBroke, in_chunks, only_the_solver
from npkl_models.conic.solvers import ConicOptions, choose_solver, solver_arguments
from npkl_models.linalg import Array, psd_factor, symmetrize
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.program import logger, progress_log


@dataclass(frozen=True)
class Outcome:
    """What a solver said, before anything of it is believed."""

    status: Status
    value: float
    iterations: int
    message: str


@dataclass(frozen=True)
class Reader:
    """How a point and its multipliers are read off a CVXPY problem that has been solved."""

    kernel: Callable[[], Array | None]  # K, or U in a basis
    multipliers: Callable[[], Multipliers | None]
    value: Callable[[float], float] = float  # of the problem, from that of the program
    status: Callable[[Status], Status] = lambda status: status


class ConicRun:
    """One solve: the solver's stretches, the best certificate so far, and when to stop."""

    def __init__(
        self, problem: Problem, backend: str, program: cp.Problem, options: ConicOptions, reader: Reader
    ) -> None:
        self.problem, self.backend, self.program = problem, backend, program
        self.options, self.reader = options, reader
        self.started = time.perf_counter()
        self.best: Certificate | None = None
        self.budget = Budget()
        self.lowest = 0.0
        self.rows: list[Iterate] = []

    def solve(self, order: int, build_time: float) -> Solution:
        """Run the solver; never raises for one that merely fails."""
        solver = choose_solver(self.options.solver, order)
        quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")
        with progress_log(self.options.verbose), quiet:
            logger.info("%s by %s: a PSD cone of order %d", self.backend, solver, order)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of inaccuracy, which the certificate measures
                    outcome = self._run(solver)
            except KeyboardInterrupt:
                outcome = Outcome(
                    Status.STOPPED, float("nan"), self._iterations(), f"{solver} was interrupted"
                )
            except SolverBroke as error:
                words = f"{solver}: {error}"
                outcome = Outcome(Status.FAILED, float("nan"), self._iterations(), words)
        return self._finish(outcome, build_time)

    def look(self, iterations: int) -> Status | None:
        """Certify what the solver has now; a status says that it should stop."""
        found = self._certificate()
        if found is None:
            return None
        options, seconds = self.options, time.perf_counter() - self.started
        row = Iterate(
            iterations, seconds, found.objective, found.bound, found.relative_gap, found.point.shape[1]
        )
        self.rows.append(row)
        logger.info(
            "iteration %d, %.0f s: objective %.10g, bound %.10g, gap %.1e", iterations, seconds,
            found.objective, found.bound, found.relative_gap,
        )  # fmt: skip
        if found.certifies(options.tol):
            return Status.OPTIMAL
        if options.callback is not None and options.callback(row._replace(V=found.point)):
            return Status.STOPPED
        if options.time_limit is not None and seconds > options.time_limit:
            return Status.TIME_LIMIT
        return None

    def _run(self, solver: str) -> Outcome:
        options = self.options
        arguments = solver_arguments(solver, options)
        if solver == "SCS":
            limit = int(arguments.pop("max_iters"))
            arguments.pop("time_limit_secs", None)
            status, iterations, said = in_chunks(
                self.program, limit, arguments, self.look, options.time_limit
            )
            return self._outcome(solver, status, iterations, said)
        before = time.perf_counter()
        with only_the_solver():
            self.program.solve(solver=solver, verbose=options.verbose, **arguments)
        took = time.perf_counter() - before
        stats = self.program.solver_stats
        iterations = int(getattr(stats, "num_iters", None) or 0)
        status = _STATUSES.get(self.program.status, Status.FAILED)
        late = options.time_limit is not None and took >= 0.9 * options.time_limit
        if late and status in (Status.INACCURATE, Status.ITERATION_LIMIT, Status.FAILED):
            status = Status.TIME_LIMIT
        elif status is Status.INACCURATE and options.max_iter is not None and iterations >= options.max_iter:
            status = Status.ITERATION_LIMIT
        stop = self.look(iterations)
        return self._outcome(
            solver, Status.STOPPED if stop is Status.STOPPED else status, iterations, self.program.status
        )

    def _outcome(self, solver: str, status: Status, iterations: int, said: str) -> Outcome:
        value = self.program.value
        return Outcome(
            status, float("nan") if value is None else float(value), iterations, f"{solver}: {said}"
        )

    def _certificate(self) -> Certificate | None:
        """Of the kernel as the solver has it: repaired, its objective recomputed."""
        K = self.reader.kernel()
        if K is None or not np.isfinite(K).all():
            return None
        K = symmetrize(K)
        V = self.problem.lift(psd_factor(K)) if K.any() else np.zeros((self.problem.n, 1))
        if not V.shape[1]:
            V = np.zeros((self.problem.n, 1))
        y, tol = self.reader.multipliers(), self.options.tol
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(self.problem.objective_of_factor(V)):
                return None
        found = self._look(V, y) if y is not None and _finite(y) else None
        if found is None or not (found.certifies(tol) or self.late):  # those of the kernel may be better
            other = self._look(V, None)
            found = other if found is None or other.bound > found.bound else found
        if self.best is None or not self.best.certifies(tol):
            self.best, self.lowest = found, float(np.linalg.eigvalsh(K)[0])
        return found

    @property
    def late(self) -> bool:
        """Whether half of the time has gone."""
        limit = self.options.time_limit
        return limit is not None and time.perf_counter() - self.started > 0.5 * limit

    def _look(self, V: Array, y: Multipliers | None) -> Certificate:
        share = self.budget.next()
        found = certify(self.problem, V, y, kind="factor", tol=self.options.tol, failure_probability=share)
        return self.budget.stated(found)

    def _finish(self, outcome: Outcome, build_time: float) -> Solution:
        """Judge the last point, or what the solver says of the problem."""
        status = self.reader.status(outcome.status)
        hopeless = status in (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)
        found = self.best
        if found is not None and hopeless and not found.certifies(self.options.tol):
            found = None
        claim = Claim(
            None if found is None else found.point, None if found is None else found.multipliers, status,
            self.reader.value(outcome.value), outcome.iterations, History.of(self.rows), outcome.message,
            self.lowest, found,
        )  # fmt: skip
        solution = judge(self.problem, self.backend, claim, self.options.tol, build_time=build_time)
        return with_seconds(solution, time.perf_counter() - self.started)

    def _iterations(self) -> int:
        return self.rows[-1].iteration if self.rows else 0


_STATUSES = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.OPTIMAL_INACCURATE: Status.INACCURATE,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.UNBOUNDED_INACCURATE: Status.UNBOUNDED,
    cp.settings.INFEASIBLE_OR_UNBOUNDED: Status.INFEASIBLE,
    cp.USER_LIMIT: Status.ITERATION_LIMIT,
}


def _finite(y: Multipliers) -> bool:
    parts = (*y.terms, *y.equalities, *(() if y.rows is None else (y.rows,)))
    return all(bool(np.isfinite(part).all()) for part in parts)
