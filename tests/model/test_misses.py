"""What a point misses: closed forms of shares and their divisors, in exact arithmetic where it is rounding."""

from fractions import Fraction

import numpy as np
import pytest
from adversary.given import Exact

import npkl_models as nm
from npkl_models.feasibility.restoration import rescaled
from npkl_models.model.misses import Miss, excess, misses, outside, worst

NOTHING = nm.LossTerm(nm.SquaredDistances(3, ([0], [0])), "square", 0.0)
V = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])  # K = diag(1, 4, 0)


def share(functional, value, point=V, K=None):
    (found,) = misses(nm.Problem(np.eye(3), nm.Constraint(functional, equal=value)), point, K)
    return found.share


def test_a_share_is_relative_to_what_is_asked():
    assert share(nm.Entries(3, ([0], [0])), 2.0) == pytest.approx(0.5)
    assert share(nm.Entries(3, ([0], [0])), 0.5) == pytest.approx(1.0)
    assert share(nm.SquaredDistances(3, ([0], [1])), 4.0) == pytest.approx(0.25)
    assert share(nm.Entries(3, ([0, 1], [0, 1])), [1.0, 5.0]) == pytest.approx(0.2)
    K = np.diag([1.0, 4.0, -0.5])
    assert share(nm.Entries(3, ([2], [2])), 0.25, V, K) == pytest.approx(3.0)


def test_the_divisor_of_a_zero_is_the_size_of_the_entries_and_nothing_else():
    """A cosine: no other constraint, of its kind or of another, has a say."""
    f = nm.Entries(3, ([0, 2], [1, 2]))
    W = V + [[0.0, 0.5], [0.0, 0.0], [0.0, 0.0]]  # K_01 = 1, rows of lengths 1.25^0.5 and 2
    cosine = 1 / (2 * 1.25**0.5)
    assert share(f, [0.0, 8.0], W) == pytest.approx(1.0)  # K_22 = 0 is 8 short of 8
    assert share(nm.Entries(3, ([0], [1])), 0.0, W) == pytest.approx(cosine)
    two = (
        nm.Constraint(nm.Entries(3, ([0], [1])), equal=0.0),
        nm.Constraint(nm.Entries(3, ([1], [1])), equal=10.0),
    )
    first, second = misses(nm.Problem(np.eye(3), two), W)
    assert first.share == pytest.approx(cosine)
    assert second.share == pytest.approx(0.6)
    assert misses(nm.Problem(np.eye(3), two[::-1]), W)[1].share == pytest.approx(cosine)
    other = (two[0], nm.Constraint(nm.SquaredDistances(3, ([0], [1])), equal=100.0))  # of another kind
    assert misses(nm.Problem(np.eye(3), other), W)[0].share == pytest.approx(cosine)
    assert share(nm.Entries(3, ([2], [2])), 0.0) == 0.0
    apart = nm.SquaredDistances(3, ([0], [1]))  # 1.25 + 4 - 2 over (1.25^0.5 + 2)^2
    assert share(apart, 0.0, W) == pytest.approx(3.25 / (1.25**0.5 + 2) ** 2)
    assert share(apart, 0.0, 1e-9 * W) == pytest.approx(3.25 / (1.25**0.5 + 2) ** 2)


def test_values_are_measured_by_their_own_numbers_though_they_cancel():
    """K_01 = 1e-6 beside an entry of 10 is measured by 1e-6, and so is a diagonal of 1e-6."""
    value = [1e-6, 10.0]
    W = np.array([[1.0, 1e-3], [0.0, 1e3], [10.0, 0.0]])  # K_01 = 1, K_02 = 10
    assert share(nm.Entries(3, ([0, 0], [1, 2])), value, W) == pytest.approx(1e6, rel=1e-5)
    assert share(nm.Entries(3, ([0, 0], [0, 2])), value, W) == pytest.approx(1e6, rel=1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_a_cosine_is_no_less_than_the_exact_one(seed):
    """Where zero is asked, what divides is rounded, too."""
    rng = np.random.default_rng(seed)
    W = 10.0 ** rng.integers(-9, 9, (3, 1)) * rng.normal(size=(3, 2))
    for f in (nm.Entries(3, ([0, 1], [1, 2])), nm.SquaredDistances(3, ([0, 1], [1, 2])), nm.TotalSum(3)):
        problem = nm.Problem(np.eye(3), nm.Constraint(f, equal=0.0))
        (found,) = misses(problem, W)
        own = Exact(problem, W)
        assert own.violation <= found.share
        assert found.share == pytest.approx(own.violation, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("seed", range(30))
def test_a_share_is_no_less_than_the_exact_one(seed):
    """Of distances that cancel, and of values far from what is asked, which round when they are subtracted."""
    rng = np.random.default_rng(seed)
    far = 10.0 ** rng.integers(0, 7)
    W = far + rng.normal(size=(3, 2))
    made = nm.SquaredDistances(3, ([0, 1], [1, 2]))
    asked = made.value_of_factor(W) * (1 + rng.choice([0.0, 1e-12, 0.3], 2))
    problem = nm.Problem(np.eye(3), nm.Constraint(made, equal=asked))
    (found,) = misses(problem, W)
    own = Exact(problem, W)
    assert own.violation <= found.share
    for r, z, d in zip(own.residuals(own.rows)[0], found.residual, found.doubt, strict=True):
        assert abs(r - Fraction(z)) <= Fraction(d) + abs(r) * Fraction(1, 2**52)


@pytest.mark.parametrize("seed", range(30))
def test_a_value_that_is_far_from_its_target_is_rounded_upwards(seed):
    rng = np.random.default_rng(seed)
    problem = nm.Problem(np.eye(3), nm.Constraint(nm.Entries(3, ([0], [0])), equal=10.0 * rng.random()))
    W = 1e-5 * rng.normal(size=(3, 1))
    assert misses(problem, W)[0].share >= Exact(problem, W).violation


def test_a_number_that_is_missing_is_missed_without_limit():
    problem = nm.Problem(np.eye(3), nm.Constraint(nm.Entries(3, ([0], [0])), equal=1.0))
    (found,) = misses(problem, np.array([[np.nan], [1.0], [1.0]]))
    assert found.share == np.inf
    assert problem.violation(np.full((3, 1), np.nan)) == np.inf


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["rows", "trace"])
def test_a_bound_that_is_exceeded_by_a_rounding_is_exceeded(kind, seed):
    """A factor of exactly the longest rows, as floats have them, may be longer; a shrunk one is not."""
    rng = np.random.default_rng(seed)
    b = 1 + rng.random()
    R = nm.RowNormBound(b) if kind == "rows" else nm.TracePower(1, bound=b)
    problem = nm.Problem(np.eye(3), NOTHING, regularizer=R)
    W = rng.normal(size=(3, 2))
    lengths = np.linalg.norm(W, axis=1)[:, None] / b if kind == "rows" else np.linalg.norm(W) / b**0.5
    assert max(miss.share for miss in misses(problem, W / lengths)) > 0
    shrunk = rescaled(problem, W)
    assert max(miss.share for miss in misses(problem, shrunk)) == 0
    own = Exact(problem, shrunk)
    assert own.grown == 1
    assert not any(r for part in own.residuals(own.rows) for r in part)
    np.testing.assert_allclose(rescaled(problem, shrunk), shrunk, rtol=1e-15)
    assert max(miss.share for miss in misses(problem, 2 * W / lengths)) == pytest.approx(3.0)
    K = (2 * W / lengths) @ (2 * W / lengths).T
    assert max(miss.share for miss in misses(problem, W, K)) == pytest.approx(3.0)
    if kind == "trace":
        assert excess(problem, W / lengths, more=3.0 * b) == pytest.approx(3.0)
    assert excess(nm.Problem(np.eye(3), NOTHING), 1e9 * W) == 0.0
    assert misses(nm.Problem(np.eye(3), NOTHING, regularizer=nm.TracePower(1, penalty=1.0)), W) == []


def test_the_distance_from_a_basis_is_relative_and_rounding_is_none():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 2)))[0]
    problem = nm.Problem(np.eye(3), NOTHING, basis=nm.Basis(Q))
    normal = np.linalg.svd(Q)[0][:, 2:]
    inside = Q @ np.array([[3.0], [4.0]])
    assert outside(problem, inside) == 0.0
    assert outside(problem, np.zeros((3, 1))) == 0.0
    assert outside(problem, inside + 12 * normal) == pytest.approx(12 / 13)
    assert outside(problem, inside + 1e-9 * normal) == pytest.approx(2e-10)
    K = inside @ inside.T
    assert outside(problem, V, K) == 0.0
    mixed = inside @ normal.T
    assert outside(problem, V, K + mixed + mixed.T) == pytest.approx((50 / 675) ** 0.5)
    (found,) = misses(problem, inside + 12 * normal)
    assert (found.name, found.share) == ("basis", pytest.approx(12 / 13))


def test_the_worst_is_named_unless_nothing_is_missed():
    none = np.zeros(0)
    made = [Miss("a", none, none, 0.25), Miss("b", none, none, 0.5), Miss("c", none, none, 0.0)]
    assert worst(made) == (0.5, "b")
    assert worst(made[2:]) == (0.0, "")
    assert worst([]) == (0.0, "")
