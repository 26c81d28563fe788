"""The conic solvers that CVXPY finds: the default solver, its memory and time, and its option names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npkl_models.errors import UnsupportedError, unknown
from npkl_models.files.machine import available_bytes
from npkl_models.solve.options import Options, is_real, require

INTERIOR_POINT_ORDER = 60  # the largest order at which Clarabel is the default
SCS_FIRST = 30, 1e-7  # above this order and for a tol of at least this, sdp tries SCS before Clarabel
SCS_ITERATION = 1e-9  # seconds of an iteration, times order^3
EPS_SHARE = 0.03  # share of tol: the gap of a repaired point was up to 20 times SCS's eps
SCS_FIXED, SCS_COPIES = 7e6, 290  # of sdp in examples/benchmarks/memory.py; sdp_dual takes half as much
CLARABEL_COPIES = 7  # measured peak memory over the bare (n(n+1)/2)^2 numbers
SCS_SECONDS = 4e-7  # times order^3
CLARABEL_SECONDS = 2e-9  # times order^5

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
        Any solver with PSD cones that CVXPY finds. None takes CLARABEL up to order 60 and SCS beyond. In sdp,
        SCS is tried first from order 31 on, and CLARABEL follows if SCS's point is not certified. Over a
        basis (sqlp, qsdp, scsdp), None takes SCS unless there are equalities. In sdp_dual, None takes
        CLARABEL beyond order 60, too, if the cliques of the slack are small.
    eps : float, optional
        Tolerance of the solver. None is 0.03 ``tol``, with which the repaired and certified point usually
        reaches ``tol``; over a basis None is 0.001 ``tol``.
    solver_options : dict
        Further options, which are passed to the solver unchanged.

    Notes
    -----
    SCS is run in chunks. After each chunk its point is certified and the callback is called. The run
    ends as soon as the gap is proved, whatever the residuals of SCS are. The run ends as INACCURATE if the
    certified gap has not been halved for as many iterations as it took to reach this gap, and for at least
    5,000 iterations. The points of other solvers are certified only once, at the end.
    """

    solver: str | None = None
    eps: float | None = None
    solver_options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        within = self.eps is None or (is_real(self.eps) and 0 < self.eps < 1)
        require(within, "eps must be between 0 and 1", self.eps)
        named = self.solver is None or isinstance(self.solver, str)
        if self.solver is not None and not (named and self.solver.upper() in psd_solvers()):
            raise unknown("conic solver", self.solver, psd_solvers())


def psd_solvers() -> list[str]:
    """Installed solvers that support a PSD cone."""
    import cvxpy as cp
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

    installed = cp.installed_solvers()
    return [
        name
        for name in installed
        if name in SOLVER_MAP_CONIC
        and any(cone.__name__.endswith("PSD") for cone in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS)
    ]


def default_solver(solver: str | None, order: int, cliques: float | None = None) -> str:
    """The solver for a PSD unknown of the given order; see `choose_solver`."""
    if solver:
        return solver.upper()
    quick = cliques is not None and CLARABEL_SECONDS * cliques**5 <= SCS_SECONDS * order**3
    return "CLARABEL" if quick or (cliques or order) <= INTERIOR_POINT_ORDER else "SCS"


def tries_scs(order: int, options: ConicOptions) -> int:
    """The number of SCS iterations with the predicted cost of Clarabel, the default; 0 if SCS is not tried.

    A dense primal program costs Clarabel order^6 operations. SCS mostly certifies its point at a tenth of
    this cost or less (45 of 48 problems of order 40 and 60). On some problems SCS never does (weights of
    100).
    """
    smallest, tol = SCS_FIRST
    said = options.solver is not None or options.eps is not None or options.max_iter is not None
    if said or options.solver_options or options.tol < tol or not smallest < order <= INTERIOR_POINT_ORDER:
        return 0
    return int(CLARABEL_SECONDS * order**5 / (SCS_ITERATION * order**3))


def choose_solver(solver: str | None, order: int, cliques: float | None = None) -> str:
    """The requested solver, or the default for a PSD cone of the given order, if memory suffices.

    ``cliques`` is the order of a dense cone that costs Clarabel as much as the cliques of the sparse cone.
    None means that the cone cannot be decomposed. An UnsupportedError is raised if the solver is predicted to
    need more memory than there is.
    """
    chosen = default_solver(solver, order, cliques)
    need = predicted_bytes(chosen, order, cliques)
    have = available_bytes()
    if need > have:
        like = "" if cliques is None else f" (its cliques cost as much as a dense one of {cliques:.0f})"
        raise UnsupportedError(
            f"{chosen} must fit into memory, got a PSD cone of order {order}{like} that needs "
            f"about {need / 1e9:.0f} GB of {have / 1e9:.0f} GB; use "
            + ("" if chosen == "SCS" else "solver='SCS', ")
            + "a subset of the points, or a low-rank backend"
        )
    return chosen


def predicted_bytes(solver: str, order: int, cliques: float | None = None) -> float:
    """Rough peak memory in bytes of a solve with one PSD cone of the given order; see `choose_solver`."""
    numbers = order * (order + 1) / 2
    if solver == "SCS":
        return SCS_FIXED + 8 * SCS_COPIES * numbers
    if solver == "CLARABEL" and cliques is not None:
        dense = cliques * (cliques + 1) / 2
        return 8 * (CLARABEL_COPIES * dense**2 + 8 * numbers)
    return 8 * CLARABEL_COPIES * numbers**2


def predicted_seconds(solver: str, order: int, cliques: float | None = None) -> float:
    """Rough time in seconds of a solve with one PSD cone of the given order."""
    return SCS_SECONDS * order**3 if solver == "SCS" else CLARABEL_SECONDS * (cliques or order) ** 5


def solver_arguments(solver: str, options: ConicOptions) -> dict[str, Any]:
    """The options of this library under the solver's own names."""
    out: dict[str, Any] = {}
    if solver not in _NAMES:
        if any(v is not None for v in (options.max_iter, options.time_limit, options.eps)):
            raise UnsupportedError(
                f"eps, max_iter and time_limit must be for one of {', '.join(_NAMES)}, got {solver}; use the "
                "solver's own names in solver_options"
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
            raise UnsupportedError(f"{solver} takes no time_limit; use its own option in solver_options")
        out[seconds] = options.time_limit
    return out | options.solver_options
