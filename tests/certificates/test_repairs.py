"""Every repair and every floor against eigenvalues and closed forms."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certificates import repairs
from npkl_models.linalg import dense
from npkl_models.model import facts
from npkl_models.model.regularizers import NoRegularizer

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
FREE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "square", [1.0, -1.0], [2.0, 0.5])
DIAGONAL = nm.LossTerm(nm.Entries(N, (ALL, ALL)), "square", 1.0 + ALL, 1.0 / (1 + ALL))
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0 + ALL)
PATH = nm.SquaredDistances(N, (ALL[:-1], ALL[1:]))
CENTRED = nm.Basis(np.linalg.qr(np.eye(N)[:, 1:] - 1 / N)[0])


def lowest(problem, y):
    return np.linalg.eigvalsh(dense(problem.restrict(problem.slack(y))))[0] + problem.regularizer.shift


def poor(problem, size=30.0):
    """Multipliers whose slack is not PSD, and by how much."""
    terms = tuple(np.full(part.functional.size, size) for part in problem.losses)
    nus = tuple(part.project(np.full(part.functional.size, -size)) for part in problem.constraints)
    y = nm.Multipliers(terms, nus)
    return y, -lowest(problem, y)


def mended(problem, y, found, eps, level=0.0):
    """The repaired multipliers; what eigvalsh leaves of a slack of norm about 60 is rounding."""
    bound, better = found
    assert bound == pytest.approx(-problem.conjugate_sum(better), rel=1e-9)
    assert bound <= -problem.conjugate_sum(better)
    assert lowest(problem, better) >= level - 1e-13
    return better


def test_losses_and_equalities_on_the_diagonal_take_what_lacks_and_no_more():
    for parts, name in (((FREE, DIAGONAL), "losses"), ((FREE,), "constraints")):
        problem = nm.Problem(COST, (*parts, *([UNIT] if name == "constraints" else ())))
        y, eps = poor(problem)
        repair = repairs.shift if name == "losses" else repairs.constraint_shift
        better = mended(problem, y, repair(problem, y, eps, np.inf), eps)
        assert lowest(problem, better) <= 1e-10
        np.testing.assert_allclose(getattr(better, name)[-1], getattr(y, name)[-1] + eps, rtol=1e-12)
        np.testing.assert_array_equal(better.terms[0], y.terms[0])
        each = eps + ALL.astype(float)
        np.testing.assert_allclose(
            getattr(repair(problem, y, each, np.inf)[1], name)[-1], getattr(y, name)[-1] + each
        )


def test_the_diagonal_may_be_shared_by_several_parts():
    halves = [nm.Constraint(nm.Entries(N, (ALL[a:b], ALL[a:b])), equal=1.0) for a, b in ((0, 3), (2, 6))]
    problem = nm.Problem(COST, (FREE, *halves))
    y, eps = poor(problem)
    better = mended(problem, y, repairs.constraint_shift(problem, y, eps, np.inf), eps)
    np.testing.assert_allclose(better.constraints[0] - y.constraints[0], eps)
    np.testing.assert_allclose(
        better.constraints[1] - y.constraints[1], [0, eps, eps, eps]
    )  # point 2 has one already
    short = nm.Problem(COST, (FREE, halves[0]))
    assert repairs.constraint_shift(short, poor(short)[0], 1.0, np.inf) is None
    assert repairs.shift(short, poor(short)[0], 1.0, np.inf) is None
    terms = [nm.LossTerm(part.functional, "square", 1.0) for part in halves]
    problem = nm.Problem(COST, (FREE, *terms))
    better = repairs.shift(problem, y := poor(problem)[0], 2.0, np.inf)[1]
    np.testing.assert_allclose(better.terms[1] - y.terms[1], 2)
    np.testing.assert_allclose(better.terms[2] - y.terms[2], [0, 2, 2, 2])


def test_a_loss_whose_multipliers_may_not_grow_is_no_shift():
    below = nm.LossTerm(nm.Entries(N, (ALL, ALL)), "hinge", 1.0, 2.0)  # y in [-2, 0]
    problem = nm.Problem(COST, (FREE, below))
    y = nm.Multipliers((np.zeros(2), np.full(N, -0.5)))
    assert repairs.shift(problem, y, 1.0, np.inf) is None
    assert repairs.shift(problem, y, 0.25, np.inf) is not None


def test_scaling_is_by_what_the_cost_has_to_spare():
    problem = nm.Problem(COST, FREE)
    y, eps = poor(problem, 9.0)
    assert eps > 0
    better = mended(problem, y, repairs.scale(problem, y, eps, np.inf), eps)
    delta = np.linalg.eigvalsh(COST)[0]
    np.testing.assert_allclose(better.terms[0], y.terms[0] * delta / (delta + eps), rtol=1e-9)
    assert repairs.scale(nm.Problem(COST - 5 * np.eye(N), FREE), y, eps, np.inf) is None
    far = nm.Multipliers((np.array([np.inf, 0.0]),))
    hinge = nm.Problem(COST, nm.LossTerm(FREE.functional, "hinge", 1.0))
    assert repairs.scale(hinge, nm.Multipliers((np.array([-50.0, 0.0]),)), 0.1, np.inf) is None
    assert far.terms[0][0] == np.inf


def test_scaling_up_is_by_what_a_negative_cost_has_to_spare():
    problem = nm.Problem(-np.diag(np.arange(5.0, 11.0)) - 0.1, DIAGONAL)  # -C is above 4.5 by Gershgorin
    y = nm.Multipliers((np.arange(5.0, 11.0) + 0.1 - 0.7,))
    eps = -lowest(problem, y)
    better = mended(problem, y, repairs.scale_up(problem, y, eps, np.inf), eps)
    delta = 5.1 - 0.5
    assert repairs._negative_floor(sp.csr_array(problem.cost)) == pytest.approx(delta)
    np.testing.assert_allclose(better.terms[0], y.terms[0] * delta / (delta - eps), rtol=1e-9)
    assert repairs.scale_up(problem, y, 5.0, np.inf) is None
    assert repairs.scale_up(nm.Problem(COST, DIAGONAL), y, 0.1, np.inf) is None


def test_a_floor_by_circles_is_below_the_spectrum_and_exact_on_diagonals():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.normal(size=(N, N))
        C = A + A.T
        low = repairs._negative_floor(sp.csr_array(C))
        circles = np.min(-C.diagonal() - np.abs(C).sum(axis=1) + np.abs(C.diagonal()))
        assert low <= np.linalg.eigvalsh(-C)[0]
        assert circles - 1e-13 <= low <= circles
    assert repairs._negative_floor(sp.csr_array(np.diag([-1.0, -3.0]))) == 1.0


def test_rows_take_what_lacks():
    problem = nm.Problem(COST, FREE, nm.RowNormBound(1.5))
    y, eps = poor(problem)
    better = mended(problem, y, repairs.constraint_shift(problem, y, eps, np.inf), eps)
    np.testing.assert_allclose(better.constraints[0], eps, rtol=1e-12)
    short = nm.Problem(COST, (FREE, nm.Constraint(nm.Entries(N, (ALL, ALL)), lower=1.5)))
    assert repairs.constraint_shift(short, *poor(short), np.inf) is None  # these may only fall


def test_the_trace_pays_for_what_lacks():
    problem = nm.Problem(COST, (FREE, UNIT))
    y, eps = poor(problem)
    bound, same = repairs.trace(problem, y, eps, np.inf)
    assert same is y
    assert bound == pytest.approx(-problem.conjugate_sum(y) - 21 * eps, rel=1e-12)
    assert bound <= -problem.conjugate_sum(y) - 21 * eps
    assert repairs.trace(nm.Problem(COST, FREE), y, eps, np.inf) is None


def test_distances_take_the_lack_over_the_floor_of_their_laplacian():
    C = CENTRED.dense @ np.diag([1.0, 2, 3, 4, 5]) @ CENTRED.dense.T
    L = sum(np.outer(d, d) for d in np.eye(N)[:-1] - np.eye(N)[1:])
    floor = np.linalg.eigvalsh(CENTRED.dense.T @ L @ CENTRED.dense)[0]
    square, equal = nm.LossTerm(PATH, "square", 1.0), nm.Constraint(PATH, equal=2.0)
    for parts in ((square,), (FREE, equal)):
        problem = nm.Problem(C, parts, basis=CENTRED)
        assert 0.999999 * floor < facts.distance_floor(problem) <= floor
        y = poor(problem)[0]
        eps = max(-lowest(problem, y), 0.5)
        better = mended(
            problem, y, repairs.distances(problem, y, eps, np.inf), eps, -1e-12 if eps > 0.5 else 0
        )
        mine, other = (better.terms[-1:], y.terms[-1:])
        np.testing.assert_allclose(mine[0] - other[0], eps / floor, rtol=1e-6)
    assert facts.distance_floor(nm.Problem(C, FREE, basis=CENTRED)) == -np.inf
    open_ = nm.Problem(C, nm.LossTerm(nm.SquaredDistances(N, ([0], [1])), "square", 1.0), basis=CENTRED)
    assert facts.distance_floor(open_) <= 0
    assert repairs.distances(open_, poor(open_)[0], 1.0, np.inf) is None


def test_equalities_on_some_of_the_diagonal_will_do_in_a_basis():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(N, 2)))[0]
    some = nm.Constraint(nm.Entries(N, ([0, 1, 2], [0, 1, 2])), equal=1.0)
    problem = nm.Problem(COST, (FREE, some), basis=nm.Basis(Q))
    floor = np.linalg.eigvalsh(problem.Q[:3].T @ problem.Q[:3])[0]
    assert 0.999999 * floor < facts.diagonal_floor(problem) <= floor
    y, eps = poor(problem)
    better = mended(problem, y, repairs.constraint_shift(problem, y, float(eps), np.inf), eps)
    np.testing.assert_allclose(better.constraints[0] - y.constraints[0], eps / floor, rtol=1e-6)
    single = nm.Problem(COST, (FREE, nm.Constraint(nm.Entries(N, ([0], [0])), equal=1.0)), basis=nm.Basis(Q))
    assert repairs.constraint_shift(single, poor(single)[0], 1.0, np.inf) is None


def test_points_that_share_a_row_share_its_equality():
    Q = np.zeros((N, 3))
    Q[[0, 1], 0], Q[[2, 3, 4], 1], Q[5, 2] = 0.5**0.5, 3**-0.5, 1.0
    own = nm.Constraint(nm.Entries(N, ([1, 3, 4, 5], [1, 3, 4, 5])), equal=1.0)
    problem = nm.Problem(COST, (FREE, own), basis=nm.Basis(sp.csr_array(Q)))
    assert problem.basis.shared is not None
    y, eps = poor(problem)
    better = mended(problem, y, repairs.constraint_shift(problem, y, float(eps), np.inf), eps)
    np.testing.assert_allclose(
        better.constraints[0] - y.constraints[0], [2 * eps, 3 * eps, 0, eps], rtol=1e-9
    )
    some = nm.Problem(
        COST, (FREE, nm.Constraint(nm.Entries(N, ([1, 5], [1, 5])), equal=1.0)), basis=problem.basis
    )
    assert repairs.constraint_shift(some, poor(some)[0], 1.0, np.inf) is None


@pytest.mark.parametrize("R", [NoRegularizer(), nm.RowNormBound(1.5)])
def test_the_price_of_the_diagonal_is_the_slope_of_the_bound(R):
    for problem in (nm.Problem(COST, (FREE, UNIT), R), nm.Problem(COST, (FREE, DIAGONAL), R)):
        y = poor(problem, 0.3)[0]
        price = repairs.diagonal_price(problem, y)
        name = next(k for k, repair in repairs.DIAGONAL.items() if repair(problem, y, np.ones(N), np.inf))
        for i in range(N):
            lifted = repairs.DIAGONAL[name](problem, y, 1e-6 * np.eye(N)[i], np.inf)[1]
            slope = (problem.conjugate_sum(lifted) - problem.conjugate_sum(y)) / 1e-6
            assert price[i] == pytest.approx(slope, rel=1e-4)
    assert repairs.diagonal_price(nm.Problem(COST, FREE), nm.Multipliers((np.zeros(2),))) is None


def test_a_balanced_slack_is_orthogonal_to_the_point():
    problem = nm.Problem(sp.csr_array(COST), (FREE, UNIT))
    y = nm.Multipliers((np.zeros(2),), (np.zeros(N),))
    V = np.random.default_rng(0).normal(size=(N, 2))
    better, S = repairs.balanced(problem, y, V, problem.slack(y), 0.0)
    assert np.sum(V * (S @ V)) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(problem.slack(better).toarray(), S.toarray(), atol=1e-12)
    level = np.sum(V * (COST @ V)) / np.sum(V**2)
    np.testing.assert_allclose(better.constraints[0], -level)
    below = nm.Multipliers((np.zeros(2),), (np.full(N, -50.0),))
    assert repairs.balanced(problem, below, V, S, 0.0)[0] is below


def test_the_best_repair_is_the_one_with_the_largest_bound():
    problem = nm.Problem(COST, (FREE, DIAGONAL, UNIT))
    y, eps = poor(problem)
    every = {name: repair(problem, y, eps, np.inf) for name, repair in repairs.REPAIRS.items()}
    bounds = {name: found[0] for name, found in every.items() if found is not None}
    name, bound, _ = repairs.best_repair(problem, y, eps, np.inf)
    assert len(bounds) > 2
    assert bound == max(bounds.values()) == bounds[name]
    local = repairs.best_repair(problem, y, eps, np.inf, np.ones(N))
    assert local[0] in ("local shift", "local constraint shift")
    assert local[1] == max(
        repair(problem, y, eps + np.ones(N), np.inf)[0]
        for repair in (repairs.shift, repairs.constraint_shift)
    )
    assert repairs.best_repair(problem, y, 0.0, np.inf)[0] == "none needed"
    assert repairs.best_repair(problem, y, 0.0, np.inf, np.ones(N))[0] != "none needed"
    assert repairs.best_repair(problem, y, np.inf, np.inf) == (repairs.NO_SPECTRUM, -np.inf, y)


@pytest.mark.parametrize("low", [-1.0, 0.5])
@pytest.mark.parametrize("n", [30, 450])
@pytest.mark.parametrize("basis", [False, True])
def test_the_floor_of_a_cost_is_its_lowest_eigenvalue(n, low, basis):
    rng = np.random.default_rng(n)
    A = sp.diags_array(rng.uniform(1, 3, n)) + sp.random_array((n, n), density=3 / n, rng=rng)
    C = dense(A + A.T)
    C += (low - np.linalg.eigvalsh(C)[0]) * np.eye(n)
    Q = np.linalg.qr(rng.normal(size=(n, 5)))[0] if basis else None
    problem = nm.Problem(
        C, nm.LossTerm(nm.Entries(n, ([0], [1])), "square", 1.0), basis=nm.Basis(Q) if basis else None
    )
    true = np.linalg.eigvalsh(problem.Q.T @ C @ problem.Q)[0] if basis else low
    found = facts.cost_floor(problem)
    if n > 400 and not basis and low > 0:  # the shift that Cholesky proves need not be sharp
        assert -1e-6 <= found <= true
    else:
        assert true - 1e-6 * abs(true) - 1e-9 <= found <= true + 1e-15
    assert facts.cost_floor(nm.Problem(np.zeros((N, N)), FREE)) == 0.0


def test_traces_are_bounded_by_whatever_bounds_them_most():
    plain = nm.Problem(COST, FREE)
    assert facts.trace_bound(plain, 10.0) == pytest.approx(10 / np.linalg.eigvalsh(COST)[0], rel=1e-9)
    assert facts.trace_bound(plain, 10.0) >= 10 / np.linalg.eigvalsh(COST)[0]
    assert facts.trace_bound(plain, np.inf) == np.inf
    assert facts.trace_bound(nm.Problem(COST, (FREE, UNIT)), 1e9) == pytest.approx(21)
    assert facts.trace_bound(nm.Problem(COST, (FREE, UNIT)), 1.0) < 1
    linear = nm.LossTerm(FREE.functional, "linear", 1.0)
    assert facts.trace_bound(nm.Problem(COST, linear), 10.0) == np.inf
    assert facts.trace_bound(nm.Problem(COST, FREE, nm.TracePower(1, bound=3.0)), 1e9) == pytest.approx(3)
    negative = nm.Problem(-np.eye(N), FREE)
    assert facts.trace_bound(negative, 10.0) == np.inf


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_square_losses_on_the_diagonal_bound_the_trace_by_cauchy_schwarz(mu):
    problem = nm.Problem(-mu * np.eye(N), DIAGONAL)
    W, total, upper = np.sum(1 / DIAGONAL.weight), np.sum(DIAGONAL.target), 5.0
    x = np.roots([1, -W * mu, -W * (upper + mu * total)]).max()
    found = facts._from_diagonal_losses(problem, upper, mu)
    assert found == pytest.approx(total + x, rel=1e-12)
    assert found >= total + x - 1e-12
    assert facts._from_diagonal_losses(nm.Problem(COST, FREE), upper, mu) == np.inf
    assert facts._from_diagonal_losses(problem, upper, np.inf) == np.inf
    assert facts.trace_bound(problem, upper) == pytest.approx(found, rel=1e-12)


def test_the_diagonal_that_equalities_fix_is_the_least_that_they_say():
    parts = [
        nm.Constraint(nm.Entries(N, ([0, 1, 2], [0, 1, 3])), equal=[3.0, 2.0, -9.0]),
        nm.Constraint(nm.Entries(N, ([1], [1])), equal=1.5),
    ]
    problem = nm.Problem(COST, (FREE, *parts))
    np.testing.assert_array_equal(facts.top_of_diagonal(problem), [3.0, 1.5, np.inf, np.inf, np.inf, np.inf])
    np.testing.assert_array_equal(parts[0].functional.on_diagonal, [True, True, False])
    assert not PATH.on_diagonal.any()


def test_a_factor_that_goes_to_zero_lowers_no_slack():
    """Its inner product with the slack is next to nothing, whatever the slack is there."""
    problem = nm.Problem(COST, (FREE, DIAGONAL))
    y = nm.Multipliers((np.zeros(2), np.zeros(N)))
    V = 1e-9 * np.random.default_rng(0).standard_normal((N, 2))
    S = problem.slack(y)
    assert repairs.balanced(problem, y, V, S, 0.0)[0] is not y
    kept, same = repairs.balanced(problem, y, V, S, 1e-8)
    assert kept is y
    assert same is S
