"""The parts of a cone against their definitions, and the iteration on quadratics, equations and no interior."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.cvx.engine import followed
from npkl_models.cvx.forms import StandardForm, form_of, standard_form
from npkl_models.cvx.program import ConicProgram
from npkl_models.cvx.translation import equations, multipliers_of
from npkl_models.interior.second_order import SecondOrder

SIZES = (3, 1, 5)
HEADS = np.cumsum(SIZES) - SIZES
K = sum(SIZES)


def cones(seed, m=4):
    """Second-order cones of three sizes, and three points inside them."""
    rng = np.random.default_rng(seed)
    part = SecondOrder(np.arange(K), rng.normal(size=K), sp.csr_array(rng.normal(size=(m, K))), HEADS)
    points = rng.normal(size=(3, K))
    for x in points:
        for at, size in zip(HEADS, SIZES, strict=True):
            x[at] = np.linalg.norm(x[at + 1 : at + size]) + rng.random()
    return part, points


def product(x, y):
    """The Jordan product of each cone."""
    out = np.zeros(K)
    for at, size in zip(HEADS, SIZES, strict=True):
        a, b = x[at : at + size], y[at : at + size]
        out[at], out[at + 1 : at + size] = a @ b, a[0] * b[1:] + b[0] * a[1:]
    return out


@pytest.mark.parametrize("seed", range(3))
def test_second_order_cones_are_their_jordan_algebra(seed):
    part, (X, S, D) = cones(seed)
    Z = part.inverse(part.factor(S))
    np.testing.assert_allclose(product(S, Z), part.unit(1.0), atol=1e-12)
    triple = product(product(X, D), Z) + product(product(Z, D), X) - product(product(X, Z), D)
    np.testing.assert_allclose(part.between(X, D, Z), triple, rtol=1e-10, atol=1e-10)
    H = part.schur(X, Z, np.zeros((4, 4)))
    exact = [part.of(part.between(X, row, Z)) for row in part.A.toarray()]
    np.testing.assert_allclose(H, exact, rtol=1e-9, atol=1e-9 * np.abs(H).max())
    assert np.linalg.eigvalsh(H)[0] > 0
    step = part.longest(X, -3 * D, 1.0)
    ends = X - 3 * step * D
    inside = [ends[at] - np.linalg.norm(ends[at + 1 : at + n]) for at, n in zip(HEADS, SIZES, strict=True)]
    assert min(inside) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        part.factor(-X)


def conic(problem):
    """The program of CVXPY in conic form, with its quadratic objective."""
    return ConicProgram.of_data(problem.get_problem_data(nm.InteriorSolver())[0])


def run(program, standard):
    """The last point of a run on the program in one form."""
    form = standard_form(program) if standard else form_of(program)
    return followed(form, 1e-9, np.inf)[1], form


def max_cut(n=12):
    rng = np.random.default_rng(n)
    W, X = rng.normal(size=(n, n)), cp.Variable((n, n), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace((W + W.T) @ X)), [cp.diag(X) == 1, X[0, 1] <= 0.2])


def test_both_forms_reach_the_same_optimum():
    program = conic(max_cut())
    (one, form), (other, dual) = run(program, True), run(program, False)
    assert isinstance(form, StandardForm)
    assert form.own.box.b.size < dual.own.box.b.size
    assert one.value == pytest.approx(other.value, rel=1e-7)
    x = cp.Variable(3)
    assert standard_form(conic(cp.Problem(cp.Minimize(cp.norm(x - 1)), [x <= 0.5]))) is None
    for point in (one, other):
        assert max(point.gap, point.missed) <= 1e-8
        assert -program.b @ point.z == pytest.approx(point.value, rel=1e-7)


@pytest.mark.parametrize("n", [5, 12])
def test_a_quadratic_objective_stays_one(n):
    """The nearest correlation matrix: no cone of squares, and the projection's optimality conditions."""
    C = np.random.default_rng(n).normal(size=(n, n))
    X = cp.Variable((n, n), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X - C - C.T)), [X >> 0, cp.diag(X) == 1])
    assert conic(problem).P is not None
    assert not conic(problem).soc
    value = problem.solve(solver=nm.InteriorSolver())
    assert value == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-6)
    problem.solve(solver=nm.Certified())
    assert nm.certificate_of(problem).certifies(1e-6)


def corners(n=8):
    """Programs of a kernel alone: equations twice, contradictions, no interior, and optima of zero."""
    W, X = np.random.default_rng(n).normal(size=(n, n)), cp.Variable((n, n), PSD=True)
    cost, ones = cp.trace((W + W.T) @ X), cp.diag(X) == 1
    low = float(np.linalg.eigvalsh(W + W.T)[0])
    return {
        "twice": (cost, [ones, ones, cp.trace(X) == n], "optimal", None),
        "contradiction": (cost, [ones, cp.trace(X) == n + 1], "infeasible", np.inf),
        "negative trace": (cost, [cp.trace(X) == -1], "infeasible", np.inf),
        "no minor": (cost, [X[0, 0] == 1, X[1, 1] == 1, X[0, 1] == 2], "infeasible", np.inf),
        "one point": (cost, [cp.trace(X) == 0], "optimal", 0.0),
        "zero": (cp.trace(W @ W.T @ X), [X[0, 1] <= 1], "optimal", 0.0),
        "without end": (-cp.trace(X), [X[0, 0] == 1], "unbounded", -np.inf),
        "other units": (1e6 * cost, [1e-5 * cp.trace(X) == 1e3], "optimal", low * 1e14),
    }


@pytest.mark.parametrize("name", corners())
def test_corners_of_the_standard_form(name):
    cost, held, status, optimum = corners()[name]
    problem = cp.Problem(cp.Minimize(cost), held)
    assert isinstance(standard_form(conic(problem)), StandardForm)
    optimum = problem.solve(solver="CLARABEL") if optimum is None else optimum
    assert problem.solve(solver=nm.InteriorSolver()) == pytest.approx(optimum, rel=1e-6)
    assert problem.status == status
    if status != "unbounded":
        problem.solve(solver=nm.Certified())
        assert nm.certificate_of(problem).certifies(1e-6)


def test_cones_without_an_interior_end_with_the_least_residual():
    """Two inequalities that are one equation: no slack is positive."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x)), [x[0] + x[1] >= 1, x[0] + x[1] <= 1])
    assert problem.solve(solver=nm.InteriorSolver()) == pytest.approx(np.sqrt(0.5), rel=1e-6)
    assert problem.status == "optimal"


@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_one_equation_leave_before(seed):
    """x0 + N w solves the equations, N stays sparse, and multipliers follow one by one."""
    rng = np.random.default_rng(seed)
    inner = rng.normal(size=(3, 6)) * (rng.random((3, 6)) < 0.6)
    A = sp.csr_array(
        np.block([[inner, np.zeros((3, 4))], [rng.normal(size=(4, 6)), np.diag(rng.random(4) + 1)]])
    )
    b = A @ rng.normal(size=10)
    x0, N = equations(A, b, 10)
    np.testing.assert_allclose(A @ x0, b, atol=1e-10)
    np.testing.assert_allclose((A @ N).toarray(), 0.0, atol=1e-10)
    assert N.shape[1] == 10 - np.linalg.matrix_rank(A.toarray())
    z = rng.normal(size=7)
    np.testing.assert_allclose(A.T @ multipliers_of(A, A.T @ z), A.T @ z, atol=1e-10)


def test_every_iteration_is_shown_and_counted(caplog):
    problem = max_cut(6)
    with caplog.at_level("INFO", "npkl_models"):
        problem.solve(solver=nm.InteriorSolver())
    shown = [line for line in caplog.messages if line.startswith("InteriorSolver: iteration")]
    assert len(shown) == problem.solver_stats.num_iters > 3
    with pytest.raises(nm.UnsupportedError, match="unknown option of InteriorSolver 'eps'"):
        problem.solve(solver=nm.InteriorSolver(), eps=1e-3)


def test_a_time_limit_ends_between_two_iterations():
    problem = max_cut(60)
    with pytest.warns(UserWarning, match="inaccurate"):
        problem.solve(solver=nm.InteriorSolver(), time_limit=1e-3)
    assert problem.status == "user_limit"
    assert problem.solver_stats.num_iters == 1
