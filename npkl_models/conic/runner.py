"""Run a conic solver through CVXPY, and certify its points."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import npkl_models.interrupts as interrupts
from npkl_models.answer.solution import Status
from npkl_models.certificates.certificate import Certificate
from npkl_models.conic.chunks import ALWAYS, SolverBroke, in_chunks, only_the_solver
from npkl_models.conic.solvers import SCS_ITERATION, ConicOptions, choose_solver, solver_arguments
from npkl_models.linalg import Array, psd_factor, symmetrize
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.cost import proof_seconds
from npkl_models.solve.judge import Claim
from npkl_models.solve.watch import INTERRUPTED, RunMonitor

if TYPE_CHECKING:
    import cvxpy as cp

LOOK = 10.0  # time of a certificate of a dense kernel, over that of a factor
PATIENCE, FALLEN = 5_000, 0.5  # the gap of a run must fall to this share within at least so many iterations


@dataclass
class Standstill:
    """Whether a gap has stopped falling."""

    smallest: float = np.inf
    at: int = 0
    waited: int = 0

    def reached(self, iterations: int, gap: float) -> bool:
        """Whether the gap has not been halved for as long as it took to reach it, and for `PATIENCE`."""
        if gap < FALLEN * self.smallest:
            self.smallest, self.at = gap, iterations
        self.waited = iterations - self.at
        return np.isfinite(self.smallest) and self.waited >= max(PATIENCE, self.at)


@dataclass(frozen=True)
class Reader:
    """Functions that read a point and its multipliers from a CVXPY problem after a solve."""

    kernel: Callable[[], Array | None]  # K, or U over a basis
    multipliers: Callable[[], Multipliers | None]
    value: Callable[[float], float] = float  # the objective of the problem, from that of the program
    status: Callable[[Status], Status] = lambda status: status


class ConicRun:
    """One solve: the chunks of the solver, the best certificate so far, and the rules that end the run."""

    def __init__(
        self, problem: Statement, program: cp.Problem, options: ConicOptions, reader: Reader,
        watch: RunMonitor, done: int = 0,
    ) -> None:  # fmt: skip
        self.problem, self.program, self.options = problem, program, options
        self.reader, self.watch, self.done = reader, watch, done  # done: iterations of an earlier solver
        self.best: Certificate | None = None
        self.lowest = 0.0
        self.value = float("nan")  # of the program, after a solve that was not broken off
        self.still = Standstill()

    def claim(self, order: int, solver: str | None = None) -> Claim:
        """Run a solver; if the solver fails, return a claim with the status FAILED."""
        solver = solver or choose_solver(self.options.solver, order)
        first = SCS_ITERATION * float(order) ** 3 if solver == "SCS" else 0.0  # its start takes as long
        if first > ALWAYS and first > self.watch.left:
            words = f"{solver} takes about {first:.2g} s for a first point; raise time_limit"
            return self._claim(Status.TIME_LIMIT, 0, words)
        self.watch.log("%s solves a program with a PSD cone of order %d", solver, order)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about inaccuracy, which the certificate measures
                return self._claim(*self._run(solver))
        except KeyboardInterrupt:
            interrupts.answered()
            return self._claim(Status.STOPPED, self._iterations(), f"{solver} was {INTERRUPTED}")
        except SolverBroke as error:
            return self._claim(Status.FAILED, self._iterations(), f"{solver}: {error}")

    def look(self, iterations: int) -> Status | None:
        """Certify the solver's present point; return a status if the solver should stop."""
        found = self._certificate()
        if found is None:
            return None
        self.watch.record(
            self.done + iterations, found.objective, found.bound, found.relative_gap, found.point.shape[1]
        )
        if found.certifies(self.options.tol):
            return Status.OPTIMAL
        stop = self.watch.heed(found.point, iterations * SCS_ITERATION * self.problem.order**3)
        if stop is None and self.still.reached(iterations, found.relative_gap):
            self.watch.trouble = f"the gap has not been halved since iteration {self.still.at}"
            return Status.INACCURATE
        return stop

    def _run(self, solver: str) -> tuple[Status, int, str]:
        """Run the solver, without a check of its answer: its status, iterations, and words."""
        options = self.options
        arguments = solver_arguments(solver, options)
        if solver == "SCS":
            limit = int(arguments.pop("max_iters"))
            arguments.pop("time_limit_secs", None)
            watch = self.watch
            watch.expect(LOOK * proof_seconds(self.problem.order))
            seconds = None if options.time_limit is None else watch.left - watch.proof_ahead
            status, iterations, said = in_chunks(
                self.program, limit, arguments, self.look, seconds, lambda: self.still.waited
            )
        else:
            before = time.perf_counter()
            with only_the_solver():
                self.program.solve(solver=solver, verbose=options.verbose, **arguments)
            interrupts.heed()  # Clarabel ends at the signal and does not report it
            iterations = int(getattr(self.program.solver_stats, "num_iters", None) or 0)
            status, said = self._limited(time.perf_counter() - before, iterations), self.program.status
            status = Status.STOPPED if self.look(iterations) is Status.STOPPED else status
        self.value = float("nan") if self.program.value is None else float(self.program.value)
        return status, iterations, f"{solver}: {said}"

    def _limited(self, took: float, iterations: int) -> Status:
        """The status of a solver that runs in one chunk, or the limit of the library that ended the run."""
        status, options = _status_of(self.program), self.options
        late = options.time_limit is not None and took >= 0.9 * options.time_limit
        if late and status in (Status.INACCURATE, Status.ITERATION_LIMIT, Status.FAILED):
            return Status.TIME_LIMIT
        if status is Status.INACCURATE and options.max_iter is not None and iterations >= options.max_iter:
            return Status.ITERATION_LIMIT
        return status

    def _certificate(self) -> Certificate | None:
        """Certify the solver's present kernel, after repair and with a recomputed objective."""
        K = self.reader.kernel()
        if K is None or not np.isfinite(K).all():
            return None
        K = symmetrize(K)
        V = self.problem.lift(psd_factor(K))
        if not V.shape[1]:
            V = np.zeros((self.problem.n, 1))
        if not np.isfinite(self.problem.objective_of_factor(V)):
            return None
        found = self.watch.certify(self.problem, V, self.reader.multipliers())
        if self.best is None or not self.best.certifies(self.options.tol):
            self.best, self.lowest = found, float(np.linalg.eigvalsh(K)[0])
        return found

    def _claim(self, said: Status, iterations: int, message: str) -> Claim:
        """The claim of the run: its best certified point so far, or the status of the solver alone."""
        status, found = self.reader.status(said), self.best
        hopeless = status in (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)
        if found is not None and hopeless and not found.certifies(self.options.tol):
            found = None
        return Claim(
            None if found is None else found.point, None if found is None else found.multipliers, status,
            self.reader.value(self.value), self.done + iterations, message, self.lowest, found,
        )  # fmt: skip

    def _iterations(self) -> int:
        return self.watch.rows[-1].iteration - self.done if self.watch.rows else 0


def _status_of(program: cp.Problem) -> Status:
    """The status that CVXPY reports for a program, as a `Status`."""
    import cvxpy as cp

    said = {
        cp.OPTIMAL: Status.OPTIMAL,
        cp.OPTIMAL_INACCURATE: Status.INACCURATE,
        cp.INFEASIBLE: Status.INFEASIBLE,
        cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
        cp.UNBOUNDED: Status.UNBOUNDED,
        cp.UNBOUNDED_INACCURATE: Status.UNBOUNDED,
        cp.settings.INFEASIBLE_OR_UNBOUNDED: Status.INFEASIBLE,
        cp.USER_LIMIT: Status.ITERATION_LIMIT,
    }
    return said.get(program.status, Status.FAILED)
