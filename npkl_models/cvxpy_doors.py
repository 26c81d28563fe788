"""CVXPY's problems: our interior-point method as a solver of CVXPY, and a judge of any solver's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import cvxpy
import cvxpy.settings as s
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import SOC, SvecPSD
from cvxpy.reductions.solution import Solution as CvxpySolution
from cvxpy.reductions.solution import failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.utilities.psd_utils import TriangleKind

from npkl_models.answer.solution import Solution, Status
from npkl_models.certify.bounds import FEASIBILITY
from npkl_models.certify.certificate import Certificate
from npkl_models.certify.prove import certify
from npkl_models.conic.cvxpy_programs import ConicProgram, Translation, translated
from npkl_models.errors import ProblemError, UnsupportedError
from npkl_models.interior.interior import BACKEND
from npkl_models.interior.program import Program, falling
from npkl_models.linalg import Array
from npkl_models.model.statement import Statement
from npkl_models.solve.choice import solve

S = TypeVar("S", bound=Statement)
SHARP = 1e-8  # the relative gap and the violation that are asked for first
STATUSES = {
    Status.OPTIMAL: s.OPTIMAL, Status.INACCURATE: s.OPTIMAL_INACCURATE, Status.UNBOUNDED: s.INFEASIBLE,
    Status.INFEASIBLE: s.UNBOUNDED, Status.TIME_LIMIT: s.USER_LIMIT, Status.ITERATION_LIMIT: s.USER_LIMIT,
    Status.STOPPED: s.USER_LIMIT,
}  # fmt: skip
"""The kernel is the dual variable of CVXPY's problem: no bound here means no feasible point there."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Variables x and dual variables z in CVXPY's order; either may be missing."""

    status: str
    x: Array | None = None
    z: Array | None = None
    value: float = float("nan")
    solution: Solution | None = None


class InteriorSolver(ConicSolver):  # type: ignore[misc]
    """Our interior-point method as a solver of CVXPY: ``problem.solve(solver=npkl_models.InteriorSolver())``.

    It takes linear, second-order and semidefinite constraints. Options of ``problem.solve`` are those of the
    backend interior: ``tol``, ``feasibility``, ``max_iter``, ``time_limit``. The answer is proved: see
    `certify_cvxpy`.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import npkl_models as nm
    >>> X = cp.Variable((2, 2), PSD=True)
    >>> problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 1])
    >>> round(problem.solve(solver=nm.InteriorSolver()), 6)
    2.0
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS = (*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, SvecPSD)
    REQUIRES_CONSTR = False
    BOUNDED_VARIABLES = True
    PSD_TRIANGLE_KIND = TriangleKind.LOWER
    PSD_SQRT2_SCALING = True

    def name(self) -> str:
        """The name by which CVXPY knows the solver."""
        return "NPKL_MODELS"

    def import_solver(self) -> None:
        """Nothing more has to be imported."""

    def cite(self, data: Any) -> str:
        """The solver has no paper."""
        return ""

    def solve_via_data(
        self, data: dict[str, Any], warm_start: bool, verbose: bool, solver_opts: dict[str, Any],
        solver_cache: Any = None,
    ) -> Answer:  # fmt: skip
        """Solve a conic program; CVXPY calls this."""
        program = ConicProgram.of_data(data)
        options = {key: value for key, value in solver_opts.items() if key != "use_quad_obj"}
        if program.zero == program.b.size:  # no cone
            return _of_equations(program)
        found = translated(program, Statement)
        if isinstance(found, np.ndarray):
            return Answer(s.INFEASIBLE, z=program.known(found))
        asked = {"tol": SHARP, "feasibility": SHARP} | options
        return _answer(found, solve(found.problem, BACKEND, verbose=verbose, **asked), not options)

    def invert(self, solution: Answer, inverse_data: dict[str, Any]) -> CvxpySolution:
        """The answer in CVXPY's own form; CVXPY calls this."""
        attributes: dict[str, Any] = {s.EXTRA_STATS: solution.solution}
        if solution.solution is not None:
            attributes |= {
                s.SOLVE_TIME: solution.solution.solve_time,
                s.NUM_ITERS: solution.solution.iterations,
            }
        duals: dict[Any, Any] = {}
        if solution.z is not None:
            zero = inverse_data[self.DIMS].zero
            for part, kind in ((solution.z[:zero], self.EQ_CONSTR), (solution.z[zero:], self.NEQ_CONSTR)):
                duals |= utilities.get_dual_values(part, utilities.extract_dual_value, inverse_data[kind])
        if solution.x is None or solution.status not in s.SOLUTION_PRESENT:
            return failure_solution(solution.status, attributes, duals)
        value = solution.value + inverse_data[s.OFFSET]
        return CvxpySolution(
            solution.status, value, {inverse_data[self.VAR_ID]: solution.x}, duals, attributes
        )


def _of_equations(program: ConicProgram) -> Answer:
    """The answer to a program with equations alone."""
    A = program.A.toarray()
    x = np.linalg.lstsq(A, program.b, rcond=None)[0]
    off = A @ x - program.b
    if np.abs(off).max(initial=0.0) > FEASIBILITY * (1 + np.abs(program.b).max(initial=0.0)):
        return Answer(s.INFEASIBLE, z=off)
    z = np.linalg.lstsq(A.T, -program.c, rcond=None)[0]
    if np.abs(A.T @ z + program.c).max(initial=0.0) > FEASIBILITY * (1 + np.abs(program.c).max(initial=0.0)):
        return Answer(s.UNBOUNDED)
    return Answer(s.OPTIMAL, x, z, float(program.c @ x))


def _answer(found: Translation[Statement], solution: Solution, relaxed: bool) -> Answer:
    """The answer of CVXPY's form from a solution; ``relaxed`` accepts the usual tolerances, too."""
    status = solution.status
    if status is Status.UNBOUNDED:
        ray = _ray(found)
        return Answer(s.INFEASIBLE, z=None if ray is None else found.program.known(ray), solution=solution)
    if status is Status.INFEASIBLE or solution.V is None or solution.multipliers is None:
        return Answer(STATUSES.get(status, s.SOLVER_ERROR), solution=solution)
    if relaxed and status is Status.INACCURATE and solution.certificate.relative_gap <= 1e-6:
        status = Status.OPTIMAL if solution.certificate.violation <= FEASIBILITY else status
    x, z = found.x_of(solution.multipliers), found.program.known(found.duals_of(solution.K))
    return Answer(STATUSES.get(status, s.SOLVER_ERROR), x, z, float(found.program.c @ x), solution)


def _ray(found: Translation[Statement]) -> Array | None:
    """A vector z in the dual cones with A'z = 0 and b'z < 0."""
    made = Program.of(found.problem)
    factors = falling(made)
    if factors is None:
        return None
    V = made.factor(factors)
    return found.duals_of(V @ V.T, costs=False)


@dataclass(frozen=True, eq=False)
class Stated:
    """A problem of CVXPY as CVXPY states it, and what CVXPY needs to read an answer."""

    program: ConicProgram
    chain: Any
    inverse: Any

    @property
    def offset(self) -> float:
        """The constant of the objective."""
        return float(self.inverse[-1][s.OFFSET])

    def read(self, raw: Any) -> Any:
        """CVXPY's solution from the answer of its solver."""
        return self.chain.invert(raw, self.inverse)


def stated(problem: Any) -> Stated:
    """The conic program of a problem of CVXPY; UnsupportedError if it has other cones, or integers."""
    if not isinstance(problem, cvxpy.Problem):
        raise ProblemError(f"a problem of CVXPY must be a cvxpy.Problem, got {type(problem).__name__}")
    try:
        data, chain, inverse = problem.get_problem_data(InteriorSolver())
    except cvxpy.error.SolverError as error:
        raise UnsupportedError(
            f"a problem of CVXPY must have linear, second-order and semidefinite cones only, got: {error}"
        ) from error
    return Stated(ConicProgram.of_data(data), chain, inverse)


def problem_of(problem: Any, cls: type[S]) -> S:
    """The problem whose multipliers are minus the variables of a problem of CVXPY; ``cls`` is its class."""
    found = translated(stated(problem).program, cls)
    if isinstance(found, np.ndarray):
        raise ProblemError("the equations of a problem of CVXPY must have a solution, got a contradiction")
    return found.problem


@dataclass(frozen=True, eq=False)
class CvxpyCertificate:
    """What is proved of the values and dual values in a problem of CVXPY.

    Attributes
    ----------
    value : float
        The objective at the values, in the sense of the problem (minimise or maximise).
    bound : float
        The bound on the optimum from the dual values: exact for the costs that they meet, which differ from
        the stated ones by ``dual_violation``.
    relative_gap : float
        The distance of value and bound, relative; inf if nothing is proved.
    violation : float
        The most by which the values miss a constraint, relative to the largest right side.
    dual_violation : float
        The most by which the dual values miss the costs, relative to their sizes.
    certificate : Certificate
        The certificate of the problem whose kernel is the dual variable (`Problem.from_cvxpy`).
    """

    value: float
    bound: float
    relative_gap: float
    violation: float
    dual_violation: float
    certificate: Certificate

    def certifies(self, tol: float = 1e-6, feasibility: float = FEASIBILITY) -> bool:
        """Whether the values are proved to be optimal to the relative gap ``tol``."""
        met = max(self.violation, self.dual_violation) <= feasibility
        return met and self.relative_gap <= tol and self.certificate.rigour == "proved"

    def __str__(self) -> str:
        return (
            f"value {self.value:.10g}, bound {self.bound:.10g}, relative gap {self.relative_gap:.1e} "
            f"({self.certificate.rigour}); the values miss the constraints by {self.violation:.1e}, the dual "
            f"values the costs by {self.dual_violation:.1e}"
        )


def certify_cvxpy(problem: Any, *, tol: float = 1e-6, feasibility: float = FEASIBILITY) -> CvxpyCertificate:
    """Judge the values and dual values that any solver has left in a problem of CVXPY.

    Parameters
    ----------
    problem : cvxpy.Problem
        A solved problem with linear, second-order and semidefinite constraints.
    tol, feasibility : float
        As in `certify`.

    Returns
    -------
    CvxpyCertificate
        Value, proved bound, gap and violations.

    Raises
    ------
    ProblemError
        If variables have no values, or constraints no dual values.
    UnsupportedError
        If the problem has other cones or integers.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import npkl_models as nm
    >>> X = cp.Variable((2, 2), PSD=True)
    >>> problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 1])
    >>> _ = problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    >>> nm.certify_cvxpy(problem).certifies()
    True
    """
    door = stated(problem)
    x, z = _values_in(problem, door)
    found = translated(door.program, Statement)
    if isinstance(found, np.ndarray):
        raise ProblemError("the equations of a problem of CVXPY must have a solution, got a contradiction")
    y = found.multipliers_of(x)
    judged = certify(found.problem, found.point_of(z), y, kind="kernel", tol=tol, feasibility=feasibility)
    sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
    value = float(door.program.c @ x) + door.offset
    bound = found.constant + door.offset - judged.objective
    missed = max(judged.violation, judged.indefinite)
    return CvxpyCertificate(
        sign * value, sign * bound, judged.relative_gap, found.violation(x), missed, judged
    )


def into_cvxpy(solution: Solution, problem: Any) -> float:
    """Write the solution of ``Problem.from_cvxpy(problem)`` into the variables and constraints of CVXPY.

    Returns
    -------
    float
        The value of the problem, as ``problem.solve()`` returns it.
    """
    door = stated(problem)
    found = translated(door.program, Statement)
    if isinstance(found, np.ndarray) or found.problem.sizes != solution.problem.sizes:
        raise ProblemError("a solution must be one of Problem.from_cvxpy(problem) for this problem of CVXPY")
    problem.unpack_results(_answer(found, solution, True), door.chain, door.inverse)
    return float(problem.value)


def _values_in(problem: Any, door: Stated) -> tuple[Array, Array]:
    """Variables and dual variables in CVXPY's own order, from those of the problem."""
    program, rows = door.program, door.program.b.size
    variables, constraints = problem.variables(), problem.constraints
    if any(v.value is None for v in variables):
        raise ProblemError(
            "the variables must have values to be certified, got None; solve the problem first"
        )
    if any(c.dual_value is None for c in constraints):
        raise ProblemError("the constraints must have dual values to be certified, got None; solve first")

    def primal(x: Array) -> Array:
        found = door.read(Answer(s.OPTIMAL, x, np.zeros(program.rows), 0.0)).primal_vars
        return np.concatenate([_numbers(found[v.id]) for v in variables])

    def dual(z: Array) -> Array:
        found = door.read(Answer(s.OPTIMAL, np.zeros(program.c.size), program.known(z), 0.0)).dual_vars
        for c in constraints:
            c.save_dual_value(found[c.id])
        return np.concatenate([_numbers(c.dual_value) for c in constraints] or [np.zeros(0)])

    values = np.concatenate([_numbers(v.value) for v in variables])
    x = _lifted(program, *_matrix(primal, program.c.size), values)
    kept = [[(one, one.value) for one in c.dual_variables] for c in constraints]
    duals = np.concatenate([_numbers(c.dual_value) for c in constraints] or [np.zeros(0)])
    D, base = _matrix(dual, rows)
    for one, value in (pair for pairs in kept for pair in pairs):
        one.save_value(value)
    A = np.vstack([D, program.A.T.toarray()])
    return x, np.linalg.lstsq(A, np.concatenate([duals - base, -program.c]), rcond=None)[0]


def _numbers(value: Any) -> Array:
    """The numbers of a value, a matrix, or a list of both, column by column."""
    if isinstance(value, list | tuple):
        return np.concatenate([_numbers(one) for one in value])
    return np.asarray(value.toarray() if sp.issparse(value) else value, dtype=float).ravel(order="F")


def _matrix(function: Callable[[Array], Array], size: int) -> tuple[Array, Array]:
    """The matrix and the constant of an affine map; a map that projects on signs is read on both sides."""
    base, columns = function(np.zeros(size)), []
    for e in np.eye(size):
        up = function(e) - base
        columns.append(up if up.any() else base - function(-e))
    return np.stack(columns, axis=1), base


def _lifted(program: ConicProgram, P: Array, base: Array, values: Array) -> Array:
    """The best x with P x + base = values; CVXPY's own further variables are free."""
    x = np.linalg.lstsq(P, values - base, rcond=None)[0]
    if np.linalg.matrix_rank(P) == P.shape[1]:
        return x
    A = sp.csc_array(sp.vstack([sp.csc_array(P), program.A]))
    b = np.concatenate([values - base, program.b])
    held = replace(program, A=A, b=b, zero=program.zero + len(P))
    found = translated(held, Statement)
    if isinstance(found, np.ndarray):
        return x
    answer = _answer(found, solve(found.problem, BACKEND, tol=SHARP, feasibility=SHARP), True)
    return x if answer.x is None else answer.x
