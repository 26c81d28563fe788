"""Certify answers to problems of CVXPY: of a solver while it solves, or those that are already there."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy
import cvxpy.settings as s
import numpy as np
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.reductions.solvers.defines import INSTALLED_SOLVERS, SOLVER_MAP_CONIC

from npkl_models.answer.solution import Solution, Status
from npkl_models.cvx import kernel, reading
from npkl_models.cvx.certificate import CvxpyCertificate
from npkl_models.cvx.judge import judge
from npkl_models.cvx.program import ConicProgram, triangles
from npkl_models.cvx.search import Raw
from npkl_models.cvx.sizes import compared, units
from npkl_models.cvx.solver import Answer, InteriorSolver
from npkl_models.cvx.translation import translated
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.model.statement import Statement

BUDGET = 10.0  # seconds for solves of our own, if the answer proves too little
AGREES = 1e-6  # the objective that was read may differ by this share from the one that CVXPY computes


class Certified(ConicSolver):  # type: ignore[misc]
    """A solver of CVXPY whose answers are judged: ``problem.solve(solver=npkl_models.Certified("SCS"))``.

    Parameters
    ----------
    solver : str or cvxpy solver, optional
        A conic solver that CVXPY knows by name, or an object such as `InteriorSolver`, the default.
    tol : float
        The relative gap that is wanted.
    budget : float
        Seconds that may be spent on solves of our own, if the solver's dual variables prove a larger gap;
        0 for none.
    **options
        Options of the solver. Those of ``problem.solve`` come on top.

    Notes
    -----
    ``problem.solver_stats.extra_stats`` is the `CvxpyCertificate`, and so is `certificate_of(problem)`. It is
    one of the raw vectors of the solver, for the rows that CVXPY handed to it. The answer itself stays as it
    is.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import npkl_models as nm
    >>> x = cp.Variable(3)
    >>> problem = cp.Problem(cp.Minimize(cp.norm(x - 1)), [cp.sum(x) == 0])
    >>> _ = problem.solve(solver=nm.Certified("CLARABEL"))
    >>> nm.certificate_of(problem).certifies(1e-6)
    True
    """

    SUPPORTED_CONSTRAINTS = reading.CONES

    def __init__(
        self, solver: Any = None, *, tol: float = 1e-6, budget: float = BUDGET, **options: Any
    ) -> None:
        super().__init__()
        self.inner = _solver_named(solver)
        self.tol, self.budget, self.options = tol, budget, options
        self._sense: dict[int, bool] = {}  # by the variable of a conic program: whether the problem maximises
        self._maximise = False
        own = type(self.inner)
        self.SUPPORTED_CONSTRAINTS = tuple(c for c in reading.CONES if c in own.SUPPORTED_CONSTRAINTS)
        self.REQUIRES_CONSTR = own.REQUIRES_CONSTR
        self.PSD_TRIANGLE_KIND, self.PSD_SQRT2_SCALING = own.PSD_TRIANGLE_KIND, own.PSD_SQRT2_SCALING
        self.SOC_DIM3_ONLY, self.EXP_CONE_ORDER = own.SOC_DIM3_ONLY, own.EXP_CONE_ORDER

    def name(self) -> str:
        """The name by which CVXPY knows the solver."""
        return f"CERTIFIED_{self.inner.name()}"

    def import_solver(self) -> None:
        """Import the solver that is judged."""
        self.inner.import_solver()

    def supports_quad_obj(self) -> bool:
        """Whether the solver takes quadratic objectives as such."""
        return bool(self.inner.supports_quad_obj())

    def can_solve(self, problem_form: Any) -> bool:
        """Whether the solver takes the cones of a problem; CVXPY calls this before it states the problem."""
        self._maximise = isinstance(problem_form._problem.objective, cvxpy.Maximize)
        return bool(super().can_solve(problem_form))

    def cite(self, data: Any) -> str:
        """The solver's own paper."""
        return str(self.inner.cite(data))

    def apply(self, problem: Any) -> Any:
        """State a conic program for the solver; CVXPY calls this."""
        self._sense.setdefault(problem.x.id, self._maximise)
        data, inverse = self.inner.apply(problem)
        program = ConicProgram.of_data(
            data, float(inverse[s.OFFSET]), self.PSD_TRIANGLE_KIND, bool(self.PSD_SQRT2_SCALING)
        )
        inverse["npkl_models"] = (program, self._sense[problem.x.id])
        return data, inverse

    def solve_via_data(
        self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> Any:
        """Solve a conic program; CVXPY calls this."""
        return self.inner.solve_via_data(
            data, warm_start, verbose, {**self.options, **solver_opts}, solver_cache
        )

    def invert(self, solution: Any, inverse_data: Any) -> Any:
        """The answer in CVXPY's own form, with its certificate; CVXPY calls this."""
        found = self.inner.invert(solution, inverse_data)
        program, maximise = inverse_data["npkl_models"]
        certificate = judge(
            program, self._raw(found, program, inverse_data), tol=self.tol, budget=self.budget
        )
        found.attr[s.EXTRA_STATS] = certificate.flipped() if maximise else certificate
        return found

    def _raw(self, found: Any, program: ConicProgram, inverse_data: Any) -> Raw:
        """The raw vectors of an answer, in the rows of our program."""
        status = next((word for word in WORDS if word in found.status), "optimal")
        x = np.full(program.c.size, np.nan)
        for value in found.primal_vars.values() if found.primal_vars else ():
            x = np.asarray(value, dtype=float).ravel()
        order = (*inverse_data[self.EQ_CONSTR], *inverse_data[self.NEQ_CONSTR])
        duals = found.dual_vars or {}
        z = np.full(program.b.size, np.nan)
        if order and all(c.id in duals for c in order):
            own = np.concatenate([np.ravel(duals[c.id], order="F") for c in order])
            first = own.size - sum(k * (k + 1) // 2 for k in program.psd)
            kind, scaled = self.PSD_TRIANGLE_KIND, bool(self.PSD_SQRT2_SCALING)
            place, unit = triangles(first, program.psd, kind, scaled)
            z = own[place] * unit
        return Raw(status, x, z)


WORDS = ("infeasible_or_unbounded", "infeasible", "unbounded", "error")


def _solver_named(solver: Any) -> Any:
    """The solver of CVXPY with this name; errors say which there are."""
    if solver is None:
        return InteriorSolver()
    if isinstance(solver, ConicSolver):
        return solver
    there = sorted(name for name in SOLVER_MAP_CONIC if name in INSTALLED_SOLVERS)
    if not isinstance(solver, str) or solver.upper() not in SOLVER_MAP_CONIC:
        raise ProblemError(
            f"solver must be a conic solver of CVXPY, got {solver!r}; installed: {', '.join(there)}"
        )
    if solver.upper() not in there:
        raise ProblemError(f"the solver {solver} must be installed; installed: {', '.join(there)}")
    return SOLVER_MAP_CONIC[solver.upper()]


def certificate_of(problem: Any) -> CvxpyCertificate:
    """The certificate of a problem of CVXPY that `Certified` solved.

    Raises
    ------
    ProblemError
        If the last solve of the problem was by another solver.
    """
    found = getattr(getattr(problem, "solver_stats", None), "extra_stats", None)
    if not isinstance(found, CvxpyCertificate):
        raise ProblemError(
            "the problem must be solved with Certified(...) to have a certificate; certify_cvxpy(problem) "
            "judges the values that another solver left"
        )
    return found


def certify_cvxpy(problem: Any, *, tol: float = 1e-6, budget: float = BUDGET) -> CvxpyCertificate:
    """Judge the values, and the dual values if all are there, that any solver has left in a problem of CVXPY.

    Parameters
    ----------
    problem : cvxpy.Problem
        A problem with linear, second-order and semidefinite cones, whose variables have values.
    tol : float
        The relative gap that is wanted.
    budget : float
        Seconds that may be spent on a solve of our own. Its dual variables serve if those of the problem are
        hidden, or prove a larger gap. 0 for none.

    Returns
    -------
    CvxpyCertificate
        Value, proved bounds, gap and violation. The value is ``problem.objective.value``.

    Raises
    ------
    ProblemError
        If variables have no values, the problem is not convex by CVXPY's rules, or its values and its conic
        form contradict each other.
    UnsupportedError
        If the problem has other cones or integers.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import npkl_models as nm
    >>> X = cp.Variable((2, 2), PSD=True)
    >>> problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 1])
    >>> _ = problem.solve(solver="CLARABEL")
    >>> nm.certify_cvxpy(problem).certifies(1e-6)
    True
    """
    if isinstance(problem, cvxpy.Problem) and not problem.variables():
        return _constant(problem)
    door = reading.stated(problem)
    claim = next((word for word in WORDS[1:3] if problem.status and word in problem.status), None)
    z = reading.duals_in(door)
    z = np.full(door.program.b.size, np.nan) if z is None else z
    if claim is not None and any(v.value is None for v in problem.variables()):
        found = judge(
            door.program, Raw(claim, np.full(door.program.c.size, np.nan), z), tol=tol, budget=budget
        )
        return found.flipped() if door.maximise else found
    x, open_ = reading.variables_in(door)
    x = reading.completed(door.program, x, open_, max(budget, 1.0))
    sign = -1.0 if door.maximise else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = problem.objective.value
        missed = [float(np.max(np.abs(c.violation()), initial=0.0)) for c in problem.constraints]
    if value is None or not np.isfinite(value):
        raise ProblemError(f"the objective must be a finite number at the values, got {value}")
    found = judge(door.program, Raw("optimal", x, z), sign * float(value), tol=tol, budget=budget)
    _refuse_contradiction(door.program, x, sign * float(value), found, max(missed, default=0.0))
    return found.flipped() if door.maximise else found


def _refuse_contradiction(
    program: ConicProgram, x: Array, value: float, found: CvxpyCertificate, missed: float
) -> None:
    """CVXPY's own value and misses must be those that were read."""
    read = program.objective(x)
    size = (
        abs(value)
        + abs(read)
        + abs(program.offset)
        + float(np.abs(program.c) @ units(program.A, compared(program, x), x))
    )
    if found.violation <= AGREES and abs(read - value) > AGREES * size:
        raise ProblemError(f"the objective must be read as CVXPY computes it: {value:.10g}, got {read:.10g}")
    sizes = float(np.max(np.abs(program.b), initial=0.0) + np.max(abs(program.A) @ np.abs(x), initial=0.0))
    if found.violation <= AGREES**2 and missed > AGREES * sizes:
        raise ProblemError(
            f"the values miss a constraint by {missed:.3g} for CVXPY, but not in its conic form"
        )


def _constant(problem: Any) -> CvxpyCertificate:
    """A problem without variables: its value is its optimum, if its constraints hold."""
    value = float(np.real(problem.objective.value))
    missed = max(
        (float(np.max(np.abs(c.violation()), initial=0.0)) for c in problem.constraints), default=0.0
    )
    if missed:
        end = -np.inf if isinstance(problem.objective, cvxpy.Maximize) else np.inf
        return CvxpyCertificate("infeasible", end, -np.inf, np.inf, np.inf, missed, "none", end, 0.0, "given")
    return CvxpyCertificate("optimal", value, value, value, 0.0, 0.0, kernel.PROVED, value, 0.0, "given")


def into_cvxpy(solution: Solution, problem: Any) -> float:
    """Write the solution of ``Problem.from_cvxpy(problem)`` into the variables and constraints of CVXPY.

    Returns
    -------
    float
        The value of the problem, as ``problem.solve()`` returns it.
    """
    door = reading.stated(problem, quadratic=False)
    found = translated(door.program, Statement)
    if isinstance(found, np.ndarray) or not _same(found.problem, solution.problem):
        raise ProblemError("a solution must be one of Problem.from_cvxpy(problem) for this problem of CVXPY")
    if solution.V is None or solution.multipliers is None:
        raise ProblemError(f"a solution must have a point and multipliers, got the status {solution.status}")
    x = found.x_of(solution.multipliers)
    status = s.OPTIMAL if solution.status is Status.OPTIMAL else s.OPTIMAL_INACCURATE
    answer = Answer(status, x, found.duals_of(solution.K), float(door.program.c @ x))
    raw = InteriorSolver().invert(answer, door.inverse[-1])
    for step, inverse in zip(reversed(door.chain.reductions[:-1]), reversed(door.inverse[:-1]), strict=True):
        raw = step.invert(raw, inverse)
    problem.unpack(raw)
    return float(problem.value)


def _same(one: Statement, other: Statement) -> bool:
    """Whether two problems have the same numbers."""
    if one.n != other.n or one.sizes != other.sizes or (one.cost != other.cost).nnz:
        return False
    a, b = one.constraints[0], other.constraints[0]
    mine, yours = a.functional.numbers, b.functional.numbers
    alike = type(a.functional) is type(b.functional) and np.array_equal(a.value, b.value)
    return alike and all(np.array_equal(mine[key], yours[key]) for key in mine)
