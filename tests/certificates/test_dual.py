"""The dual side of a certificate: every number that enters a bound against its closed form."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models import kernel
from npkl_models.certificates import bounds
from npkl_models.certificates.bounds import SIGNS, CertifyOptions, Dual, _by_signs, bound_from
from npkl_models.certificates.repairs import NO_SPECTRUM
from npkl_models.model.regularizers import NoRegularizer

DEMAND = CertifyOptions("auto", 1e-6, 1e-4, 0, False)
PAIR = nm.Entries(4, ([0, 1], [1, 2]))
ORDINARY = NoRegularizer()


def problem_of(R=ORDINARY, cost=(1.0, 2.0, 3.0, 4.0), loss="square"):
    return nm.Problem(np.diag(cost), nm.LossTerm(PAIR, loss, [1.0, -1.0], [2.0, 0.5]), R)


def unknown(bound, rigour="proved"):
    """A dual side with that bound."""
    return Dual(bound, rigour, "scale", nm.Multipliers((np.ones(2),)), -1.0, np.full(4, 0.5))


def test_numbers_out_of_range_give_no_bound_and_a_unit_vector():
    """A slack that overflows bounds nothing; its direction still has length one."""
    term = nm.LossTerm(nm.Entries(4, ([0], [0])), "square", 1.0)
    problem, y = nm.Problem(-np.eye(4), (term, term)), nm.Multipliers(2 * (np.array([1.7e308]),))
    with np.errstate(all="ignore"):
        found = bound_from(problem, y, np.ones((4, 1)), 1.0, DEMAND)
    assert (found.bound, found.rigour, found.repair) == (-np.inf, "none", NO_SPECTRUM)
    assert np.linalg.norm(found.direction) == pytest.approx(1)


@pytest.mark.parametrize("bound", [-1e-3, -np.inf])
def test_zero_multipliers_bound_an_optimum_next_to_zero(bound):
    """A PSD cost and losses that are never negative have an optimum of at least zero."""
    found = _by_signs(problem_of(), 1e-10, DEMAND, unknown(bound))
    assert (found.rigour, found.repair) == ("proved", SIGNS)
    assert -1e-12 <= found.bound <= 0
    assert not found.y.terms[0].any()


def test_zero_multipliers_take_the_place_of_no_better_bound():
    """A bound stays where it is positive, C is indefinite or a loss negative."""
    kept = unknown(-1e-3)
    assert -1e-300 < _by_signs(problem_of(), 5.0, DEMAND, kept).bound <= 0.0
    assert _by_signs(problem_of(cost=(-1.0, 2.0, 3.0, 4.0)), 1e-9, DEMAND, kept) is kept
    assert _by_signs(problem_of(loss="linear"), 1e-9, DEMAND, kept) is kept
    for rigour in ("proved", "probable"):
        positive = unknown(0.0, rigour)
        assert _by_signs(problem_of(), 1e-9, DEMAND, positive) is positive
    guess = unknown(1.0, "estimated")
    assert _by_signs(problem_of(), 1e-10, DEMAND, guess).rigour == "proved"


def bounded(method, R, tol=1e-6, seed=0, W=None):
    """A problem of order 30 with multipliers far from its optimum, and the bound they give."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, 30))
    term = nm.LossTerm(nm.Entries(30, (np.arange(8), np.arange(8) + 9)), "square", 1.0)
    problem = nm.Problem(A + A.T, term, R)
    y = nm.Multipliers((rng.normal(size=8),))
    V = rng.normal(size=(30, 2)) if W is None else W
    demand = replace(DEMAND, method=method, tol=tol)
    return problem, y, bound_from(problem, y, V, problem.objective_of_factor(V), demand)


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
    assert found.rigour == "proved"
    assert found.bound == pytest.approx(problem.dual_bound(y), rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_eigenvalues_are_lifted_by_what_lapack_may_have_lost(seed, monkeypatch):
    """Eigenpairs that are off by 1e-6 cost the bound, whatever they say of themselves."""
    R = nm.TracePower(1, bound=3.0)
    problem, y, _found = bounded("auto", R, seed=seed)
    own, rng = np.linalg.eigh, np.random.default_rng(seed)

    def poor(A):
        values, Q = own(A)
        return values + 1e-6 * rng.normal(size=values.size), Q + 1e-6 * rng.normal(size=Q.shape)

    monkeypatch.setattr(np.linalg, "eigh", poor)
    S = problem.slack(y).toarray()
    lower = kernel.supported_by_spectrum(problem, y, S, 0.0)
    monkeypatch.undo()
    assert lower.rigour == "proved"
    assert lower.value <= problem.dual_bound(y)
    assert lower.value == pytest.approx(problem.dual_bound(y), rel=1e-3)
    paid = kernel.supported_by_spectrum(problem, y, S, 0.5)
    sound = kernel.supported_by_spectrum(problem, y, S, 0.0)
    assert sound.value - paid.value == pytest.approx(
        3 * 0.5, rel=1e-2
    )  # an error of the slack, in each eigenvalue


def test_two_runs_share_the_failure_probability(monkeypatch):
    """Each of at most two randomised runs may fail with half of what is demanded."""
    asked, own = [], bounds.min_eigenvalue
    monkeypatch.setattr(bounds, "min_eigenvalue", lambda S, W, query: asked.append(query) or own(S, W, query))
    _, _, found = bounded("lanczos", nm.TracePower(2, bound=3.0))
    assert found.rigour == "probable"
    assert 1 <= len(asked) <= 2
    for query in asked:
        assert query.failure_probability == pytest.approx(0.5 * DEMAND.failure_probability)


def test_a_subgradient_out_of_range_is_left_out():
    """The sixth power of 1e60 is no number; the bound is that of the slack alone."""
    R = nm.TracePower(4, penalty=1.0)
    with np.errstate(all="ignore"):
        problem, y, found = bounded("cholesky", R, W=np.full((30, 1), 1e60))
    assert np.isfinite(found.bound)
    assert found.bound <= problem.dual_bound(y)
