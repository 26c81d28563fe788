"""Each line of the kernel that pays for something pays for no less than that; `mutants` breaks them in turn."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models import kernel
from npkl_models.linalg import UNIT
from npkl_models.model.misses import constraints_missed
from npkl_models.model.scale import faint_unit
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.factorisation import _first_floor

LARGE = 2.0**20


def entry(n, i, j, loss="square", target=0.0, weight=1.0):
    return nm.LossTerm(nm.Entries(n, ([i], [j])), loss, target, weight)


def number(*y, cost=0.0):
    """A problem of order one, whose slack is the sum of the cost and all y, and these y."""
    problem = nm.Problem(np.array([[cost]]), [entry(1, 0, 0) for _ in y])
    return problem, nm.Multipliers(tuple(np.array([one]) for one in y))


def floor(y, lower, T=1.0, raised=None):
    found = EigenBound(lower, lower, "proved", np.ones(1), raised=raised)
    return kernel.Floor(y, np.array([T]), lower, found)


def exactly(y):
    return sum(Fraction(float(part[0])) for part in y.terms)


def test_products_that_underflow_are_paid_for():
    bound = nm.Constraint(nm.Entries(2, ([0], [0])), equal=1e-200)
    problem, y = nm.Problem(np.eye(2), bound), nm.Multipliers((), (np.array([1e-200]),))
    assert kernel.paid(problem, y) >= Fraction(1e-200) ** 2


def test_every_summand_of_a_slack_is_counted():
    many = nm.LossTerm(nm.Entries(2, ([0] * 400, [1] * 400)), "square", 0.0)
    problem, y = nm.Problem(np.eye(2), many), nm.Multipliers((np.full(400, 0.1),))
    size = float(kernel.sizes(problem, y, np.ones(2)).max())
    assert kernel.slack(problem, y, T=np.ones(2)).error >= 400 * UNIT * size


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_what_a_basis_lacks_of_orthonormal_is_paid_for(kind):
    e = 2e-13
    problem = nm.Problem(np.eye(2), entry(2, 0, 0), basis=nm.Basis(kind([[1 + e], [0.0]])))
    assert kernel.slack(problem, problem.no_multipliers, T=np.ones(1)).error >= 2 * e


def test_what_a_basis_lacks_of_centred_is_paid_for():
    Q = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 2
    Q[:, 0] += 6e-15
    problem = nm.Problem(np.eye(4), entry(4, 0, 0), basis=nm.Basis(Q))
    assert problem.basis.centring
    own = kernel.slack(problem, problem.no_multipliers, T=np.ones(3))
    assert own.error >= 2 * np.linalg.norm(Q.sum(axis=0)) / 2  # twice the sine


def test_a_floor_is_less_by_the_error_of_its_slack():
    _, y = number(0.0)
    for error in np.random.default_rng(0).uniform(0, 1e-3, 50):
        found = kernel.floor_of(y, kernel.Slack(np.diag([1.0, 2.0]), np.ones(2), error))
        assert Fraction(found.lower) <= Fraction(found.found.lower) - Fraction(error)


def test_a_floor_of_a_shifted_matrix_pays_for_the_shift():
    for shift in np.random.default_rng(0).uniform(-1, 1, 50):
        lower, _ = _first_floor(lambda S, shift: -0.125, np.eye(2), [shift], 1.0)
        assert Fraction(lower) <= -Fraction(shift) - Fraction(0.125 + UNIT * (1 + abs(shift)))


def test_an_estimate_is_no_centre(monkeypatch):
    problem, y = number(1.0)
    assert kernel.anchor(problem, y) is not None
    guess = EigenBound(1.0, 1.0, "estimated", np.ones(1))
    monkeypatch.setattr(kernel, "min_eigenvalue", lambda *_: guess)
    assert kernel.anchor(problem, y) is None


@pytest.mark.parametrize("seed", range(3))
def test_moves_of_one_number_are_below_it(seed):
    """The exact slack is the sum of y, here of numbers that cancel or that differ by their units."""
    rng, one = np.random.default_rng(seed), np.ones(1)
    for t in rng.uniform(0, 1, 20):
        d = LARGE + float(rng.integers(1, 2**20)) / 2**20
        problem, y = number(1.0, 0.0)
        ray = kernel.Anchor(number(d, 1 - d)[1], one, 1.0, ray=True)
        _, new = number(1.0 + t * d, t * (1 - d))
        assert kernel.moved(problem, floor(y, 1.0), ray, t, new).lower <= exactly(new)
        s = rng.uniform(1, 2)
        problem, y = number(s)
        assert kernel.moved(problem, floor(y, s), kernel.Anchor(y, one, s), t, y).lower <= s
        _, new = number(s + t * (3.0 - s))
        far = kernel.Anchor(number(3.0)[1], 4 * one, 48.0)  # 3 >= 48 / 4^2
        assert kernel.moved(problem, floor(y, s), far, t, new).lower <= exactly(new)


def test_a_move_pays_for_its_share_of_the_cost_and_says_nothing_of_a_raised_slack():
    problem, y = number(1 - LARGE, cost=LARGE)
    own, centre = floor(y, 1.0), kernel.Anchor(y, np.ones(1), 1.0)
    assert kernel.moved(problem, own, centre, 0.5, y).lower <= 1 - 2 * UNIT * LARGE
    local = floor(y, 1.0, raised=np.ones(1))
    assert kernel.moved(problem, local, centre, 0.5, y).lower == -np.inf


@pytest.mark.parametrize("seed", range(3))
def test_raises_of_one_number_are_below_it(seed):
    rng = np.random.default_rng(seed)
    for a in rng.uniform(0, 1, 20):
        problem, y = number(a, 0.0)
        b = LARGE * rng.uniform(1, 2)
        _, new = number(b, rng.uniform(0, 1) - b)
        assert kernel.raised(problem, floor(y, a), new).lower <= exactly(new)
        _, y = number(b, 0.0)
        _, new = number(b, 1e-3 * a)
        assert kernel.raised(problem, floor(y, b), new).lower <= exactly(new)


def test_a_floor_below_zero_or_of_a_raised_slack_is_no_bound():
    problem, y = number(1.0)
    assert kernel.bound_of(problem, floor(y, 1.0)).rigour == "proved"
    assert kernel.bound_of(problem, floor(y, -1e-300)) == kernel.NO_BOUND
    assert kernel.bound_of(problem, floor(y, 1.0, raised=np.ones(1))) == kernel.NO_BOUND


def test_signs_are_those_of_squares_over_a_cost_that_is_psd():
    for cost, j, y, known in (
        (1, 0, 0.5, 1),
        (1, 0, -0.5, 0),
        (1, 1, 0.5, 0),
        (1, 1, 0.0, 1),
        (-1, 0, 0.5, 0),
    ):
        problem = nm.Problem(cost * np.eye(2), entry(2, 0, j))
        found = kernel.bound_by_signs(problem, nm.Multipliers((np.array([y]),)))
        assert found.rigour == ("proved" if known else "none"), (cost, j, y)


def test_a_ray_is_psd_and_its_bound_positive():
    for j, value, nu, known in ((0, -1, 1, 1), (0, 1, -1, 0), (0, 1, 1, 0), (1, -1, 1, 0)):
        search = nm.Problem(np.zeros((2, 2)), nm.Constraint(nm.Entries(2, ([0], [j])), equal=float(value)))
        found = kernel.ray_bound(search, nm.Multipliers((), (np.array([float(nu)]),)))
        assert found.rigour == ("proved" if known else "none"), (j, value, nu)


def test_a_regulariser_pays_for_floor_error_and_defect():
    problem = nm.Problem(np.eye(40), entry(40, 0, 0), nm.TracePower(1, bound=1.0))
    y, W = problem.no_multipliers, np.eye(40)
    least = kernel.supported(problem, y, W, np.full(40, 2.0), 0.0, 0.0, "proved").value
    assert least <= -2 - 2 * UNIT * (8 * 40 + 48**2 + 40 * 40)
    W, mu = 1.001 * W[:, :1], np.array([2.0])
    crooked = kernel.supported(problem, y, W, mu, -0.25, 0.125, "proved").value
    assert crooked <= -(2 + 0.25 + 0.125 + 2 * 0.002)
    assert kernel.supported_by_spectrum(problem, y, np.diag(np.full(40, -3.0)), 0.5).value <= -3.5


def test_an_objective_pays_for_values_that_cancel():
    problem = nm.Problem(np.zeros((2, 2)), entry(2, 0, 1, "absolute"))
    V = np.array([[LARGE, LARGE], [LARGE, 1 - LARGE]])
    assert kernel.rounding_of_objective(problem, V, 0.0) >= 10 * UNIT * 2 * LARGE**2


@pytest.mark.parametrize("what", ["cost", "loss", "regulariser"])
def test_an_objective_pays_for_the_way_to_the_basis(what):
    """The second row, of length 1/2, is beyond the basis; it costs 8 / 4."""
    cost = np.diag([0.0, 8.0 if what == "cost" else 0.0])
    loss = entry(2, 1, 1, "absolute", weight=8.0) if what == "loss" else entry(2, 0, 0, "absolute")
    R = nm.TracePower(1, penalty=8.0) if what == "regulariser" else nm.NoRegularizer()
    problem = nm.Problem(cost, loss, R, basis=nm.Basis(np.eye(2)[:, :1]))
    assert kernel.rounding_of_objective(problem, np.array([[1.0], [0.5]]), 0.0) >= 2


def test_a_miss_doubts_its_value_by_rounding_and_by_the_way_to_the_basis():
    held = nm.Constraint(nm.Entries(2, ([0], [1])), equal=0.03)
    V = np.array([[0.1], [0.3]])
    (near,) = constraints_missed([held], V)
    assert near.doubt[0] >= 17 * UNIT * 0.03
    (far,) = constraints_missed([held], V, off=np.array([0.0, 0.5]))
    assert far.doubt[0] >= 0.05


def test_the_faint_part_of_a_unit_is_the_least_of_its_three():
    problem = nm.Problem(np.eye(2), entry(2, 0, 0, target=2.0))
    for A, B, F in ((10.0, 20.0, 10.0), (10.0, 1.0, 4.0), (1.0, 20.0, 1.0), (20.0, 10.0, 10.0)):
        assert faint_unit(problem, A, B) == pytest.approx(1e-3 * F)
