"""The dual side of a certificate: every number that enters a bound against its closed form."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import bounds
from npkl_models.certify.bounds import Demand, Dual, bound_from
from npkl_models.certify.fallbacks import by_signs
from npkl_models.linalg import norm_bound
from npkl_models.model.regularizers import NoRegularizer
from npkl_models.proof.eigenbound import EigenBound

DEMAND = Demand("auto", 1e-6, 1e-4, 0, False)
PAIR = nm.Entries(4, ([0, 1], [1, 2]))
ORDINARY = NoRegularizer()


def problem_of(R=ORDINARY, cost=(1.0, 2.0, 3.0, 4.0), loss="square"):
    return nm.Problem(np.diag(cost), nm.LossTerm(PAIR, loss, [1.0, -1.0], [2.0, 0.5]), R)


def unknown(bound, rigour="proved"):
    """A dual side with that bound."""
    found = EigenBound(-1.0, -1.0, "proved", np.full(4, 0.5))
    return Dual(bound, rigour, "scale", nm.Multipliers((np.ones(2),)), found, 0.0)


def test_the_slack_may_lack_half_of_the_tolerated_gap_spread_over_the_trace():
    """The accuracy is tol size / (2 trace), whether the trace is the point's or a proved bound."""
    problem, S, W = problem_of(), 1e6 * np.eye(4), np.full((4, 1), 2.0)
    gap = 0.5 * 1e-6 * problem.size(10.0)
    assert DEMAND.query(problem, 5.0, W, S).accuracy == pytest.approx(gap / 16)
    assert DEMAND.query(problem, 5.0, W, S, tau=50.0).accuracy == pytest.approx(gap / 50)


def test_the_slack_may_lack_no_more_than_the_tolerance_of_its_norm():
    """A point of length zero asks for nothing sharper than a share of the norm."""
    S = 1e3 * np.eye(4)
    found = DEMAND.query(problem_of(), 5.0, np.zeros((4, 1)), S)
    assert found.accuracy == pytest.approx(1e-6 * norm_bound(S))
    assert found.accuracy > 0.5 * 1e-6 * problem_of().size(10.0)


def test_numbers_out_of_range_give_no_bound_and_a_unit_vector():
    """A slack that overflows bounds nothing; its direction still has length one."""
    term = nm.LossTerm(nm.Entries(4, ([0], [0])), "square", 1.0)
    problem, y = nm.Problem(np.eye(4), (term, term)), nm.Multipliers(2 * (np.array([1.7e308]),))
    with np.errstate(all="ignore"):
        found = bound_from(problem, y, np.ones((4, 1)), 1.0, np.inf, DEMAND)
    assert (found.bound, found.rigour, found.repair) == (-np.inf, "none", "numbers out of range")
    assert np.linalg.norm(found.found.vector) == pytest.approx(1)


@pytest.mark.parametrize("bound", [-1e-3, -np.inf])
def test_zero_multipliers_bound_an_optimum_next_to_zero(bound):
    """A PSD cost and losses that are never negative have an optimum of at least zero."""
    found = by_signs(problem_of(), unknown(bound), 1e-9, DEMAND)
    assert (found.rigour, found.repair) == ("proved", "no multipliers")
    assert -1e-12 <= found.bound <= 0
    assert not found.y.terms[0].any()


def test_zero_multipliers_stand_in_for_a_bound_that_is_missing():
    """Without any bound, zero is one, wherever the objective is."""
    assert -1e-12 <= by_signs(problem_of(), unknown(-np.inf), 5.0, DEMAND).bound <= 0


def test_zero_multipliers_take_the_place_of_no_better_bound():
    """A bound stays where it is positive, C is indefinite or a loss negative."""
    kept = unknown(-1e-3)
    assert by_signs(problem_of(), kept, 5.0, DEMAND).bound == 0.0
    assert by_signs(problem_of(cost=(-1.0, 2.0, 3.0, 4.0)), kept, 1e-9, DEMAND) is kept
    assert by_signs(problem_of(loss="linear"), kept, 1e-9, DEMAND) is kept
    for rigour in ("proved", "probable"):
        positive = unknown(0.0, rigour)
        assert by_signs(problem_of(), positive, 1e-9, DEMAND) is positive
    guess = unknown(1.0, "estimated")
    assert by_signs(problem_of(), guess, 1e-9, DEMAND).rigour == "proved"


def test_kappa_is_the_least_squares_multiplier_of_a_bounded_trace():
    """S w = -3 w gives kappa = 3; a PSD slack, a power or a penalty give none."""
    S, W = np.diag([-3.0, 1.0]), np.array([[3.0], [0.0]])
    R = nm.TracePower(1, bound=2.0)
    assert bounds._kappa(R, S, W) == pytest.approx(3.0)
    assert bounds._kappa(R, S, np.array([[3.0], [3.0]])) == pytest.approx(1.0)
    assert bounds._kappa(R, -S, W) == 0.0
    assert bounds._kappa(R, S, 0 * W) == 0.0
    assert bounds._kappa(None, S, W) == 0.0
    assert bounds._kappa(nm.TracePower(2, bound=2.0), S, W) == 0.0
    assert bounds._kappa(nm.TracePower(1, penalty=2.0), S, W) == 0.0


def test_the_spectrum_above_minus_the_slack_is_shifted_by_what_lacks():
    """Z = W diag(mu) W' + eps I has the eigenvalues mu + eps and eps, rounded upwards."""
    mu = np.array([0.5, 0.25])
    found = bounds._spectrum(mu, 4, -2.0, 1.0)
    exact = np.array([3.5, 3.25, 3.0, 3.0])
    assert np.all(found > exact)
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    for lower, error in ((1.0, 0.5), (0.0, 0.0)):
        np.testing.assert_array_equal(bounds._spectrum(np.zeros(0), 3, lower, error), np.zeros(3))


def bounded(method, R, tol=1e-6, seed=0, W=None):
    """A problem of order 30 with multipliers far from its optimum, and the bound they give."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, 30))
    term = nm.LossTerm(nm.Entries(30, (np.arange(8), np.arange(8) + 9)), "square", 1.0)
    problem = nm.Problem(A + A.T, term, R)
    y = nm.Multipliers((rng.normal(size=8),))
    V = rng.normal(size=(30, 2)) if W is None else W
    demand = replace(DEMAND, method=method, tol=tol)
    return problem, y, bound_from(problem, y, V, problem.objective_of_factor(V), np.inf, demand)


REGULARISERS = (nm.TracePower(1, bound=3.0), nm.TracePower(2, bound=3.0), nm.TracePower(3, penalty=0.5))


@pytest.mark.parametrize("R", REGULARISERS, ids=str)
@pytest.mark.parametrize("tol", [1e-6, 1e3])
def test_a_small_problem_has_the_dual_function_itself_for_a_bound(R, tol):
    """Up to order 3,000 all eigenvalues of the slack are found: the bound is no looser than them."""
    problem, y, found = bounded("auto", R, tol)
    assert found.rigour == "proved"
    assert found.bound == pytest.approx(problem.dual_bound(y), rel=1e-10)
    assert found.bound <= problem.dual_bound(y)


@pytest.mark.parametrize("R", REGULARISERS, ids=str)
@pytest.mark.parametrize("method", ["cholesky", "lanczos"])
def test_the_positive_part_of_the_slack_sharpens_a_bound_that_is_not_enough(R, method):
    """Where the gap is open, the regulariser's support is taken at the slack's own positive part."""
    problem, y, found = bounded(method, R)
    assert found.bound == pytest.approx(problem.dual_bound(y), rel=1e-4)
    assert found.bound <= problem.dual_bound(y)


@pytest.mark.parametrize("method", ["lanczos", "auto"])
def test_a_wide_point_is_judged_by_all_eigenvalues(method, monkeypatch):
    """Where deflation would cost more than they do, they are a proof whatever was asked for."""
    for name in ("FULL", "SHARE"):
        monkeypatch.setattr(bounds, name, 0)
    problem, y, found = bounded(method, nm.TracePower(2, bound=3.0))
    assert (found.rigour, found.found.rigour) == ("proved", "proved")
    assert found.bound == pytest.approx(problem.dual_bound(y), rel=1e-10)


def test_eigenvalues_are_lifted_by_what_lapack_may_have_lost(monkeypatch):
    """With a unit of 1e-6 an order of thirty pays 16 (30 + 16) of them times the norm, in each eigenvalue."""
    R = nm.TracePower(1, bound=3.0)
    problem, y, found = bounded("auto", R)
    monkeypatch.setattr(bounds, "UNIT", 1e-6)
    _, _, lifted = bounded("auto", R)
    more = 16 * 46 * 1e-6 * norm_bound(problem.slack(y))
    assert found.bound - lifted.bound == pytest.approx(3 * more, rel=1e-6)


def test_two_runs_share_the_failure_probability():
    """Each of at most two randomised runs may fail with half of what is demanded."""
    _, _, found = bounded("lanczos", nm.TracePower(2, bound=3.0))
    assert found.found.rigour == "probable"
    assert found.found.failure_probability == pytest.approx(0.5 * DEMAND.failure_probability)


def test_a_subgradient_out_of_range_is_left_out():
    """The sixth power of 1e60 is no number; the bound is that of the slack alone."""
    R = nm.TracePower(4, penalty=1.0)
    with np.errstate(all="ignore"):
        problem, y, found = bounded("cholesky", R, W=np.full((30, 1), 1e60))
    assert np.isfinite(found.bound)
    assert found.bound <= problem.dual_bound(y)


def test_raising_the_diagonal_may_cost_most_of_the_gap_that_is_left(monkeypatch):
    """The allowance stays below tol size - gap, beyond the order of dense proofs."""
    asked = []

    def noted(S, W, query):
        asked.append(query)
        return EigenBound(0.0, 0.0, "proved", np.full(4, 0.5))

    monkeypatch.setattr(bounds, "DENSE_CHOLESKY", 3)
    monkeypatch.setattr(bounds, "min_eigenvalue", noted)
    diagonal = nm.LossTerm(nm.Entries(4, (range(4), range(4))), "square", 1.0)
    problem = nm.Problem(np.eye(4), diagonal)
    y = nm.Multipliers((np.full(4, -1.0),))  # stationary where K_ii = 1/2: its bound is 3
    bound_from(problem, y, np.sqrt(0.5) * np.eye(4), 3.0, 3.0, replace(DEMAND, tol=1e-2))
    spare = 1e-2 * problem.size(6.0)
    assert 0.9 * spare <= asked[0].allowance < spare
    np.testing.assert_allclose(asked[0].price, 0.5)  # the slope of the bound in each multiplier
