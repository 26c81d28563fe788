"""CVXPY's problems: our interior-point method as a solver of CVXPY, and a judge of any solver's answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

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
from npkl_models.cvx import reading, search
from npkl_models.cvx.fixed import without_fixed
from npkl_models.cvx.judge import infeasible
from npkl_models.cvx.program import ConicProgram
from npkl_models.cvx.sizes import relative_gap, violation
from npkl_models.cvx.translation import Translation, is_ray, translated
from npkl_models.errors import ProblemError
from npkl_models.interior.interior import BACKEND
from npkl_models.linalg import Array
from npkl_models.model.statement import Statement
from npkl_models.solve.choice import solve

S = TypeVar("S", bound=Statement)
SHARP = 1e-8  # the relative gap and the violation that are asked for first
USUAL, ROUGH = 1e-6, 1e-4  # gaps that still count as optimal, and as inaccurate
STATUSES = {
    Status.OPTIMAL: s.OPTIMAL, Status.INACCURATE: s.OPTIMAL_INACCURATE,
    Status.TIME_LIMIT: s.USER_LIMIT, Status.ITERATION_LIMIT: s.USER_LIMIT, Status.STOPPED: s.USER_LIMIT,
}  # fmt: skip


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
    `Certified`.

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
    PSD_TRIANGLE_KIND = TriangleKind.UPPER
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
        options = {key: value for key, value in solver_opts.items() if key != "use_quad_obj"}
        return solved(ConicProgram.of_data(data), options, verbose)

    def invert(self, solution: Answer, inverse_data: dict[str, Any]) -> CvxpySolution:
        """The answer in CVXPY's own form; CVXPY calls this."""
        attributes: dict[str, Any] = {s.EXTRA_STATS: solution.solution}
        if solution.solution is not None:
            attributes[s.SOLVE_TIME] = solution.solution.solve_time
            attributes[s.NUM_ITERS] = solution.solution.iterations
        duals: dict[Any, Any] = {}
        if solution.z is not None:
            zero = inverse_data[self.DIMS].zero
            for part, kind in ((solution.z[:zero], self.EQ_CONSTR), (solution.z[zero:], self.NEQ_CONSTR)):
                duals |= utilities.get_dual_values(part, utilities.extract_dual_value, inverse_data[kind])
        if solution.x is None or solution.status not in s.SOLUTION_PRESENT:
            return failure_solution(solution.status, attributes, duals)
        value, known = solution.value + inverse_data[s.OFFSET], {inverse_data[self.VAR_ID]: solution.x}
        return CvxpySolution(solution.status, value, known, duals, attributes)


def solved(program: ConicProgram, options: dict[str, Any], verbose: bool = False) -> Answer:
    """The answer to a linear program over cones; numbers that equations fix leave before."""
    fixed = without_fixed(program)
    found = _solved(fixed.program, options, verbose)
    x = None if found.x is None else fixed.point(found.x)
    z = None if found.z is None else fixed.duals(found.z, costs=found.status != s.INFEASIBLE)
    value = found.value if x is None else float(program.c @ x)
    return replace(found, x=x, z=z, value=value)


def _solved(program: ConicProgram, options: dict[str, Any], verbose: bool) -> Answer:
    if not program.c.any():
        return _anywhere(program, options, verbose)
    if program.zero == program.b.size:  # a cone of one number that nothing restricts is added
        A = sp.csr_array(sp.vstack([program.A, sp.csr_array((1, program.c.size))]))
        more = _solved(replace(program, A=A, b=np.append(program.b, 1.0), nonneg=1), options, verbose)
        return replace(more, z=None if more.z is None else more.z[:-1])
    found = translated(program, Statement)
    if isinstance(found, np.ndarray):
        return _infeasible(program, found, None)
    sharp = {"tol": SHARP, "feasibility": SHARP}
    solution = solve(found.problem, BACKEND, faces=False, verbose=verbose, **(sharp | options))
    if solution.status in (Status.UNBOUNDED, Status.INFEASIBLE):
        anywhere = _anywhere(program, options, verbose)
        if anywhere.status == s.INFEASIBLE or solution.status is Status.UNBOUNDED:
            return anywhere if anywhere.status == s.INFEASIBLE else Answer(s.SOLVER_ERROR, solution=solution)
        there = anywhere.status in (s.OPTIMAL, s.OPTIMAL_INACCURATE)
        words = s.UNBOUNDED if there else s.INFEASIBLE_OR_UNBOUNDED
        return Answer(words, solution=solution)
    answer = answer_of(found, solution, not options)
    if answer.status == s.OPTIMAL_INACCURATE and not options:  # the last gains of the gap cost feasibility
        rough = solve(found.problem, BACKEND, faces=False, **(sharp | {"tol": USUAL}))
        again = answer_of(found, rough, relaxed=True)
        answer = again if again.status == s.OPTIMAL else answer
    if answer.status == s.SOLVER_ERROR:
        anywhere = _anywhere(program, options, verbose)
        answer = anywhere if anywhere.status == s.INFEASIBLE else answer
    return answer


def _anywhere(program: ConicProgram, options: dict[str, Any], verbose: bool) -> Answer:
    """A feasible point far inside the cones, or a ray; this solves programs without an objective.

    Maximise t <= 1 such that b - A x - t e lies in the cones, e their identity. If the optimum is below zero,
    its dual variables z have A'z = 0 and b'z < 0.
    """
    inner = search.inward(program)
    found = translated(inner, Statement)
    if isinstance(found, np.ndarray):
        return _infeasible(program, np.delete(found, inner.at - 1), None)
    solution = solve(found.problem, BACKEND, faces=False, verbose=verbose, **options)
    if solution.V is None or solution.multipliers is None:
        return Answer(s.SOLVER_ERROR, solution=solution)
    x, z = found.x_of(solution.multipliers), np.delete(found.duals_of(solution.K), inner.at - 1)
    if x[-1] < 0 and (answer := _infeasible(program, z, solution)).status == s.INFEASIBLE:
        return answer
    missed = violation(program, x[:-1])
    words = s.OPTIMAL if missed <= USUAL else s.OPTIMAL_INACCURATE if missed <= ROUGH else s.SOLVER_ERROR
    return Answer(words, x[:-1], np.zeros(z.size), 0.0, solution)


def _infeasible(program: ConicProgram, z: Array, solution: Solution | None) -> Answer:
    """INFEASIBLE, if the ray is one of the program's own numbers."""
    if not (infeasible(program, z) or is_ray(program, z)):
        return Answer(s.SOLVER_ERROR, solution=solution)
    return Answer(s.INFEASIBLE, z=z, solution=solution)


def answer_of(found: Translation[Statement], solution: Solution, relaxed: bool) -> Answer:
    """The answer of CVXPY's form from a solution; ``relaxed`` accepts the usual tolerances, too."""
    status, program = solution.status, found.program
    if solution.V is None or solution.multipliers is None:
        return Answer(s.SOLVER_ERROR, solution=solution)
    x, z = found.x_of(solution.multipliers), found.duals_of(solution.K)
    if relaxed and status is Status.INACCURATE and solution.certificate.relative_gap <= USUAL:
        status = Status.OPTIMAL
    value, bound = float(program.c @ x), -float(program.b @ z)
    apart = relative_gap(program, x, z, value, bound)
    missed = max(violation(program, x), found.dual_violation(z))
    if status is Status.OPTIMAL and missed > USUAL:
        status = Status.INACCURATE
    words = STATUSES.get(status, s.SOLVER_ERROR)
    if words == s.OPTIMAL_INACCURATE and max(missed, apart) > ROUGH:
        words = s.SOLVER_ERROR
    elif words == s.OPTIMAL_INACCURATE and missed <= SHARP and apart <= USUAL:  # there is no interior
        words = s.OPTIMAL
    return Answer(words, x, z, value, solution)


def problem_of(problem: Any, cls: type[S]) -> S:
    """The problem whose multipliers are minus the variables of a problem of CVXPY; ``cls`` is its class."""
    found = translated(reading.stated(problem, quadratic=False).program, cls)
    if isinstance(found, np.ndarray):
        raise ProblemError("the equations of a problem of CVXPY must have a solution, got a contradiction")
    return found.problem
