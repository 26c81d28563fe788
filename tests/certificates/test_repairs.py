"""Every repair and every floor against eigenvalues and closed forms."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models import kernel
from npkl_models.certificates import repairs
from npkl_models.certificates.repairs import MIXED, NO_REPAIR, RAY, SCALE, SHIFT
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


def floor_at(problem, y):
    return kernel.floor_of(y, kernel.slack(problem, y))


def poor(problem, size=30.0):
    """Multipliers whose slack is not PSD, their floor, and by how much the slack is not PSD."""
    terms = tuple(np.full(part.functional.size, size) for part in problem.losses)
    nus = tuple(part.project(np.full(part.functional.size, -size)) for part in problem.constraints)
    y = nm.Multipliers(terms, nus)
    return y, floor_at(problem, y), -lowest(problem, y)


def moves(problem, floor, inside=None):
    return [
        *repairs._on_diagonal(problem, floor),
        *repairs._along(problem, floor, repairs._anchors(problem, floor, inside)),
    ]


def by(name, problem, floor, inside=None):
    """The floor of the best repair of a name alone; None if none of them is proved."""
    found = repairs._cheapest(problem, floor, [m for m in moves(problem, floor, inside) if m.name == name])
    return None if found[0] == NO_REPAIR else found[1]


def mended(problem, floor):
    """The repaired multipliers; what eigvalsh leaves of a slack of norm about 60 is rounding."""
    assert floor is not None
    assert floor.proved
    bound = kernel.bound_of(problem, floor)
    assert bound.rigour == "proved"
    assert bound.value == pytest.approx(-problem.conjugate_sum(floor.y), rel=1e-9)
    assert bound.value <= -problem.conjugate_sum(floor.y)
    assert lowest(problem, floor.y) >= -1e-13
    return floor.y


def test_losses_and_equalities_on_the_diagonal_take_what_lacks_and_no_more():
    for parts, name in (((FREE, DIAGONAL), "losses"), ((FREE,), "constraints")):
        problem = nm.Problem(COST, (*parts, *([UNIT] if name == "constraints" else ())))
        y = problem.no_multipliers
        y.terms[0][:] = 30.0
        floor, eps = floor_at(problem, y), -lowest(problem, y)
        assert eps > 1
        better = mended(problem, by(SHIFT, problem, floor))
        assert lowest(problem, better) <= 1e-10
        np.testing.assert_allclose(getattr(better, name)[-1], getattr(y, name)[-1] + eps, rtol=1e-12)
        np.testing.assert_array_equal(better.terms[0], y.terms[0])


def test_low_vectors_on_few_points_raise_few_of_the_diagonal():
    """A slack that is PSD but for Diag(raised): the numbers that were raised are paid, and proved."""
    problem = nm.Problem(COST, (FREE, UNIT))
    y, floor, eps = poor(problem)
    own = kernel.slack(problem, y)
    raised = (2 * eps + np.array([0.0, 5, 0, 3, 0, 1])) * own.T**2
    local = replace(floor, lower=eps * float(own.T[0]) ** 2, found=replace(floor.found, raised=raised))
    assert not local.proved
    name, found = repairs.best_repair(problem, local)
    assert name == SHIFT
    better = mended(problem, found)
    np.testing.assert_allclose(better.constraints[0] - y.constraints[0], raised / own.T**2, rtol=1e-9)


def test_the_diagonal_may_be_shared_by_several_parts():
    halves = [nm.Constraint(nm.Entries(N, (ALL[a:b], ALL[a:b])), equal=1.0) for a, b in ((0, 3), (2, 6))]
    problem = nm.Problem(COST, (FREE, *halves))
    y, floor, _eps = poor(problem)
    better = mended(problem, by(SHIFT, problem, floor))
    units = floor.T**-2 / floor.T[0] ** -2
    np.testing.assert_allclose(
        better.constraints[0] - y.constraints[0], (better.constraints[0] - y.constraints[0])[0] * units[:3]
    )
    assert (better.constraints[1] - y.constraints[1])[0] == 0  # point 2 has one already
    assert np.all((better.constraints[1] - y.constraints[1])[1:] > 0)
    short = nm.Problem(COST, (FREE, halves[0]))
    assert by(SHIFT, short, poor(short)[1]) is None
    assert repairs.raised_diagonal(short, poor(short)[0], np.ones(N)) is None
    terms = [nm.LossTerm(part.functional, "square", 1.0) for part in halves]
    problem = nm.Problem(COST, (FREE, *terms))
    better = repairs.raised_diagonal(problem, y := poor(problem)[0], np.full(N, 2.0))
    np.testing.assert_allclose(better.terms[1] - y.terms[1], 2)
    np.testing.assert_allclose(better.terms[2] - y.terms[2], [0, 2, 2, 2])


def test_a_loss_whose_multipliers_may_not_grow_is_no_shift():
    below = nm.LossTerm(nm.Entries(N, (ALL, ALL)), "hinge", 1.0, 2.0)  # y in [-2, 0]
    problem = nm.Problem(COST, (FREE, below))
    y = nm.Multipliers((np.zeros(2), np.full(N, -0.5)))
    assert repairs.raised_diagonal(problem, y, np.ones(N)) is None
    assert repairs.raised_diagonal(problem, y, np.full(N, 0.25)) is not None


def test_scaling_is_by_what_the_cost_has_to_spare():
    problem = nm.Problem(COST, FREE)
    y, floor, eps = poor(problem, 9.0)
    assert eps > 0
    better = mended(problem, by(SCALE, problem, floor))
    delta = np.linalg.eigvalsh(COST)[0]
    share = better.terms[0] / y.terms[0]
    assert np.ptp(share) < 1e-12
    # the floors of cost and slack are in units of rows: no less is kept than the worst unit allows
    assert share[0] <= delta / (delta + eps) * (1 + 1e-9)
    if np.ptp(floor.T) == 0:
        np.testing.assert_allclose(share, delta / (delta + eps), rtol=1e-9)
    less = nm.Problem(COST - 5 * np.eye(N), FREE)
    assert by(SCALE, less, poor(less, 9.0)[1]) is None
    hinge = nm.Problem(COST, nm.LossTerm(FREE.functional, "hinge", 1.0))
    outside = nm.Multipliers((np.array([-50.0, 0.0]),))
    found = by(SCALE, hinge, floor_at(hinge, outside))
    assert found is None or hinge.losses[0].allows(found.y.terms[0]).all()  # never outside the domain


def test_multipliers_of_a_negative_cost_are_a_ray_of_their_own():
    problem = nm.Problem(-np.diag(np.arange(5.0, 11.0)) - 0.1, DIAGONAL)
    y = nm.Multipliers((np.arange(5.0, 11.0) + 0.1 - 0.7,))
    floor = floor_at(problem, y)
    assert not floor.proved
    better = mended(problem, by(RAY, problem, floor))
    assert np.all(better.terms[0] > y.terms[0])
    positive = nm.Problem(COST, (FREE, DIAGONAL))
    assert repairs._rewarding(problem)
    assert not repairs._rewarding(positive)


def test_rows_take_what_lacks():
    problem = nm.Problem(COST, FREE, nm.RowNormBound(1.5))
    _y, floor, eps = poor(problem)
    better = mended(problem, by(SHIFT, problem, floor))
    np.testing.assert_allclose(better.constraints[0], eps * floor.T**-2 / floor.T[0] ** -2, rtol=0.5)
    assert lowest(problem, better) <= 1e-9 or np.ptp(floor.T) > 0
    short = nm.Problem(COST, (FREE, nm.Constraint(nm.Entries(N, (ALL, ALL)), lower=1.5)))
    assert by(SHIFT, short, poor(short)[1]) is None  # these may only fall


def test_the_trace_takes_what_lacks():
    """An equality of the trace is a ray; so is a bound of the trace from above, and none from below."""
    for how, there in (({"equal": 3.0}, True), ({"upper": 3.0}, True), ({"lower": 3.0}, False)):
        problem = nm.Problem(COST, (FREE, nm.Constraint(nm.Trace(N), **how)))
        y, floor, _ = poor(problem)
        found = by(RAY, problem, floor)
        assert (found is not None) == there
        if found is not None:
            better = mended(problem, found)
            assert better.constraints[0][0] > y.constraints[0][0]
            np.testing.assert_array_equal(better.terms[0], y.terms[0])


def test_distances_take_the_lack_over_the_floor_of_their_laplacian():
    C = CENTRED.dense @ np.diag([1.0, 2, 3, 4, 5]) @ CENTRED.dense.T
    L = sum(np.outer(d, d) for d in np.eye(N)[:-1] - np.eye(N)[1:])
    floor = np.linalg.eigvalsh(CENTRED.dense.T @ L @ CENTRED.dense)[0]
    square, equal = nm.LossTerm(PATH, "square", 1.0), nm.Constraint(PATH, equal=2.0)
    for parts in ((square,), (FREE, equal)):
        problem = nm.Problem(C, parts, basis=CENTRED)
        y = nm.Multipliers(
            tuple(np.full(part.functional.size, -30.0) for part in problem.losses),
            (np.full(5, -30.0),) * (len(parts) - 1),
        )
        own = floor_at(problem, y)
        eps = -lowest(problem, y)
        assert eps > 1
        better = mended(problem, by(RAY, problem, own))
        np.testing.assert_allclose(better.terms[-1] - y.terms[-1], eps / floor, rtol=1e-6)
    open_ = nm.Problem(C, nm.LossTerm(nm.SquaredDistances(N, ([0], [1])), "square", 1.0), basis=CENTRED)
    below = nm.Multipliers((np.array([-30.0]),))
    assert by(RAY, open_, floor_at(open_, below)) is None


def test_equalities_on_some_of_the_diagonal_will_do_in_a_basis():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(N, 2)))[0]
    some = nm.Constraint(nm.Entries(N, ([0, 1, 2], [0, 1, 2])), equal=1.0)
    problem = nm.Problem(COST, (FREE, some), basis=nm.Basis(Q))
    floor = np.linalg.eigvalsh(problem.Q[:3].T @ problem.Q[:3])[0]
    y, own, eps = poor(problem)
    better = mended(problem, by(RAY, problem, own))
    np.testing.assert_allclose(better.constraints[0] - y.constraints[0], eps / floor, rtol=1e-6)
    single = nm.Problem(COST, (FREE, nm.Constraint(nm.Entries(N, ([0], [0])), equal=1.0)), basis=nm.Basis(Q))
    assert by(RAY, single, poor(single)[1]) is None


def test_points_that_share_a_row_share_its_equality():
    Q = np.zeros((N, 3))
    Q[[0, 1], 0], Q[[2, 3, 4], 1], Q[5, 2] = 0.5**0.5, 3**-0.5, 1.0
    own = nm.Constraint(nm.Entries(N, ([1, 3, 4, 5], [1, 3, 4, 5])), equal=1.0)
    problem = nm.Problem(COST, (FREE, own), basis=nm.Basis(sp.csr_array(Q)))
    assert problem.basis.shared is not None
    y, floor, eps = poor(problem)
    better = mended(problem, by(RAY, problem, floor))
    rise = better.constraints[0] - y.constraints[0]
    assert rise[2] == 0  # point 3 has the row already
    if np.ptp(floor.T) == 0:
        np.testing.assert_allclose(rise, [2 * eps, 3 * eps, 0, eps], rtol=1e-6)
    some = nm.Problem(
        COST, (FREE, nm.Constraint(nm.Entries(N, ([1, 5], [1, 5])), equal=1.0)), basis=problem.basis
    )
    assert by(RAY, some, poor(some)[1]) is None


@pytest.mark.parametrize("R", [NoRegularizer(), nm.RowNormBound(1.5)])
def test_the_price_of_the_diagonal_is_the_slope_of_the_bound(R):
    for problem in (nm.Problem(COST, (FREE, UNIT), R), nm.Problem(COST, (FREE, DIAGONAL), R)):
        y = poor(problem, 0.3)[0]
        price = repairs.diagonal_price(problem, y)
        for i in range(N):
            lifted = repairs.raised_diagonal(problem, y, 1e-6 * np.eye(N)[i])
            slope = (problem.conjugate_sum(lifted) - problem.conjugate_sum(y)) / 1e-6
            assert price[i] == pytest.approx(slope, rel=1e-4)
    assert repairs.diagonal_price(nm.Problem(COST, FREE), nm.Multipliers((np.zeros(2),))) is None


def test_the_best_repair_is_the_one_with_the_largest_bound():
    problem = nm.Problem(COST, (FREE, DIAGONAL, UNIT))
    _y, floor, _eps = poor(problem)
    every = [repairs._cheapest(problem, floor, [move]) for move in moves(problem, floor)]
    bounds = {name: kernel.bound_of(problem, found).value for name, found in every if name != NO_REPAIR}
    name, best = repairs.best_repair(problem, floor)
    assert len(bounds) > 1
    assert kernel.bound_of(problem, best).value == max(bounds.values()) == bounds[name]
    zero = floor_at(problem, problem.no_multipliers)
    assert repairs.best_repair(problem, zero) == ("none needed", zero)
    unknown = replace(floor, lower=-np.inf)
    assert repairs.best_repair(problem, unknown) == (repairs.NO_SPECTRUM, unknown)


def test_a_centre_that_a_solver_found_is_used():
    """Without a shift and without zero multipliers as a centre there is none but that of the solver."""
    problem = nm.Problem(COST - 5 * np.eye(N), (FREE, DIAGONAL))
    y, floor, eps = poor(problem, -9.0)
    centre = kernel.anchor(problem, nm.Multipliers((np.zeros(2), np.full(N, 10.0))), T=floor.T)
    found = by(MIXED, problem, floor, centre)
    better = mended(problem, found)
    t = eps / (eps + lowest(problem, centre.y))
    if np.ptp(floor.T) == 0:
        for old, new, end in zip(y.terms, better.terms, centre.y.terms, strict=True):
            np.testing.assert_allclose(new, (1 - t) * old + t * end, rtol=1e-6)
    assert by(MIXED, problem, floor) is None


@pytest.mark.parametrize("seed", range(10))
def test_every_move_that_is_proved_is_psd_whatever_the_units_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    d = np.ldexp(1.0, rng.integers(-30, 31, N))
    unit = nm.Constraint(nm.SparseMatrices(N, (ALL, ALL, ALL, d**-2.0)), equal=1.0 + ALL)
    pair = nm.LossTerm(
        nm.SparseMatrices(N, ([0, 1], [0, 2], [1, 3], 0.5 / d[[0, 2]] / d[[1, 3]])), "square", 1.0
    )
    problem = nm.Problem(COST / d / d[:, None], (pair, unit))
    plain = nm.Problem(COST, (replace(FREE, target=[1.0, 1.0], weight=[1.0, 1.0]), UNIT))
    y = nm.Multipliers((np.array([30.0, -20.0]),), (rng.normal(size=N) - 10,))
    for name in (SHIFT, SCALE, RAY):
        mine, other = by(name, problem, floor_at(problem, y)), by(name, plain, floor_at(plain, y))
        assert (mine is None) == (other is None)
        if mine is not None:
            S = dense(problem.slack(mine.y)) * d * d[:, None]
            assert np.linalg.eigvalsh(S)[0] >= -1e-12
            assert kernel.bound_of(problem, mine).value == pytest.approx(
                kernel.bound_of(plain, other).value, rel=1e-6
            )


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
    found = kernel.cost_floor(problem)
    if n > 400 and not basis and low > 0:  # the shift that Cholesky proves need not be sharp
        assert -1e-6 <= found <= true
    else:
        assert true - 1e-6 * abs(true) - 1e-9 <= found <= true + 1e-15
    assert kernel.cost_floor(nm.Problem(np.zeros((N, N)), FREE)) == 0.0


def test_traces_are_bounded_by_whatever_bounds_them_most():
    assert facts.trace_bound(nm.Problem(COST, FREE)) == np.inf
    assert facts.trace_bound(nm.Problem(COST, (FREE, UNIT))) == pytest.approx(21)
    least = nm.Constraint(nm.Trace(N), upper=7.0)
    assert facts.trace_bound(nm.Problem(COST, (FREE, UNIT, least))) == 7.0
    assert facts.trace_bound(nm.Problem(COST, (FREE, nm.Constraint(nm.Trace(N), lower=7.0)))) == np.inf
    assert facts.trace_bound(nm.Problem(COST, FREE, nm.TracePower(1, bound=3.0))) == pytest.approx(3)
    assert facts.trace_bound(nm.Problem(-np.eye(N), FREE)) == np.inf


def test_the_diagonal_that_equalities_fix_is_the_least_that_they_say():
    parts = [
        nm.Constraint(nm.Entries(N, ([0, 1, 2], [0, 1, 3])), equal=[3.0, 2.0, -9.0]),
        nm.Constraint(nm.Entries(N, ([1], [1])), equal=1.5),
    ]
    problem = nm.Problem(COST, (FREE, *parts))
    np.testing.assert_array_equal(facts.top_of_diagonal(problem), [3.0, 1.5, np.inf, np.inf, np.inf, np.inf])
    np.testing.assert_array_equal(parts[0].functional.on_diagonal, [True, True, False])
    assert not PATH.on_diagonal.any()
