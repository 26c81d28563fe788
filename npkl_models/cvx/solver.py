"""CVXPY's problems: our interior-point method as a solver of CVXPY, and a judge of any solver's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import cvxpy
import cvxpy.settings as s
import numpy as np
from cvxpy.constraints import SOC, SvecPSD
from cvxpy.reductions.solution import Solution as CvxpySolution
from cvxpy.reductions.solution import failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.utilities.psd_utils import TriangleKind

from npkl_models.answer.solution import Solution, Status
from npkl_models.certify.bounds import FEASIBILITY
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
        return answer_of(found, solve(found.problem, BACKEND, verbose=verbose, **asked), not options)

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


def answer_of(found: Translation[Statement], solution: Solution, relaxed: bool) -> Answer:
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
