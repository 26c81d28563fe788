"""CVXPY: its own tests of solvers, its problems as problems here, and a judge of any solver's answer."""

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.tests import solver_test_helpers as helpers

import npkl_models as nm

OWN = ("StandardTestLPs", "StandardTestSOCPs", "StandardTestSDPs", "StandardTestInfeasibleProblems")
OTHER = ("mi_", "exp", "pcp", "pow", "bound_attr")  # integers, other cones, and bounds that are no rows


def standard():
    found = []
    for group in (getattr(helpers, name) for name in OWN):
        names = [name for name in vars(group) if name.startswith("test_")]
        found += [pytest.param(group, name, id=name) for name in names if not any(x in name for x in OTHER)]
    return found


@pytest.mark.filterwarnings("ignore:The problem has an expression with dimension greater than 2")
@pytest.mark.parametrize(("group", "name"), standard())
def test_the_tests_that_cvxpy_has_for_solvers(group, name):
    if name == "test_lp_7":  # it needs many digits, and asks SDPA's package whether it has them
        pytest.importorskip("sdpap")
    getattr(group, name)(solver=nm.InteriorSolver())


def random_problem(seed, kind):
    """A problem with semidefinite, linear and second-order parts; some without an interior or without a point."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    X, x, t = cp.Variable((n, n), symmetric=True), cp.Variable(3), cp.Variable()
    held = [X >> 0, cp.SOC(t, x), t <= 5, cp.trace(X) + cp.sum(x) <= 10.0, x >= -2]
    v = rng.standard_normal(n)
    inner = np.eye(n) if kind == "plain" else np.outer(v, v)  # the only feasible X may be of rank one
    for _ in range(m):
        A = rng.standard_normal((n, n))
        A = A + A.T
        held.append(cp.trace(A @ X) + x[0] == np.sum(A * inner) + 0.5)
    if kind == "degenerate":
        held.append(np.eye(n)[0] @ X @ np.eye(n)[0] + t <= v[0] ** 2 + 0.5)
    if kind == "infeasible":
        held.append(cp.trace(X) + t <= -1.0)
    C = rng.standard_normal((n, n))
    cost = cp.trace((C + C.T) @ X) + rng.standard_normal(3) @ x + 0.3 * t
    return cp.Problem(cp.Maximize(-cost) if seed % 2 else cp.Minimize(cost), held)


@pytest.mark.parametrize("kind", ["plain", "degenerate", "infeasible"])
@pytest.mark.parametrize("seed", range(12))
def test_random_problems_agree_with_clarabel(seed, kind):
    problem = random_problem(seed, kind)
    expected = problem.solve(solver="CLARABEL")
    status = problem.status
    found = problem.solve(solver=nm.InteriorSolver())
    assert problem.status == status
    if status == "optimal":
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)
        judged = nm.certify_cvxpy(problem)
        assert judged.certifies(1e-6), str(judged)
        assert judged.value == pytest.approx(problem.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_wrong_answer_is_refused(seed):
    problem = random_problem(seed, "plain")
    problem.solve(solver=nm.InteriorSolver())
    assert nm.certify_cvxpy(problem).certifies()
    kept = [v.value.copy() for v in problem.variables()]
    for v, value in zip(problem.variables(), kept, strict=True):
        v.value = 1.01 * value
        assert not nm.certify_cvxpy(problem).certifies(), v
        v.value = value
    assert nm.certify_cvxpy(problem).certifies()
    for c in problem.constraints[:2]:
        for one in c.dual_variables:
            value = one.value
            one.save_value(1.01 * np.asarray(value) + 0.01)
            judged = nm.certify_cvxpy(
                problem, budget=0.0
            )  # no solve of our own: other proposals, true bounds
            assert judged.lower - 1e-6 <= problem.value <= judged.upper + 1e-6, c
            assert nm.certify_cvxpy(problem).certifies()
            one.save_value(value)


def test_norms_need_variables_that_cvxpy_adds():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.norm(x - np.array([1.0, 2.0, 3.0])) + cp.norm(x, 1)))
    problem.solve(solver=nm.InteriorSolver())
    assert problem.value == pytest.approx(np.sqrt(14.0), abs=1e-6)


def test_a_solution_of_the_problem_goes_back_into_cvxpy():
    problem = random_problem(1, "plain")
    expected = problem.solve(solver="CLARABEL")
    stated = nm.Problem.from_cvxpy(problem)
    assert nm.into_cvxpy(stated.solve("interior"), problem) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(nm.ProblemError, match="from_cvxpy"):
        nm.into_cvxpy(nm.Problem(np.eye(3), nm.Constraint(nm.Trace(3), equal=1.0)).solve("interior"), problem)


def test_what_has_other_cones_is_refused():
    x = cp.Variable(2)
    with pytest.raises(nm.UnsupportedError, match="linear, second-order and semidefinite cones only"):
        nm.Problem.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= 1]))
    with pytest.raises(nm.ProblemError, match=r"must be a cvxpy\.Problem"):
        nm.Problem.from_cvxpy(np.eye(2))
    with pytest.raises(nm.ProblemError, match="solve first"):
        nm.certify_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]))


def status_of(problem):
    problem.solve(solver=nm.InteriorSolver())
    return problem.status, problem.value


def rows_of_any_size():
    """Programs whose equations have rows of very different sizes, or make the rest cancel."""
    x = cp.Variable(2)
    yield x[1], [1e6 * x[0] == 1e6, 1e-6 * x[1] == 1e-6, x[1] >= -5], 1.0
    yield x[1], [1e6 * x[0] == 1e6, 1e-6 * x[1] == 1e-6, x[0] >= -5], 1.0
    yield x[1], [1e6 * x[0] == 0, 1e-6 * x[1] == 1, x[1] >= -5], 1e6
    yield x[0], [x[0] == 1, x[0] == 2, x[1] == 1e8], np.inf
    yield x[0], [x[0] == 1, x[0] == 1.05, x[1] == 1e8, x >= 0], np.inf
    yield 1e-8 * x[0], [x[1] == 1], -np.inf
    y = cp.Variable(3)
    yield cp.sum(y), [cp.sum(y) == 1, y[0] >= 0], 1.0
    z = cp.Variable(5)
    yield z[0], [cp.sum(z) == 5, z >= 1], 1.0
    X = cp.Variable((3, 3), symmetric=True)
    f = cp.trace(X) + 3 * X[0, 1]
    yield f, [f == 7, X[:2, :2] >> 0], 7.0
    yield -x[0], [x[0] >= 3], -np.inf


@pytest.mark.parametrize("k", range(10))
def test_equations_of_any_size(k):
    cost, held, expected = list(rows_of_any_size())[k]
    status, value = status_of(cp.Problem(cp.Minimize(cost), held))
    words = {np.inf: "infeasible", -np.inf: "unbounded"}.get(expected, "optimal")
    assert status == words
    assert value == pytest.approx(expected, rel=1e-6)


TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def test_a_judge_sees_every_number_that_is_given():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(1e8 * (x[0] + 2 * x[1])), [1e8 * x[0] >= 1, 1e8 * x[1] >= 1])
    problem.solve(**TIGHT)
    assert nm.certify_cvxpy(problem).certifies()
    v = cp.Variable()
    problem = cp.Problem(cp.Minimize(1e8 * v), [1e8 * v >= 1])
    problem.solve(**TIGHT)
    v.save_value(np.array(40e-8))
    assert not nm.certify_cvxpy(problem).certifies()
    H, M = cp.Variable((2, 2), hermitian=True), np.array([[2, 1j], [-1j, 3]])
    problem = cp.Problem(cp.Minimize(cp.real(cp.trace(H @ M))), [H >> 0, cp.real(cp.trace(H)) == 1])
    problem.solve(**TIGHT)
    assert nm.certify_cvxpy(problem).certifies()
    H.save_value(H.value.conj())
    assert not nm.certify_cvxpy(problem).certifies()
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 1])
    problem.solve(**TIGHT)
    assert nm.certify_cvxpy(problem).certifies()
    X.save_value(X.value + np.array([[0, 1.0], [-1, 0]]))
    assert not nm.certify_cvxpy(problem).certifies()


def test_a_solution_of_another_problem_is_not_written():
    def stated(a):
        x = cp.Variable(2)
        return cp.Problem(cp.Minimize(cp.sum(x)), [x >= a])

    with pytest.raises(nm.ProblemError, match="from_cvxpy"):
        nm.into_cvxpy(nm.Problem.from_cvxpy(stated(1.0)).solve("interior"), stated(5.0))
