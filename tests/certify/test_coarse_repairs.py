"""Repairs on a machine with few digits: every margin has its sign, its size and its place."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import repairs
from npkl_models.model import facts, rounding

N, ALL, U = 4, np.arange(4), 2.0**-8
COST = np.diag([2.0, 3, 4, 5])
FREE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "square", [1.0, -1.0], [2.0, 0.5])
EVERY = nm.Entries(N, (ALL, ALL))
PENALTY = nm.TracePower(1, penalty=0.5)


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    monkeypatch.setattr(repairs, "UNIT", U)


def zero(problem):
    return problem.no_multipliers


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def test_equalities_in_a_basis_grow_by_more_than_the_lack_over_the_floor():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(N, 2)))[0]
    some = nm.Constraint(nm.Entries(N, ([0, 1, 2, 0], [0, 1, 2, 3])), equal=1.0)
    problem = nm.Problem(COST, (FREE, some), basis=nm.Basis(Q))
    bound, y = repairs.constraint_shift(problem, zero(problem), 0.5, np.inf)
    t = 0.5 / facts.diagonal_floor(problem) * (1 + 4 * U)
    assert y.constraints[0] == near([t, t, t, 0])
    assert bound == near(-3 * t)
    assert repairs.constraint_shift(problem, zero(problem), np.full(N, 0.5), np.inf) is None
    plain = nm.Problem(COST, (FREE, some))
    assert repairs.constraint_shift(plain, zero(plain), 0.5, np.inf) is None


def test_an_equality_of_a_group_grows_by_more_than_the_lack_over_its_share():
    Q = np.zeros((N, 2))
    Q[:3, 0], Q[3, 1] = 3**-0.5, 1.0
    own = [
        nm.Constraint(nm.Entries(N, ([2, 1], [1, 1])), equal=1.0),
        nm.Constraint(nm.Entries(N, ([0, 3], [0, 3])), equal=2.0),
    ]
    problem = nm.Problem(COST, (FREE, *own), basis=nm.Basis(sp.csr_array(Q)))
    bound, y = repairs.constraint_shift(problem, zero(problem), 0.5, np.inf)
    assert y.constraints[0] == near([0, 1.5 * (1 + 8 * U)])
    assert y.constraints[1] == near([0, 0.5 * (1 + 8 * U)])
    assert bound == near(-2.5 * (1 + 8 * U))


def test_distances_grow_by_more_than_the_lack_over_their_floor():
    centred = nm.Basis(np.linalg.qr(np.eye(N)[:, 1:] - 1 / N)[0])
    path = nm.SquaredDistances(N, (ALL[:-1], ALL[1:]))
    problem = nm.Problem(COST, (FREE, nm.LossTerm(path, "square", 0.0)), basis=centred)
    t = 0.5 / facts.distance_floor(problem) * (1 + 4 * U)
    _, y = repairs.distances(problem, zero(problem), 0.5, np.inf)
    assert y.terms[1] == near(np.full(3, t))
    np.testing.assert_array_equal(y.terms[0], 0.0)
    sides = nm.LossTerm(path, "hinge", [1.0, -1.0, -1.0], 99.0)  # the first may only fall
    closed = nm.Problem(COST, (FREE, sides), basis=centred)
    assert repairs.distances(closed, zero(closed), 0.5, np.inf) is None
    reverse = nm.LossTerm(path, "hinge", -1.0, 99.0)
    assert repairs.distances(
        nm.Problem(COST, reverse, basis=centred), nm.Multipliers((np.zeros(3),)), 0.5, 0.0
    )


def test_scaling_leaves_room_for_the_rounding_of_what_is_scaled():
    problem = nm.Problem(0.1 * COST, FREE, PENALTY)
    y = nm.Multipliers((np.array([6.0, -3.0]),))
    delta = 0.2 + 0.5
    assert facts.cost_floor(problem) + 0.5 == near(delta)
    eps = 0.5 + 4 * U * rounding.multiplier_sizes(problem, y)
    _, less = repairs.scale(problem, y, 0.5, np.inf)
    assert less.terms[0] == near(y.terms[0] * delta / (delta + eps) * (1 - 8 * U))
    one_sided = nm.LossTerm(FREE.functional, "hinge", 1.0)
    outside = nm.Multipliers((np.array([-50.0, -0.1]),))
    assert repairs.scale(nm.Problem(COST, one_sided), outside, 0.5, np.inf) is None
    assert repairs.scale(nm.Problem(COST, one_sided), outside.scaled(0.01), 0.5, np.inf) is not None


def test_stretching_leaves_room_for_the_rounding_of_what_is_stretched():
    problem = nm.Problem(-COST, FREE, PENALTY)
    y = nm.Multipliers((np.array([1.0, -3.0]),))
    delta = repairs._negative_floor(problem.cost) - 0.5
    eps = 0.5 + 4 * U * rounding.multiplier_sizes(problem, y)
    assert 0.5 < eps < delta
    _, more = repairs.stretch(problem, y, 0.5, np.inf)
    assert more.terms[0] == near(y.terms[0] * delta / (delta - eps) * (1 + 8 * U))
    one_sided = nm.LossTerm(FREE.functional, "hinge", 1.0)
    outside = nm.Multipliers((np.array([-50.0, -0.1]),))
    assert repairs.stretch(nm.Problem(-COST, one_sided), outside, 0.1, np.inf) is None
    assert repairs.stretch(nm.Problem(-COST, one_sided), outside.scaled(0.01), 0.1, np.inf) is not None


def test_nothing_is_stretched_where_nothing_lacks_or_all_does():
    problem = nm.Problem(-COST, FREE)
    none = nm.Multipliers((np.zeros(2),))
    assert repairs.stretch(problem, none, 0.0, np.inf) is None
    floor = repairs._negative_floor(problem.cost)
    assert repairs.stretch(problem, none, floor, np.inf) is None
    assert repairs.stretch(problem, none, floor * (1 - 1e-9), np.inf) is not None


def test_circles_have_a_margin_of_their_sums():
    """A row with anything beside the diagonal loses n + 2 units of its sum with the diagonal twice."""
    C = sp.csr_array([[-4.0, 1, 0, 0], [1, -8, 2, 0], [0, 2, -5, 0], [0, 0, 0, -9]])
    rows = [4 - 1 - 6 * U * (1 + 8), 8 - 3 - 6 * U * (3 + 16), 5 - 2 - 6 * U * (2 + 10), 9]
    assert repairs._negative_floor(C) == near(min(rows))
    assert repairs._negative_floor(C[[0, 3]][:, [0, 3]]) == 4.0
    assert repairs._negative_floor(C + sp.diags_array([-99.0, 0, 0, 0])) == near(min(rows[1:]))


def test_the_trace_pays_with_two_margins():
    problem = nm.Problem(COST, (FREE, nm.Constraint(EVERY, equal=[1.0, 2, 3, 4])))
    for sign in (1.0, -1.0):
        y = nm.Multipliers((np.zeros(2),), (np.full(N, sign),))
        tau = facts.trace_bound(problem, np.inf)
        bound, _ = repairs.trace(problem, y, 0.5, np.inf)
        assert bound == near(-10 * sign - tau * 0.5 * (1 + 4 * U) - 2 * U * 10)


def test_nothing_is_needed_or_nothing_applies():
    problem = nm.Problem(COST, FREE)
    y = nm.Multipliers((np.array([1.0, 1.0]),))
    assert repairs.best_repair(problem, y, 0.0, np.inf) == ("none needed", -rounding.paid(problem, y), y)
    assert rounding.paid(problem, y) > 0.1
    local = repairs.best_repair(problem, y, 0.5, np.inf, np.ones(N))
    assert local == (repairs.NO_REPAIR, -np.inf, y)


def test_the_strictly_feasible_point_is_the_last_resort(monkeypatch):
    L = np.array([[1.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]])
    held = nm.LossTerm(nm.Entries(N, ([0], [0])), "square", 1.0)
    problem = nm.Problem(L, held)
    y = nm.Multipliers((np.zeros(1),))
    with np.errstate(all="ignore"):
        name, bound, mixed = repairs.best_repair(problem, y, 0.01, np.inf)
    assert name == "Slater point"
    assert mixed.terms[0][0] > 0
    assert np.isfinite(bound)
    assert repairs.best_repair(problem, y, 0.01, np.inf, np.ones(N))[0] == repairs.NO_REPAIR
    monkeypatch.setattr(repairs, "slater", lambda *a: None)
    assert repairs.best_repair(problem, y, 0.01, np.inf) == (repairs.NO_REPAIR, -np.inf, y)


@pytest.mark.parametrize("penalty", [0.5, None])
def test_balancing_takes_the_shift_into_account(penalty):
    R = nm.TracePower(1, penalty=penalty) if penalty else None
    given = (sp.csr_array(0.1 * COST), (FREE, nm.Constraint(EVERY, equal=1.0)))
    problem = nm.Problem(*given, R) if R else nm.Problem(*given)
    V = np.eye(N)[:, :2]
    level = 0.25 + (penalty or 0.0)
    better, S = repairs.balanced(problem, zero(problem), V, problem.slack(zero(problem)), 0.0)
    assert better.constraints[0] == near(np.full(N, -level))
    assert S.diagonal() == near(0.1 * COST.diagonal() - level)
    y = zero(problem)
    if penalty is None:
        assert repairs.balanced(problem, y, np.zeros((N, 1)), problem.slack(y), 0.0)[0] is y


def test_the_price_of_a_row_is_the_radius_squared():
    problem = nm.Problem(COST, FREE, nm.RowNormBound(1.5))
    y = nm.Multipliers((np.zeros(2),), (np.array([3.0, 0, 1, 2]),))
    assert repairs.diagonal_price(problem, y) == near(np.full(N, 2.25))
    centred = nm.Basis(np.linalg.qr(np.eye(N)[:, 1:] - 1 / N)[0])
    assert repairs.diagonal_price(nm.Problem(COST, FREE, nm.RowNormBound(1.5), basis=centred), y) is None


def test_a_shift_must_reach_every_point():
    some = nm.LossTerm(nm.Entries(N, ([0, 1, 2], [0, 1, 2])), "square", 1.0)
    problem = nm.Problem(COST, (FREE, some))
    assert repairs.shift(problem, zero(problem), 1.0, np.inf) is None
    part = nm.Constraint(nm.Entries(N, ([0, 1, 2], [0, 1, 2])), equal=1.0)
    problem = nm.Problem(COST, (FREE, part))
    assert repairs.constraint_shift(problem, zero(problem), 1.0, np.inf) is None
