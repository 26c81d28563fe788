"""Small parts of certificates: what they print, whose probability they carry, where searches begin."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import rays
from npkl_models.certify.certificate import FAILURE, Budget
from npkl_models.feasibility import restoration
from npkl_models.interior import interior

N = 3
PAIR = nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 1.0)
SHORT = nm.Constraint(nm.Entries(N, (range(N), range(N))), equal=[0.25, 1.0, 0.0])


@pytest.fixture(scope="module")
def certificate():
    return nm.certify(nm.Problem(np.eye(N), PAIR), np.ones((N, 1)))


@pytest.mark.parametrize("rigour", ["proved", "probable", "estimated"])
def test_only_a_probable_certificate_shares_a_probability(certificate, rigour):
    found = replace(certificate, rigour=rigour, failure_probability=0.5)
    shared = Budget.stated(found).failure_probability
    assert shared == (FAILURE if rigour == "probable" else 0.5)


@pytest.mark.parametrize("violation", [1e-9, 0.5])
def test_what_a_point_misses_is_told_with_the_gap_that_it_has(certificate, violation):
    found = replace(certificate, upper=np.inf, violation=violation, missed="diagonal")
    head, gap, last = found.lines()
    assert "<= optimum, objective" in head
    assert last.startswith(f"violation {violation:.1e} (diagonal)")
    assert ("more than the 1e-07 that is feasible" in last) == (violation > 1e-7)
    assert gap.startswith("no gap" if violation > 1e-7 else "relative gap")
    told = replace(found, point_min_eigenvalue=-0.125, indefinite=0.25).lines()[-1]
    assert "smallest eigenvalue -1.2e-01 (2.5e-01 of the largest)" in told
    assert len(certificate.lines()) == 2


def test_rows_are_scaled_to_lengths_below_one_and_to_zero():
    V = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 1.0]])
    found = restoration._scaled_rows(nm.Problem(np.eye(N), (PAIR, SHORT)), V)
    np.testing.assert_allclose(found, [[0.3, 0.4], [1.0, 0.0], [0.0, 0.0]])


def test_a_search_begins_at_the_point_that_is_given(monkeypatch):
    monkeypatch.setattr(rays, "nearest", lambda problem, W: W)
    V = np.array([[1.0], [2.0], [3.0]])
    problem = nm.Problem(np.eye(N), (PAIR, SHORT))
    first, other = rays.nearest_factors(problem, V)
    np.testing.assert_array_equal(first, V)
    assert other.shape == (N, min(int(6**0.5) + rays.EXTRA, N))
    for bad in (None, V[:2], np.array([[1.0], [np.nan], [1.0]])):
        assert len(rays.nearest_factors(problem, bad)) == 1


def test_multipliers_of_rows_are_counted_where_there_are_any():
    assert interior._multipliers(nm.Problem(np.eye(N), PAIR)) == 1
    assert interior._multipliers(nm.Problem(np.eye(N), (PAIR, SHORT))) == 4
    assert interior._multipliers(nm.Problem(np.eye(N), PAIR, nm.RowNormBound(1.0))) == 4


def test_a_run_never_spends_more_than_its_budget_and_the_twentieth_look_can_still_prove():
    """Rounding in a Lanczos run on 16,100 points hides probabilities below 1e-8."""
    budget = Budget()
    spent = [budget.next() for _ in range(100_000)]
    assert 0.9999 * FAILURE < sum(spent) < FAILURE
    assert all(a >= b for a, b in pairwise(spent))
    assert spent[0] > 0.25 * FAILURE
    assert spent[19] > 0.025 * FAILURE
