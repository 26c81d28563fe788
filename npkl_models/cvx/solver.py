"""Our interior-point method as a solver of CVXPY."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import cvxpy.settings as s
import numpy as np
from cvxpy.constraints import SOC, SvecPSD
from cvxpy.reductions.solution import Solution as CvxpySolution
from cvxpy.reductions.solution import failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.utilities.psd_utils import TriangleKind

from npkl_models.cvx import reading, search
from npkl_models.cvx.engine import ITERATIONS, ConicEngine, Point
from npkl_models.cvx.forms import Form, form_of, standard_form
from npkl_models.cvx.judge import infeasible
from npkl_models.cvx.program import ConicProgram
from npkl_models.cvx.sizes import violation
from npkl_models.cvx.translation import falls, is_ray, largest_share, translated
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.threads import quiet_blas
from npkl_models.model.statement import Statement
from npkl_models.solve.judge import LIMITS
from npkl_models.solve.loop import Loop
from npkl_models.solve.options import Options, parse_options
from npkl_models.solve.watch import RunMonitor, progress_log, quiet

S = TypeVar("S", bound=Statement)
SHARP = 1e-10  # the relative gap and the violation that are asked for
USUAL, ROUGH = 1e-6, 1e-4  # gaps that still count as optimal, and as inaccurate


@dataclass(frozen=True, eq=False)
class Answer:
    """Variables x and dual variables z in CVXPY's order; either may be missing."""

    status: str
    x: Array | None = None
    z: Array | None = None
    value: float = float("nan")
    seconds: float = 0.0
    iterations: int = 0


class InteriorSolver(ConicSolver):  # type: ignore[misc]
    """Our interior-point method as a solver of CVXPY: ``problem.solve(solver=npkl_models.InteriorSolver())``.

    It takes quadratic objectives and linear, second-order and semidefinite constraints. Options of
    ``problem.solve`` are ``tol`` and ``feasibility`` (1e-10 each), ``max_iter`` (100) and ``time_limit`` (s).
    `Certified` adds a proof.

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

    def supports_quad_obj(self) -> bool:
        """Quadratic objectives stay as they are."""
        return True

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
        attributes: dict[str, Any] = {s.SOLVE_TIME: solution.seconds, s.NUM_ITERS: solution.iterations}
        duals: dict[Any, Any] = {}
        if solution.z is not None:
            zero = inverse_data[self.DIMS].zero
            for part, kind in ((solution.z[:zero], self.EQ_CONSTR), (solution.z[zero:], self.NEQ_CONSTR)):
                duals |= utilities.get_dual_values(part, utilities.extract_dual_value, inverse_data[kind])
        if solution.x is None or solution.status not in s.SOLUTION_PRESENT:
            return failure_solution(solution.status, attributes, duals)
        value, known = solution.value + inverse_data[s.OFFSET], {inverse_data[self.VAR_ID]: solution.x}
        return CvxpySolution(solution.status, value, known, duals, attributes)


def solved(program: ConicProgram, given: dict[str, Any], verbose: bool = False) -> Answer:
    """The answer to a program over cones; numbers that equations fix leave before."""
    sharp = {"tol": SHARP, "feasibility": SHARP, "verbose": verbose}
    options = parse_options(Options, sharp | given, "InteriorSolver")
    watch = RunMonitor(options, "InteriorSolver")
    watch.pause = 0.0  # solvers of CVXPY show every iteration
    with quiet(), quiet_blas(program.c.size), progress_log(bool(options.verbose)):
        smaller, d, e, t = program.balanced()
        form = standard_form(smaller)
        found = _solved(smaller, form_of(smaller) if form is None else form, watch, t)
    costs = found.status != s.INFEASIBLE
    x: Array | None = None if found.x is None else found.x * e
    z: Array | None = None if found.z is None else found.z * d / (t if costs else 1.0)
    value = found.value if x is None else program.objective(x)
    return replace(found, x=x, z=z, value=value, seconds=watch.seconds, iterations=len(watch.rows))


def _solved(program: ConicProgram, form: Form | Array, watch: RunMonitor, unit: float) -> Answer:
    if isinstance(form, np.ndarray):
        return _infeasible(program, form)
    if not form.own.parts:
        return _without_cones(program, form)
    engine = ConicEngine(form, watch.options, unit)
    status = watch.attempt(lambda: Loop(engine, watch).until(watch.options.max_iter or ITERATIONS))
    point = engine.point()
    if engine.met or max(point.gap, point.missed) <= USUAL:
        return Answer(s.OPTIMAL, point.x, point.z, point.value)
    if status in LIMITS:
        return Answer(s.USER_LIMIT, point.x, point.z, point.value)
    if not program.c.any() and program.P is None:
        return _anywhere(program, watch)
    return _without_optimum(program, engine, point, watch)


def _without_optimum(program: ConicProgram, engine: ConicEngine, point: Point, watch: RunMonitor) -> Answer:
    """A ray, if the last iterate or a search for a feasible point has one; else the point, if it is near."""
    now, form = engine.now, engine.form
    z = form.z_of(now.X, now.y, None)
    if infeasible(program, z):
        return Answer(s.INFEASIBLE, z=z)
    anywhere = _anywhere(program, watch)
    if anywhere.status == s.INFEASIBLE:
        return anywhere
    if falls(program, form.x_of(now.X, now.y, along=True)):
        there = anywhere.status in (s.OPTIMAL, s.OPTIMAL_INACCURATE)
        return Answer(s.UNBOUNDED if there else s.INFEASIBLE_OR_UNBOUNDED)
    rough = max(point.gap, point.missed) <= ROUGH
    return Answer(s.OPTIMAL_INACCURATE, point.x, point.z, point.value) if rough else Answer(s.SOLVER_ERROR)


def _anywhere(program: ConicProgram, watch: RunMonitor) -> Answer:
    """A feasible point far inside the cones, or a ray.

    Maximise t <= 1 such that b - A x - t e lies in the cones, e their identity. If the optimum is below zero,
    its dual variables z have A'z = 0 and b'z < 0.
    """
    inner = search.inward(program)
    form = form_of(inner)
    assert isinstance(form, Form)
    engine = ConicEngine(form, watch.options)
    watch.attempt(lambda: Loop(engine, watch).until(ITERATIONS))
    point = engine.point()
    x, z = point.x, np.delete(point.z, inner.at - 1)
    if x[-1] < 0 and (answer := _infeasible(program, z)).status == s.INFEASIBLE:
        return answer
    missed = violation(program, x[:-1])
    words = s.OPTIMAL if missed <= USUAL else s.OPTIMAL_INACCURATE if missed <= ROUGH else s.SOLVER_ERROR
    return Answer(words, x[:-1], np.zeros(z.size), 0.0)


def _without_cones(program: ConicProgram, form: Form) -> Answer:
    """A program of equations alone: its optimum is stationary, or nothing bounds it."""
    P, b = np.zeros((form.own.box.b.size,) * 2), form.own.box.b
    P = P if form.own.P is None else form.own.P.toarray()
    y = np.linalg.lstsq(P, -b, rcond=None)[0]
    if largest_share(np.abs(P @ y + b), np.abs(P) @ np.abs(y) + np.abs(b)) > USUAL:
        return Answer(s.UNBOUNDED)
    x = form.x_of([], y)
    return Answer(s.OPTIMAL, x, form.z_of([], y, x), program.objective(x))


def _infeasible(program: ConicProgram, z: Array) -> Answer:
    """INFEASIBLE, if the ray is one of the program's own numbers."""
    if not (infeasible(program, z) or is_ray(program, z)):
        return Answer(s.SOLVER_ERROR)
    return Answer(s.INFEASIBLE, z=z)


def problem_of(problem: Any, cls: type[S]) -> S:
    """The problem whose multipliers are minus the variables of a problem of CVXPY; ``cls`` is its class."""
    found = translated(reading.stated(problem, quadratic=False).program, cls)
    if isinstance(found, np.ndarray):
        raise ProblemError("the equations of a problem of CVXPY must have a solution, got a contradiction")
    return found.problem
