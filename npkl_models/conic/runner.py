"""The one module that runs a conic solver, through CVXPY."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

from npkl_models.answer.certificate import certify
from npkl_models.answer.program import Options
from npkl_models.answer.solution import History, Iterate, Solution, Status, with_certificate
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
    solver_options : dict
        Handed to the solver as they are.
    """

    solver: str | None = None
    eps: float | None = None
    solver_options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eps is not None and not 0 < self.eps < 1:
            raise UnsupportedError(f"eps must be between 0 and 1, got {self.eps!r}")
        if self.solver is not None and self.solver.upper() not in psd_solvers():
            raise unknown("conic solver", self.solver, psd_solvers())


@dataclass(frozen=True)
class Outcome:
    """What a solver said, before anything of it is believed."""

    status: Status
    value: float
    iterations: int
    seconds: float
    message: str


def psd_solvers() -> list[str]:
    """Installed solvers that take a PSD cone."""
    installed = cp.installed_solvers()
    return [
        name
        for name in installed
        if name in SOLVER_MAP_CONIC
        and any(cone.__name__.endswith("PSD") for cone in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS)
    ]


def choose_solver(solver: str | None, order: int) -> str:
    """The solver to use for a PSD unknown of that order, memory permitting.

    Raises
    ------
    UnsupportedError
        If the solver is predicted to need more memory than the machine has.
    """
    chosen = solver.upper() if solver else "CLARABEL" if order <= INTERIOR_POINT_ORDER else "SCS"
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


def run(program: cp.Problem, options: ConicOptions, order: int) -> Outcome:
    """Solve a CVXPY problem; never raises for a solver that merely fails."""
    solver = choose_solver(options.solver, order)
    arguments = _arguments(solver, options)
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CVXPY warns of inaccuracy, which the certificate measures
            program.solve(solver=solver, verbose=options.verbose, **arguments)
    except KeyboardInterrupt:
        return _outcome(Status.STOPPED, program, started, f"{solver} was interrupted")
    except cp.error.SolverError as error:
        return _outcome(Status.FAILED, program, started, f"{solver}: {error}")
    status = {
        cp.OPTIMAL: Status.OPTIMAL,
        cp.OPTIMAL_INACCURATE: Status.INACCURATE,
        cp.INFEASIBLE: Status.INFEASIBLE,
        cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
        cp.UNBOUNDED: Status.UNBOUNDED,
        cp.UNBOUNDED_INACCURATE: Status.UNBOUNDED,
        cp.USER_LIMIT: Status.ITERATION_LIMIT,
    }.get(program.status, Status.FAILED)
    return _outcome(status, program, started, f"{solver}: {program.status}")


def finish(
    problem: Problem,
    backend: str,
    outcome: Outcome,
    found: Array | None,
    multipliers: Multipliers | None,
    tol: float,
    build_time: float,
) -> Solution:
    """Repair what was found (K, or U in a basis), recompute its objective, certify, then name the status."""
    started = time.perf_counter()
    if (
        found is None
        or not np.isfinite(found).all()
        or outcome.status in (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)
    ):
        return Solution(
            problem, backend, outcome.status, None, float("nan"), outcome.value,
            iterations=outcome.iterations, build_time=build_time, solve_time=outcome.seconds,
            message=outcome.message,
        )  # fmt: skip
    lowest = float(np.linalg.eigvalsh(symmetrize(found))[0])
    V = problem.regularizer.rescale(problem.lift(psd_factor(found)))
    certificate = certify(problem, V, multipliers, kind="factor", tol=tol)
    if not certificate.certifies(tol):  # multipliers recovered from the kernel may be the better ones
        other = certify(problem, V, kind="factor", tol=tol)
        if other.relative_gap < certificate.relative_gap:
            certificate = other
    status = outcome.status
    if certificate.certifies(tol):
        status = Status.OPTIMAL
    elif status is Status.OPTIMAL:
        status = Status.INACCURATE
    seconds = outcome.seconds + time.perf_counter() - started
    last = Iterate(
        outcome.iterations, seconds, certificate.objective, certificate.bound,
        certificate.relative_gap, V.shape[1],
    )  # fmt: skip
    solution = Solution(
        problem, backend, status, V, certificate.objective, outcome.value, multipliers,
        outcome.iterations, build_time, seconds, History.of([last]), outcome.message, lowest,
    )  # fmt: skip
    return with_certificate(solution, certificate)


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


def _outcome(status: Status, program: cp.Problem, started: float, message: str) -> Outcome:
    value = program.value
    stats = program.solver_stats
    steps = getattr(stats, "num_iters", None) if stats is not None else None
    number = float("nan") if value is None else float(value)
    return Outcome(status, number, int(steps or 0), time.perf_counter() - started, message)
