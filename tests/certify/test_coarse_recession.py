"""Directions along which an objective falls, on a machine with few digits: which sign, size and reach they need."""

import numpy as np
import pytest
from scipy.optimize import brentq

import npkl_models as nm
from npkl_models.certify import recession

N, U = 4, 2.0**-12
EYE = np.eye(N)
FREE = nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 1.0)


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def hinge(i, j, target, weight=1.0):
    return nm.LossTerm(nm.Entries(N, ([i], [j])), "hinge", target, weight)


def falls(cost, terms, D, reach=0.0, R=None, equal=()):
    """Whether that is a direction, where the exact one is within ``reach``."""
    terms = terms if isinstance(terms, tuple) else (terms,)
    problem = nm.Problem(cost, (*terms, *equal), nm.NoRegularizer() if R is None else R)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recession, "_exactly_still", lambda p, D, held: (D, reach))
        return recession._falls(problem, np.array(D, dtype=float).reshape(N, -1), 1e-9)


def test_a_rate_is_the_cost_and_the_dearer_slope_of_each_loss():
    """Along e_2 the cost falls by one; a hinge on K_22 adds its weight where the value grows against it."""
    cost = np.diag([1.0, 1, -1, 1])
    e2 = EYE[2]
    assert falls(cost, hinge(0, 1, 1.0), e2)
    for weight, wanted in ((0.9, True), (1.1, False)):
        assert falls(cost, hinge(2, 2, -1.0, weight), e2) == wanted
        assert falls(0.5 * EYE, hinge(2, 2, 1.0, 5.0), e2) is False
        assert falls(np.diag([1.0, 1, -1, 1]), hinge(2, 2, 1.0, weight), e2)


def test_a_linear_loss_may_make_the_rate_negative():
    """The slope of -w z is -w on either side."""
    gain = nm.LossTerm(nm.Entries(N, ([2], [2])), "linear", 1.0, 3.0)
    assert falls(2.9 * EYE, gain, EYE[2])
    assert not falls(3.1 * EYE, gain, EYE[2])
    loss = nm.LossTerm(nm.Entries(N, ([2], [3])), "linear", 1.0, 3.0)
    D = (EYE[2] - EYE[3]) / 2**0.5  # <M, DD'> = -1/2 there
    assert not falls(-1.4 * EYE, loss, D)
    assert falls(-1.6 * EYE, loss, D)


def test_the_shift_of_a_regulariser_counts_with_the_length():
    """Beside the hinge on K_01, whose sign is not sure within r, rows are 1 + 1/2 + 1/2: 0.9 = 2 * 2 (6 r + r^2)."""
    R = nm.TracePower(1, penalty=0.5)
    for low, wanted in ((-0.6, True), (-0.4, False)):
        cost = np.diag([1.0, 1, low, 1])
        assert falls(cost, hinge(0, 1, 1.0), 7 * EYE[2], R=R) == wanted
        with pytest.MonkeyPatch.context() as patch:  # what is exactly still may be of another length
            patch.setattr(recession, "_exactly_still", lambda p, D, held: (3 * D, 0.0))
            problem = nm.Problem(cost, hinge(0, 1, 1.0), R)
            assert recession._falls(problem, EYE[:, 2:3], 1e-9) == wanted
            patch.setattr(recession, "_exactly_still", lambda p, D, held: (3 * D, 3 * 0.0129))
            assert not recession._falls(problem, EYE[:, 2:3], 1e-9)
            patch.setattr(recession, "_exactly_still", lambda p, D, held: (3 * D, 3 * 0.0119))
            assert recession._falls(problem, EYE[:, 2:3], 1e-9) == wanted


def test_values_without_end_must_not_grow():
    """Of a square loss neither sign may move, of a squared hinge only the good one."""
    cost = -EYE
    square = nm.LossTerm(nm.Entries(N, ([2, 0], [2, 0])), "square", 1.0)
    assert not falls(cost, square, EYE[2])
    assert falls(cost, square, EYE[3])
    round_ = nm.LossTerm(nm.Entries(N, ([2, 0], [2, 0])), "squared_hinge", [1.0, -1.0])
    assert falls(cost, round_, EYE[2])
    assert not falls(cost, round_, EYE[0])


@pytest.mark.parametrize(("columns", "reach"), [(2, 0.0), (3, 0.0), (2, 0.03125)])
def test_what_is_within_rounding_or_reach_of_a_bad_sign_is_bad(columns, reach, monkeypatch):
    """(64 + 8 r) units of the size, and what the reach may change: a value must be beyond both."""
    monkeypatch.setattr(recession, "gamma", lambda k: k * U)
    f = nm.Entries(N, ([2], [3]))

    def point(share):
        D = np.zeros((N, columns))
        D[2:, :2] = [[1.0, 1.0], [1.0, -1.0 + share]]
        return D / np.linalg.norm(D)

    def beyond(share):
        D = point(share)
        doubt = (64 + 8 * columns) * U * f.size_of_factor(D)[0]
        doubt += reach * np.linalg.norm(D[2:], axis=1).sum() + reach**2
        return f.value_of_factor(D)[0] / doubt

    for sign in (1.0, -1.0):  # the sign that may not be must be further than that from it
        loss = nm.LossTerm(f, "squared_hinge", sign)
        share = brentq(lambda x: beyond(x) - 1, 1e-9, 3.0)
        for factor, wanted in ((1.01, True), (0.99, False)):
            D = point(share * factor)
            D[3] *= sign
            assert falls(-9 * EYE, loss, D, reach) == wanted


def test_the_fall_must_be_beyond_what_the_reach_may_change():
    """rate < -2 scale (2 reach |D| + reach^2), with the row sums of the cost as the scale."""
    cost = np.diag([3.0, 1, -1, 1])
    cost[0, 1] = cost[1, 0] = 1.0
    for scale, more in ((4.0, ()), (9.0, hinge(0, 0, -1.0, 5.0))):
        terms = (FREE, more) if more else FREE
        D = EYE[2] + (1e-3 * EYE[0] if more else 0)
        D = D / np.linalg.norm(D)
        rate = D @ cost @ D + (5.0 * D[0] ** 2 if more else 0.0)
        r = (1 + -rate / 2 / scale) ** 0.5 - 1  # (r^2 + 2 r) scale = -rate / 2
        monkey = 0.999, 1.001
        assert falls(cost, terms, D, r * monkey[0]) or more
        assert not falls(cost, terms, D, r * monkey[1])
    assert not falls(np.diag([4.0, 1, -3e-8, 1]), FREE, EYE[2])
    assert falls(np.diag([4.0, 1, -5e-8, 1]), FREE, EYE[2])


def test_what_is_held_is_what_equalities_and_endless_losses_ask_for(monkeypatch):
    seen = []
    monkeypatch.setattr(recession, "_exactly_still", lambda p, D, held: seen.append(held))
    square = nm.LossTerm(nm.Entries(N, ([0, 2], [0, 2])), "squared_hinge", [1.0, 1.0])
    both = nm.LossTerm(nm.Entries(N, ([1, 3], [1, 3])), "hinge", [1.0, 1.0])
    equal = nm.Constraint(nm.Entries(N, ([0, 1], [1, 3])), equal=0.0)
    problem = nm.Problem(-EYE, (square, both, equal))
    assert not recession._falls(problem, EYE[:, 2:3] * 1e-200, 1e-9)
    masks = [mask.tolist() for _, mask in seen[0]]
    assert masks == [[True, False], [False, False], [True, True]]


def test_values_on_rows_that_a_basis_lacks_vanish():
    Q = np.array([[1.0, 0], [1, 0], [0, 1], [0, 0]]) / np.array([2**0.5, 1])
    basis = nm.Basis(Q)
    entries = nm.Entries(N, ([0, 0, 3, 2], [1, 3, 2, 2]))
    assert recession._vanishing(entries, basis).tolist() == [False, True, True, False]
    apart = nm.SquaredDistances(N, ([0, 0], [1, 2]))
    assert recession._vanishing(apart, basis).tolist() == [True, False]
    assert recession._vanishing(entries, None).tolist() == [False] * 4
    assert recession._vanishing(nm.TotalSum(N), basis).tolist() == [False]
    held = [(entries, np.array([False, True, True, False])), (apart, np.array([True, False]))]
    D = basis.Q[:, :1]
    assert recession._exactly_still(nm.Problem(-EYE, FREE, basis=basis), D, held) == (D, 0.0)


@pytest.mark.parametrize("kind", ["apart", "entries", "sum"])
def test_squares_in_a_basis_vanish_on_a_null_space_of_rows(kind, monkeypatch):
    """W - A^+ A W, and twice what is left of A W over the smallest singular value of rows of length one."""
    monkeypatch.setattr(recession, "gamma", lambda k: k * 1e-7)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(N, 3)))[0]
    problem = nm.Problem(-EYE, FREE, basis=nm.Basis(Q))
    D = problem.lift(np.array([[1.0], [2.0], [-1.0]]))
    f, A = {
        "apart": (nm.SquaredDistances(N, ([0, 2], [1, 3])), Q[[0, 2]] - Q[[1, 3]]),
        "entries": (nm.Entries(N, ([0, 3], [0, 3])), Q[[0, 3]]),
        "sum": (nm.TotalSum(N), Q.sum(axis=0, keepdims=True)),
    }[kind]
    there, reach = recession._within_rows(problem, D, [nm.Constraint(f, equal=0.0)])
    assert np.max(np.abs(f.value_of_factor(there))) < 1e-15
    A = A / np.linalg.norm(A, axis=1)[:, None]
    W = problem.drop(D)
    W = W - np.linalg.pinv(A) @ (A @ W)
    np.testing.assert_allclose(there, Q @ W, atol=1e-12)
    doubt, sigma = 16 * 19e-7 * len(A), np.linalg.svd(A, compute_uv=False)[-1]
    assert reach == pytest.approx(2 * doubt * np.linalg.norm(W) / (sigma - doubt), rel=1e-6)
    monkeypatch.setattr(recession, "gamma", lambda k: sigma / (16 * len(A)) / 999)
    assert recession._within_rows(problem, D, [nm.Constraint(f, equal=0.0)]) is None
    every = nm.Constraint(nm.Entries(N, ([0, 1, 2], [0, 1, 2])), equal=0.0)
    assert recession._within_rows(problem, D, [every]) is None


def test_meant_to_be_zero_is_told_by_what_is_linear():
    """Lengths of rows against the longest, differences against the longer of two, sums against all lengths."""
    D = np.array([[1.0, 0], [1e-3, 0], [1, 1e-3], [0, 2.0]])
    own = nm.Entries(N, ([0, 1, 0], [0, 1, 1]))
    assert recession._still(own, D, 0.6e-3).tolist() == [False, True, False]
    assert recession._still(own, D, 0.4e-3).tolist() == [False, False, False]
    apart = nm.SquaredDistances(N, ([0, 3], [2, 1]))
    assert recession._still(apart, D, 1.001e-3).tolist() == [True, False]
    assert recession._still(apart, D, 0.999e-3).tolist() == [False, False]
    short = nm.SquaredDistances(N, ([1], [3]))
    assert recession._still(short, np.array([[0.0], [1.0], [0], [3.0]]), 0.7).tolist() == [True]
    E = np.array([[1.0, 1.0], [-1.0, 1.0], [0, -2.1], [0, 0]])
    size = 2 * 2**0.5 + 2.1
    assert recession._still(nm.TotalSum(N), E, 0.101 / size).tolist() == [True]
    assert recession._still(nm.TotalSum(N), E, 0.099 / size).tolist() == [False]
