"""Certificates of programs of CVXPY: bounds on the right side, right answers certified, wrong ones never."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import npkl_models as nm
from cvx.programs import PROGRAMS
from cvx.random_dcp import drawn
from npkl_models.cvx import kernel, reading
from npkl_models.cvx.search import solve

UNPROVED = {
    "lyapunov, unstable", "unbounded, SDP", "infeasible, without a proof", "unbounded, without a ray",
    "corners, gap of duality", "corners, not attained", "corners, zero diagonal",
    "third correlation, smallest", "sparse recovery, basis pursuit",
}  # fmt: skip
"""No interior, no attainment, an optimum next to zero, or an answer of Clarabel that misses by 2e-7."""
QUICK = [name for k, name in enumerate(PROGRAMS) if k % 5 == 0]


def right(found, optimum, allowance=1e-11):
    """Whether the bounds hold a closed form."""
    if isinstance(optimum, str) or optimum is None:
        return True
    room = allowance * (1 + abs(optimum))
    return found.lower <= optimum + room and found.upper >= optimum - room


def judged(name, solver, **options):
    made = PROGRAMS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.problem.solve(solver=nm.Certified(solver, **options))
    return made, nm.certificate_of(made.problem)


@pytest.mark.parametrize("name", [name for name in QUICK if name not in UNPROVED])
def test_answers_of_clarabel_are_certified(name):
    made, found = judged(name, "CLARABEL")
    assert found.certifies(1e-6), str(found)
    assert right(found, made.optimum), (str(found), made.optimum)
    assert found.status == (made.optimum if isinstance(made.optimum, str) else "optimal")


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["CLARABEL", None, "SCS"])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in UNPROVED])
def test_no_bound_is_beyond_an_optimum(name, solver):
    try:
        made, found = judged(name, solver, **({"eps": 1e-3} if solver == "SCS" else {}))
    except cp.SolverError:
        assert solver != "CLARABEL"
        return
    assert right(found, made.optimum), (str(found), made.optimum)
    assert solver != "CLARABEL" or found.certifies(1e-6)


@pytest.mark.parametrize("name", QUICK)
def test_moved_values_are_not_certified(name):
    made = PROGRAMS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made.problem.solve(solver="CLARABEL")
        except cp.SolverError:
            return
        if made.problem.status != "optimal":
            return
        best = made.problem.value
        kept = [(v, v.value) for v in made.problem.variables()]
        for v, value in kept:
            v.save_value(value * (1 + 1e-3))
        worse = made.problem.objective.value
        missed = max((float(np.max(c.violation(), initial=0.0)) for c in made.problem.constraints), default=0)
        found = nm.certify_cvxpy(made.problem)
    apart = abs(worse - best) / (abs(worse) + abs(best) + 1e-9)
    assert found.value == pytest.approx(worse, rel=1e-12)
    assert not found.certifies(1e-6) or (apart < 1e-6 and missed < 1e-6)


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_have_true_bounds(seed):
    made = drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.problem.solve(solver="CLARABEL")
        expected, status = made.problem.value, made.problem.status
        found = nm.certify_cvxpy(made.problem)
    assert found.rigour != "proved" or status == "optimal" or found.status == status
    if status == "optimal":
        assert found.lower <= expected + 1e-6 * (1 + abs(expected))
        assert found.upper >= expected - 1e-6 * (1 + abs(expected))


def told(problem, *values):
    for v, value in zip(problem.variables(), values, strict=True):
        v.save_value(np.asarray(value, dtype=float))
    return nm.certify_cvxpy(problem)


def test_what_was_certified_once_and_is_wrong():
    """Bounds as attributes, tiny costs, huge strangers, and nearly contradictory numbers."""
    x, y = cp.Variable(), cp.Variable()
    b = cp.Variable(bounds=[1, 3])
    assert not told(cp.Problem(cp.Maximize(b), [b <= 1.5]), 1.0).certifies()
    assert told(cp.Problem(cp.Maximize(b), [b <= 1.5]), 1.5).certifies()
    assert told(cp.Problem(cp.Maximize(b), [b <= 1.5]), 9.5).violation > 1
    assert not told(cp.Problem(cp.Minimize(1e-9 * x), [x >= 1]), 100.0).certifies()
    assert told(cp.Problem(cp.Minimize(1e-9 * x), [x >= 1]), 1.0).certifies()
    assert not told(cp.Problem(cp.Minimize(x), [x >= 1, y == 1e12]), 0.0, 1e12).certifies()
    near = cp.Problem(cp.Minimize(x - y), [x >= 1e7, y <= 1e7 + 1])
    assert not told(near, 1e7 * (1 - 5e-9), (1e7 + 1) * (1 + 5e-9)).certifies()
    X = cp.Variable((3, 3), PSD=True)
    free = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 0, X[0, 0] == 1, X[1, 1] == 1, X[2, 2] == 1e12])
    assert not told(free, np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1e12]])).certifies()
    assert told(free, np.diag([1, 1, 1e12])).certifies()


@pytest.mark.parametrize("c", [2.0**-30, 1.0, 2.0**30])
def test_a_verdict_does_not_depend_on_the_units_of_a_row_or_of_costs(c):
    x = cp.Variable(3)
    A = np.array([[1.0, 2, 0], [0, 1, 3]])
    problem = cp.Problem(cp.Minimize(c * (x @ [1.0, 2, 3])), [c * (A @ x) >= c * np.ones(2), x >= 0])
    problem.solve(solver="CLARABEL", tol_gap_abs=0.0, tol_gap_rel=1e-9, tol_feas=1e-9)
    x.value = np.array([0.0, 0.5, 1 / 6])
    assert nm.certify_cvxpy(problem).certifies()
    x.value = np.array([0.0, 0.5001, 1 / 6])
    assert not nm.certify_cvxpy(problem).certifies()


def test_the_kernel_refuses_what_does_not_hold():
    x = cp.Variable(2)
    program = reading.stated(cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [x[0] + x[1] == 1, x >= 0])).program
    own = solve(program, 10.0)
    weight = np.ones(own.z.size)
    best = np.array([-1.0, 0.0, 1.0])
    assert kernel.lower_bound(program, best, np.array([1.0, 0.0, 1.0])) == pytest.approx(1.0, abs=1e-12)
    assert kernel.lower_bound(program, best, weight) == -np.inf  # z may leave its cone on its way
    for z in ([-1.0, 0.0, 1.1], [-2.0, 1.0, -0.1], [-1.5, -0.5, 0.5], [np.nan, 0, 1]):
        assert kernel.lower_bound(program, np.array(z), weight) <= 1.0
    assert kernel.lower_bound(program, np.array([-1.5, -0.5, 0.5]), weight) == -np.inf
    assert kernel.upper_bound(program, np.array([0.5, 0.5]), weight[:2]) >= 1.5
    assert kernel.upper_bound(program, np.array([1.5, -0.5]), weight[:2]) == np.inf
    assert kernel.upper_bound(program, np.array([0.6, 0.6]), weight[:2]) >= 1.5  # of the point next to it


def test_an_equation_that_is_nearly_another_is_not_that_other():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0]), [x[0] == (1 + 1e-13) * x[1], x[0] == x[1]])
    problem.solve(solver="CLARABEL")
    found = nm.certify_cvxpy(problem)
    assert not (found.rigour == "proved" and found.lower > 0)


def test_errors_are_words():
    x = cp.Variable(2)
    with pytest.raises(nm.ProblemError, match="convexity"):
        told(cp.Problem(cp.Minimize(cp.sqrt(x[0]))), [1.0, 1.0])
    with pytest.raises(nm.ProblemError, match="parameters"):
        told(cp.Problem(cp.Minimize(cp.sum(x)), [x >= cp.Parameter()]), [1.0, 1.0])
    with pytest.raises(nm.UnsupportedError, match="cones only"):
        told(cp.Problem(cp.Minimize(cp.sum(cp.exp(x)))), [1.0, 1.0])
    with pytest.raises(nm.ProblemError, match="installed"):
        nm.Certified("CLARABELL")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)))
    problem.solve(solver="CLARABEL")
    with pytest.raises(nm.ProblemError, match="certify_cvxpy"):
        nm.certificate_of(problem)
    assert nm.certify_cvxpy(cp.Problem(cp.Minimize(3.0))).certifies()
    problem.solve(solver=nm.Certified())
    assert nm.certificate_of(problem).value == pytest.approx(0.0, abs=1e-6)
