"""A strictly feasible dual point on a path of three points: how it is found, kept and mixed in."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import slater
from npkl_models.linalg import UNIT, dense

PATH = sp.csr_array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
FIRST = nm.Entries(3, ([0], [0]))
ACROSS = nm.LossTerm(nm.Entries(3, ([0], [2])), "square", 0.0)
HIGHEST = (3 - 5**0.5) / 2  # the limit of the lowest eigenvalue as the first diagonal entry grows


def held(loss="square", target=0.0, R=None):
    """The path with a loss on K_00, whose multiplier raises the slack, and a square across."""
    terms = (nm.LossTerm(FIRST, loss, target), ACROSS)
    return nm.Problem(PATH, terms) if R is None else nm.Problem(PATH, terms, (), R)


def lowest(problem, y):
    return float(np.linalg.eigvalsh(dense(problem.slack(y)))[0])


def multipliers(first, across=0.0):
    return nm.Multipliers((np.array([first]), np.array([across])))


def test_the_center_is_as_high_as_is_said():
    """The proved height is below the lowest eigenvalue and next to it, though below one."""
    problem = held()
    center, mu = slater.strictly_feasible(problem)
    assert 0 < mu <= lowest(problem, center) < HIGHEST
    assert mu == pytest.approx(lowest(problem, center), rel=1e-9)


def test_no_center_where_the_multiplier_may_only_fall():
    """A must-link on K_00 has y <= 0: nothing lifts the null vector."""
    assert slater.strictly_feasible(nm.Problem(PATH, nm.LossTerm(FIRST, "hinge", 1.0))) is None


def test_an_offer_is_taken_if_it_is_higher_and_only_then():
    """What a solver found counts if it is proved to be higher, projected into the domain."""
    problem = held()
    _, mu = slater.strictly_feasible(problem)
    assert slater.interior(problem, multipliers(1e-3)) is None
    assert slater.interior(problem, multipliers(-1.0)) is None
    found = slater.interior(problem, multipliers(1e6))
    assert mu < found.mu <= HIGHEST
    assert found.y.terms[0][0] == 1e6
    assert slater.strictly_feasible(problem)[1] == mu  # which is a fact, whatever a solver found


def test_a_solver_s_point_is_mixed_in_for_its_own_problem_alone():
    problem, y = held(), multipliers(0.0, 0.3)
    found = slater.interior(problem, multipliers(1e6))
    own = slater.slater(problem, y, 0.1, np.inf, found)
    assert own[1].terms[0][0] > 1e3
    plain = slater.slater(problem, y, 0.1, np.inf)
    other = slater.slater(held(), y, 0.1, np.inf, found)
    assert other[0] == plain[0] != own[0]


@pytest.mark.parametrize("eps", [0.1, 1e-6])
def test_the_share_of_the_center_is_what_makes_up_for_the_lack(eps):
    """T (mu + eps) = eps: the mixture is PSD, its bound that of the multipliers."""
    problem, y = held(), multipliers(0.0, 0.3)
    center, mu = slater.strictly_feasible(problem)
    bound, mixed = slater.slater(problem, y, eps, np.inf)
    t = eps / (mu + eps)
    np.testing.assert_allclose(mixed.terms[0], t * center.terms[0], rtol=1e-6)
    np.testing.assert_allclose(mixed.terms[1], (1 - t) * 0.3 + t * center.terms[1], rtol=1e-6)
    assert mixed.terms[0][0] > t * center.terms[0][0]
    assert bound == pytest.approx(-problem.conjugate_sum(mixed), rel=1e-9)
    assert bound <= -problem.conjugate_sum(mixed) < 0


def test_rounding_in_the_slack_is_made_up_for_too():
    """Even where nothing lacks, a share of some units of roundoff is mixed in."""
    problem = held()
    center, _ = slater.strictly_feasible(problem)
    mixed = slater.slater(problem, multipliers(0.0), 0.0, np.inf)[1]
    assert 0 < mixed.terms[0][0] < 1e-12 * center.terms[0][0]


def test_no_more_than_the_whole_center_is_mixed_in():
    """A lack beyond all measure leaves the center itself."""
    problem = held()
    center, _ = slater.strictly_feasible(problem)
    mixed = slater.slater(problem, multipliers(-1e30), 1e30, np.inf)[1]
    np.testing.assert_allclose(mixed.terms[0], center.terms[0])


def test_rows_are_projected_and_mixed_where_there_are_any():
    """Row multipliers are cut at zero, made up where they are missing, and mixed like the others."""
    bounded = held(R=nm.RowNormBound(2.0))
    y = nm.Multipliers((np.zeros(1), np.zeros(1)), (), np.array([1.0, -2.0, 3.0]))
    np.testing.assert_array_equal(slater.projected(bounded, y).rows, [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(slater.projected(bounded, multipliers(0.0)).rows, np.zeros(3))
    assert slater.projected(held(), multipliers(0.0)).rows is None
    mixed = slater._mixed(y, nm.Multipliers(y.terms, (), np.array([5.0, 2.0, 3.0])), 0.25)
    np.testing.assert_allclose(mixed.rows, [2.0, -1.0, 3.0])


def test_multipliers_are_projected_into_the_domain_of_their_loss():
    """A hinge with the target -1 and the weight 1 has 0 <= y <= 1."""
    problem = held("hinge", -1.0)
    for given, wanted in ((-2.0, 0.0), (0.5, 0.5), (7.0, 1.0)):
        assert slater.projected(problem, multipliers(given)).terms[0][0] == wanted


@pytest.mark.parametrize("most", [2, 1_500])
def test_the_lowest_pairs_are_the_low_end_of_the_spectrum(most, monkeypatch):
    """Dense or iterative: the lowest eigenvalue plus the shift, and all vectors next to it."""
    monkeypatch.setattr(slater, "DENSE_SPECTRUM", most)
    n = 40
    cost = np.r_[-1.0, -0.98, np.linspace(0.5, 5.0, n - 2)]
    across = nm.LossTerm(nm.Entries(n, ([0], [n - 1])), "square", 0.0)
    problem = nm.Problem(np.diag(cost), across, (), nm.TracePower(1, penalty=0.25))
    level, vectors = slater._lowest(problem, nm.Multipliers((np.zeros(1),)))
    assert level == pytest.approx(-0.75, abs=1e-4)
    assert vectors.shape == (n, 2)
    np.testing.assert_allclose(np.abs(vectors[2:]), 0.0, atol=1e-2)


def test_few_points_have_all_of_their_pairs():
    """Three points have no eight eigenvectors."""
    level, vectors = slater._lowest(held(), multipliers(0.0))
    assert level == pytest.approx(0.0, abs=1e-12)
    assert vectors.shape == (3, 1)


def test_the_height_pays_for_the_rounding_of_its_sum():
    """With a penalty of one on the trace the height is 1 + 2^-20 less some units of one."""
    cost = 2.0**-20
    problem = nm.Problem(cost * np.eye(3), ACROSS, (), nm.TracePower(1, penalty=1.0))
    _, mu = slater._proved(problem, nm.Multipliers((np.zeros(1),)))
    assert 1 + cost - 20 * UNIT <= mu <= 1 + cost - 2 * UNIT
