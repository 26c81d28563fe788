"""Directions of recession whose rates have closed forms, and what has to be zero along them."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import recession
from npkl_models.model.regularizers import NoRegularizer

ORDINARY = NoRegularizer()
FIRST, SECOND = np.eye(2)[:, :1], np.eye(2)[:, 1:]
DIAGONAL, OFF = nm.Entries(2, ([0], [0])), nm.Entries(2, ([0], [1]))


def falling(loss="square", target=1.0, weight=1.0, f=DIAGONAL, cost=-1.0, R=ORDINARY):
    """The cost times the identity on two points, and a loss on one value."""
    return nm.Problem(cost * np.eye(2), nm.LossTerm(f, loss, target, weight), R)


@pytest.mark.parametrize("length", [1e-120, 1e-8, 1.0, 1e8, 1e120])
def test_the_rate_of_a_hinge_is_its_weight(length):
    """Along K_00 the cost falls by one; a cannot-link of weight w takes w of that."""
    for weight, falls in ((0.5, True), (0.999, True), (1.001, False), (2.0, False)):
        problem = falling("hinge", -1.0, weight)
        assert recession._falls(problem, length * FIRST, 1e-9) is falls
    assert recession._falls(falling("hinge", 1.0, 2.0), length * FIRST, 1e-9)


def test_the_rate_of_a_linear_loss_has_its_sign():
    """A reward adds to the fall, a price takes from it."""
    assert recession._falls(falling("linear", 1.0, 0.5, cost=0.25), FIRST, 1e-9)
    assert not recession._falls(falling("linear", 1.0, 0.2, cost=0.25), FIRST, 1e-9)
    assert not recession._falls(falling("linear", -1.0, 2.0), FIRST, 1e-9)


def test_a_penalty_on_the_trace_takes_its_weight():
    """The rate of tr K is the shift."""
    for G, falls in ((0.5, True), (2.0, False)):
        R = nm.TracePower(1, penalty=G)
        assert recession._falls(falling("hinge", 1.0, R=R), FIRST, 1e-9) is falls


def test_values_with_a_square_may_not_move():
    """A square on K_00 forbids the first axis and not the second."""
    assert not recession._falls(falling(), FIRST, 1e-9)
    assert recession._falls(falling(), SECOND, 1e-9)


def test_a_value_whose_sign_is_rounding_may_be_of_either():
    """A squared hinge pays for K_01 < 0: one of 1e-17 is no proof, one of a half is."""
    for low, falls in ((0.5, True), (1e-17, False), (-0.5, False)):
        D = np.array([[1.0, 0.0], [low, 1.0]])
        assert recession._falls(falling("squared_hinge", 1.0, f=OFF), D, 0.0) is falls
        D = np.array([[1.0, 0.0], [-low, 1.0]])
        assert recession._falls(falling("squared_hinge", -1.0, f=OFF), D, 0.0) is falls


def test_a_fall_must_be_clear_against_the_numbers_that_enter():
    """Beside entries of one a rate of 1e-8 is what rounding may be."""
    for rate, falls in ((-1.2e-8, True), (-0.8e-8, False)):
        problem = nm.Problem(np.diag([rate, 1.0]), nm.LossTerm(nm.Entries(2, ([1], [1])), "square", 0.0))
        assert recession._falls(problem, FIRST, 1e-9) is falls


@pytest.mark.parametrize("length", [1.0, 0.5])
def test_a_fall_must_outweigh_what_the_way_to_an_exact_direction_may_change(length, monkeypatch):
    """Within r of D, |D| = l, a form of size one changes by 2 r l + r^2 at most; twice that is asked."""
    problem = falling("hinge", 1.0)
    most = length * (np.sqrt(1.5) - 1)  # 2 (2 r l + r^2) = l^2
    for share, falls in ((0.99, True), (1.01, False)):
        monkeypatch.setattr(recession, "_exactly_still", lambda p, D, held, r=share * most: (length * D, r))
        assert recession._falls(problem, FIRST, 1e-9) is falls


def test_a_short_direction_must_fall_as_clearly_as_a_long_one(monkeypatch):
    """The rate goes with the square of the length, and so does what is clear."""
    monkeypatch.setattr(recession, "_exactly_still", lambda p, D, held: (0.5 * D, 0.0))
    square = nm.LossTerm(nm.Entries(2, ([1], [1])), "square", 0.0)
    assert recession._falls(nm.Problem(np.diag([-1.2e-8, 1.0]), square), FIRST, 1e-9)
    assert not recession._falls(nm.Problem(np.diag([-0.8e-8, 1.0]), square), FIRST, 1e-9)


def test_a_sign_must_hold_in_all_that_is_within_reach(monkeypatch):
    """K_01 = 0.12 along (0.96, 0.125) may change by 1.085 r + r^2: its sign is sure for r = 0.1 alone."""
    D = np.array([[0.96], [0.125]])
    problem = falling("squared_hinge", 1.0, f=OFF, cost=-100.0)
    for reach, falls in ((0.1, True), (0.15, False)):
        monkeypatch.setattr(recession, "_exactly_still", lambda p, D, held, r=reach: (D, r))
        assert recession._falls(problem, D, 1e-9) is falls


def test_directions_that_squares_allow_are_the_null_space_of_their_sum():
    """An equality or a square on a distance is held; a hinge on K_22, which may grow, is not."""
    apart = nm.SquaredDistances(3, ([0], [1]))
    corner = nm.LossTerm(nm.Entries(3, ([2], [2])), "hinge", 1.0)
    for parts in (
        (nm.LossTerm(apart, "square", 1.0), corner),
        (corner, nm.Constraint(apart, equal=1.0)),
        (corner, nm.Constraint(apart, upper=1.0)),
    ):
        N = recession._kept_still(nm.Problem(np.eye(3), parts))
        assert N.shape == (3, 2)
        np.testing.assert_allclose(N[0], N[1], atol=1e-12)
    assert recession._kept_still(nm.Problem(np.eye(3), corner)) is None
    off = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0)  # no sum of squares
    assert recession._kept_still(nm.Problem(np.eye(3), off)) is None


def test_one_sided_squares_are_not_held():
    """A squared hinge on K_00 lets it grow for one target and stops it for the other."""
    problem = falling("squared_hinge", 1.0)
    assert recession._kept_still(problem) is None
    assert recession._falls(problem, FIRST, 1e-9)
    assert not recession._falls(falling("squared_hinge", -1.0), FIRST, 1e-9)


def test_values_vanish_where_the_rows_of_the_basis_say_so():
    """Entries by a row of zeros at either end, distances by two rows that are the same."""
    basis = nm.Basis(np.array([[0.0, 0.0], [0.6, 0.0], [0.8, 0.0], [0.0, 0.5**0.5], [0.0, 0.5**0.5]]))
    entries = nm.Entries(5, ([0, 1, 1, 0], [1, 0, 2, 0]))
    assert recession._vanishing(entries, basis).tolist() == [True, True, False, True]
    apart = nm.SquaredDistances(5, ([1, 3, 3], [2, 4, 0]))
    assert recession._vanishing(apart, basis).tolist() == [False, True, False]
    assert not recession._vanishing(entries, None).any()
    assert not recession._vanishing(nm.TotalSum(5), basis).any()


def test_squares_vanish_on_the_null_space_of_their_rows():
    """In a basis a direction is projected there, and what is left of the values is paid for."""
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 3)))[0]
    parts = [
        nm.Constraint(nm.SquaredDistances(5, ([0], [1])), equal=0.0),
        nm.Constraint(nm.Entries(5, ([2], [2])), equal=0.0),
    ]
    problem = nm.Problem(-np.eye(5), parts, basis=nm.Basis(Q))
    D, reach = recession._within_rows(problem, problem.lift(np.ones((3, 1))), parts)
    a = np.stack([Q[0] - Q[1], Q[2]])
    null = np.linalg.svd(a)[2][2]
    np.testing.assert_allclose(problem.drop(D)[:, 0], null * null.sum(), atol=1e-12)
    assert 0 < reach < 1e-9
    total = [*parts, nm.Constraint(nm.TotalSum(5), equal=0.0)]
    assert recession._within_rows(problem, D, total) is None  # as many rows as the basis has
    same = [parts[0], parts[0]]
    assert recession._within_rows(problem, D, same) is None


def test_values_that_are_no_squares_are_held_by_their_own_matrices():
    """In a basis rows of its points say nothing of a difference of distances: it is zero, or nothing is proved."""
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 5)))[0]
    apart, more = nm.SquaredDistances(6, ([0], [1])), nm.DistanceDifferences(6, ([2], [3], [4]))
    problem = nm.Problem(-np.eye(6), square(apart), basis=nm.Basis(Q))
    D = problem.lift(np.random.default_rng(3).normal(size=(5, 1)))
    one = np.ones(1, dtype=bool)
    still, reach = recession._exactly_still(problem, D, [(apart, one)])
    assert apart.value_of_factor(still)[0] < 1e-24
    assert reach < 1e-9
    with np.errstate(all="ignore"):  # residuals relative to zero
        both = recession._exactly_still(problem, D, [(apart, one), (more, one)])
    assert both is None or abs(more.value_of_factor(both[0])[0]) < 1e-9


def square(functional):
    return nm.LossTerm(functional, "square", 0.0)


def test_nothing_to_hold_leaves_a_direction_as_it_is():
    """A mask of no values asks for nothing."""
    problem = falling()
    found = recession._exactly_still(problem, FIRST, [(DIAGONAL, np.zeros(1, dtype=bool))])
    assert found[0] is FIRST
    assert found[1] == 0.0
    held = recession._exactly_still(problem, np.array([[1.0, 0], [1e-9, 1]]), [(OFF, np.ones(1, dtype=bool))])
    assert held is None  # rows at right angles, up to rounding: nothing is proved


def test_a_total_sum_is_the_sum_of_all_rows():
    """In a basis 1'K1 = |1'Q w|^2."""
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 3)))[0]
    part = nm.Constraint(nm.TotalSum(5), equal=0.0)
    problem = nm.Problem(-np.eye(5), part, basis=nm.Basis(Q))
    D, _ = recession._within_rows(problem, problem.lift(np.ones((3, 1))), [part])
    assert abs(D.sum()) < 1e-12
    assert np.linalg.norm(D) > 0.1


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_what_may_be_meant_to_be_zero_is_judged_by_what_is_linear(scale):
    """K_ii and distances are squares: their roots are compared with the unit, whatever the length of D."""
    D = scale * np.array([[1e-8], [1.0], [1.0 + 1e-8]])
    entries = nm.Entries(3, ([0, 0, 1], [0, 1, 2]))
    assert recession._still(entries, D, 1e-6).tolist() == [True, False, False]
    assert recession._still(entries, D, 1e-9).tolist() == [False, False, False]
    apart = nm.SquaredDistances(3, ([1, 0], [2, 1]))
    assert recession._still(apart, D, 1e-6).tolist() == [True, False]
    assert recession._still(apart, D, 1e-9).tolist() == [False, False]
    assert recession._still(nm.TotalSum(3), D, 1e-6).tolist() == [False]
    assert recession._still(nm.TotalSum(3), D - D.mean(), 1e-6).tolist() == [True]
