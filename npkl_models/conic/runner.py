"""The one module that runs a conic solver, through CVXPY."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

from npkl_models.answer.judge import Claim, judge
from npkl_models.answer.program import Options, logger, progress_log
from npkl_models.answer.solution import History, Iterate, Solution, Status, with_seconds
from npkl_models.certify.certificate import Certificate, certify
from npkl_models.conic.chunks import in_chunks
from npkl_models.errors import UnsupportedError, unknown
from npkl_models.linalg import Array, psd_factor, symmetrize
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers

INTERIOR_POINT_ORDER = 60  # the largest order at which Clarabel is the default
EPS_SHARE = 0.03  # of tol: the gap of a repaired point was up to 20 times SCS's eps
CLARABEL_COPIES = 7  # measured peak memory over the bare (n(n+1)/2)^2 numbers

_NAMES: dict[str, tuple[tuple[str, ...], str, str | None]] = {
    "CLARABEL": (("tol_gap_abs", "tol_gap_rel", "tol_feas"), "max_iter", "time_limit"),
    "SCS": (("eps_abs", "eps_rel"), "max_iters", "time_limit_secs"),
    "CVXOPT": (("abstol", "reltol", "feastol"), "max_iters", None),
    "MOSEK": (("eps",), "max_iters", None),
}
_SCS_ITERATIONS = 100_000


@dataclass(frozen=True, kw_only=True)
class ConicOptions(Options):
    """Options of the conic backends.

    Parameters
    ----------
    solver : str, optional
        Any solver with PSD cones that CVXPY finds; None takes CLARABEL up to order 60, SCS beyond.
    eps : float, optional
        The solver's own tolerance; None is 0.03 ``tol``, so that the repaired and certified point usually
        reaches ``tol``.
    callback : callable, optional
        Called with an `Iterate` after every stretch of SCS's iterations, once at the end of any other solver;
        returning True stops.
    solver_options : dict
        Handed to the solver as they are.

    Notes
    -----
    SCS is run in stretches. After each its point is certified; the run ends when the gap is proved, whatever
    SCS thinks of its residuals.
    """

    solver: str | None = None
    eps: float | None = None
    callback: Callable[[Iterate], bool | None] | None = None
    solver_options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eps is not None and not 0 < self.eps < 1:
            raise UnsupportedError(f"eps must be between 0 and 1, got {self.eps!r}")
        if self.callback is not None and not callable(self.callback):
            raise UnsupportedError(f"callback must be callable, got {self.callback!r}")
        if self.solver is not None and self.solver.upper() not in psd_solvers():
            raise unknown("conic solver", self.solver, psd_solvers())


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


def psd_solvers() -> list[str]:
    """Installed solvers that take a PSD cone."""
    installed = cp.installed_solvers()
    return [
        name
        for name in installed
        if name in SOLVER_MAP_CONIC
        and any(cone.__name__.endswith("PSD") for cone in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS)
    ]


def default_solver(solver: str | None, order: int) -> str:
    """The solver for a PSD unknown of that order."""
    return solver.upper() if solver else "CLARABEL" if order <= INTERIOR_POINT_ORDER else "SCS"


def choose_solver(solver: str | None, order: int) -> str:
    """The same, memory permitting.

    Raises
    ------
    UnsupportedError
        If the solver is predicted to need more memory than the machine has.
    """
    chosen = default_solver(solver, order)
    need = predicted_bytes(chosen, order)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if need > have:
        raise UnsupportedError(
            f"{chosen} must fit into memory, got a PSD cone of order {order} that needs about "
            f"{need / 1e9:.0f} GB of {have / 1e9:.0f} GB; use solver='SCS', a subset of the points, or a "
            "low-rank backend"
        )
    return chosen


def predicted_bytes(solver: str, order: int) -> float:
    """Rough peak memory of a solve with one PSD cone of that order."""
    numbers = order * (order + 1) / 2
    return 8 * CLARABEL_COPIES * numbers**2 if solver != "SCS" else 8 * 60 * numbers


class ConicRun:
    """One solve: the solver's stretches, the best certificate so far, and when to stop."""

    def __init__(
        self, problem: Problem, backend: str, program: cp.Problem, options: ConicOptions, reader: Reader
    ) -> None:
        self.problem, self.backend, self.program = problem, backend, program
        self.options, self.reader = options, reader
        self.started = time.perf_counter()
        self.best: Certificate | None = None
        self.lowest = 0.0
        self.rows: list[Iterate] = []

    def solve(self, order: int, build_time: float) -> Solution:
        """Run the solver; never raises for one that merely fails."""
        solver = choose_solver(self.options.solver, order)
        with progress_log(self.options.verbose):
            logger.info("%s by %s: a PSD cone of order %d", self.backend, solver, order)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter(
                        "ignore"
                    )  # CVXPY warns of inaccuracy, which the certificate measures
                    outcome = self._run(solver)
            except KeyboardInterrupt:
                outcome = Outcome(
                    Status.STOPPED, float("nan"), self._iterations(), f"{solver} was interrupted"
                )
            except (cp.error.SolverError, ArithmeticError) as error:
                outcome = Outcome(Status.FAILED, float("nan"), self._iterations(), f"{solver}: {error}")
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
        arguments = _arguments(solver, options)
        if solver == "SCS":
            limit = int(arguments.pop("max_iters"))
            arguments.pop("time_limit_secs", None)
            status, iterations, said = in_chunks(
                self.program, limit, arguments, self.look, options.time_limit
            )
            return self._outcome(solver, status, iterations, said)
        before = time.perf_counter()
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
        found = certify(self.problem, V, y, kind="factor", tol=tol) if y is not None and _finite(y) else None
        if found is None or not found.certifies(
            tol
        ):  # those recovered from the kernel may be the better ones
            other = certify(self.problem, V, kind="factor", tol=tol)
            found = other if found is None or other.bound > found.bound else found
        if self.best is None or not self.best.certifies(tol):
            self.best, self.lowest = found, float(np.linalg.eigvalsh(K)[0])
        return found

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


def _arguments(solver: str, options: ConicOptions) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if solver not in _NAMES:
        if any(v is not None for v in (options.max_iter, options.time_limit, options.eps)):
            raise UnsupportedError(
                f"eps, max_iter and time_limit are known for {', '.join(_NAMES)}, got {solver}; give "
                "its own names in solver_options"
            )
        return dict(options.solver_options)
    tolerances, iterations, seconds = _NAMES[solver]
    eps = EPS_SHARE * options.tol if options.eps is None else options.eps
    out.update(dict.fromkeys(tolerances, eps))
    if options.max_iter is not None:
        out[iterations] = options.max_iter
    elif solver == "SCS":
        out[iterations] = _SCS_ITERATIONS
    if options.time_limit is not None:
        if seconds is None:
            raise UnsupportedError(f"{solver} takes no time_limit; give its own in solver_options")
        out[seconds] = options.time_limit
    return out | options.solver_options
