"""Exactly feasible kernels near a point on a machine with few digits, against closed forms."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.feasibility import analytic_centre, kantorovich
from npkl_models.feasibility.equality_map import EqualityMap
from npkl_models.feasibility.kantorovich import Anchor, Near
from npkl_models.model import rounding

N, U = 4, 2.0**-12
EYE = np.eye(N)
DIAGONAL = nm.Equality(nm.Entries(N, (range(N), range(N))), [1.0, 4.0, 0.25, 0.0])
ACROSS = nm.Equality(nm.Entries(N, ([0, 1], [1, 2])), [0.5, 0.0])
APART = nm.Equality(nm.SquaredDistances(N, ([0, 2], [1, 3])), [2.0, 1.0])
SQUARE = nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 3.0)
V = np.array([[1.0, 0.5], [-0.5, 2.0], [0.25, 1.0], [1.5, -1.0]])


def equal(*parts, R=None, basis=None, terms=()):
    return nm.Problem(EYE, terms, parts, *((R,) if R is not None else ()), basis=basis)


@pytest.fixture
def coarse(monkeypatch):
    monkeypatch.setattr(kantorovich, "gamma", lambda k: k * U)
    monkeypatch.setattr(kantorovich, "UNIT", U)


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def test_an_upper_bound_adds_what_the_way_costs():
    problem, nu = equal(ACROSS, terms=SQUARE), (np.array([0.5, -1.0]),)
    along = rounding.sensitivity(problem, V, 0.125, nu)
    assert along > 0.1
    assert Near(0.125).upper(problem, V, 7.0, nu) == near(7 + along)
    W = 2 * EYE
    assert Near(0.125, 0.0, W).upper(problem, V, 7.0, nu) == near(7 + along)
    assert Near(0.0).share == 0.0
    mixed = np.hstack([0.75**0.5 * V, 0.5 * W])
    np.testing.assert_allclose(kantorovich.mixture(V, W, 0.25), mixed)
    along = rounding.sensitivity(problem, mixed, 0.125, nu)
    away = problem.objective_of_factor(W)
    assert away == near(16 + 9 / 2 * SQUARE.loss.value(np.zeros(1), np.array([1.0]))[0] * 2)
    assert Near(0.125, 0.25, W).upper(problem, V, 7.0, nu) == near(7 + 0.25 * (away - 7) + along)
    assert Near(0.125, 0.25, W).upper(problem, V, 99.0, nu) == near(99 + along)
    far = Near(0.125, 1.0, W).upper(problem, V, 7.0, nu)
    assert far == near(away + rounding.sensitivity(problem, kantorovich.mixture(V, W, 1.0), 0.125, nu))


def test_rows_are_as_far_from_their_lengths_as_the_root_of_the_squares(monkeypatch):
    monkeypatch.setattr(kantorovich, "gamma", lambda k: k * 1e-9)
    rows = np.array([[1.0, 1e-4], [2.0, 0.0], [0.5, 0.0], [0.0, 0.0]])
    error = np.array([1e-8 + 18e-9 * (1 + 1e-8), 18e-9 * 4, 18e-9 * 0.25, 0.0])
    found = kantorovich._of_lengths(equal(DIAGONAL), rows)
    assert found == near(np.linalg.norm(error / [1.0, 2.0, 0.5, 1.0]))
    two = [nm.Equality(nm.Entries(N, ([i], [i])), v) for i, v in ((0, 1.0), (1, 4.0))]
    assert kantorovich._of_lengths(equal(*two), rows) == near(np.hypot(error[0], error[1] / 2))
    monkeypatch.setattr(kantorovich, "gamma", lambda k: k * U)
    assert kantorovich._of_lengths(equal(DIAGONAL), rows) == np.inf


@pytest.mark.parametrize(
    ("value", "length", "fits"),
    [(1.0, 1.0 + 4e-7, True), (1.0, 1.0 + 6e-7, False), (100.0, 10 + 4e-6, True), (0.01, 0.1 + 6e-8, False),
     (0.0, 0.0, True), (0.0, 1e-9, False), (-1e-9, 0.0, False), (0.5, 0.5**0.5, True)],
)  # fmt: skip
def test_only_lengths_that_nearly_fit_are_scaled(value, length, fits):
    """A millionth of the square at most; none that is negative, and zero only where it is zero."""
    part = nm.Equality(nm.Entries(N, ([1, 0], [1, 0])), [1.0, value])
    rows = np.zeros((N, 1))
    rows[:2, 0] = length, 1.0
    assert np.isfinite(kantorovich._of_lengths(equal(part), rows)) == fits


def test_newtons_reach_is_twice_the_misfit_over_the_singular_value():
    """The Lipschitz constant is twice the norm of the sums |coefficients|: 1, 1 of entries, 4, 4 of distances."""
    problem = equal(ACROSS, APART)
    L = 2 * np.linalg.norm([1, 1, 4, 4])
    sums = [np.abs(p.functional.triplets().coefficient).sum() for p in (ACROSS, APART)]
    assert sums == [2.0, 8.0]
    F = 0.25 * 0.5**2 / L
    assert kantorovich._of_newton(problem, 0.999 * F, 0.5) == near(2.001 * 0.999 * F / 0.5)
    assert kantorovich._of_newton(problem, 1.001 * F, 0.5) == np.inf
    assert kantorovich._of_newton(problem, 0.0, 0.5) == 0.0
    assert kantorovich._of_newton(problem, 0.0, 0.0) == np.inf


def test_the_misfit_has_a_margin_of_each_value(coarse):
    problem = equal(ACROSS, APART)
    wanted = []
    for part in (ACROSS, APART):
        f = part.functional
        wanted += list(np.abs(f.value_of_factor(V) - part.value) + 18 * U * f.size_of_factor(V))
    assert kantorovich._residual(problem, V) == near(np.linalg.norm(wanted))


@pytest.mark.parametrize("inner", [False, True])
def test_the_sizes_of_a_derivative_are_sums_of_lengths(inner):
    basis = nm.Basis(np.linalg.qr(V)[0]) if inner else None
    problem = equal(ACROSS, APART, basis=basis)
    lengths = np.linalg.norm(V, axis=1)
    width = np.linalg.norm(basis.Q, axis=1) if inner else np.ones(N)
    wanted = []
    for part in (ACROSS, APART):
        t, own = part.functional.triplets(), np.zeros(part.functional.size)
        for e, i, j, c in zip(t.owner, t.row, t.column, t.coefficient, strict=True):
            own[e] += abs(c) * (width[i] * lengths[j] + width[j] * lengths[i])
        wanted += list(own)
    np.testing.assert_allclose(kantorovich._derivative_sizes(EqualityMap(problem), V), wanted, rtol=1e-12)


def test_independence_is_that_of_rows_of_length_one_less_three_margins(coarse):
    problem = equal(nm.Equality(nm.Entries(N, ([0, 2, 0], [0, 2, 1])), 1.0))
    X = np.array([[3.0], [1.0], [0.5], [0.0]])
    J = np.array([[6.0, 0, 0, 0], [0, 0, 1.0, 0], [1, 3, 0, 0]])
    lengths = np.linalg.norm(J, axis=1)
    unit = J / lengths[:, None]
    square = 0.95 * np.linalg.eigvalsh(unit @ unit.T)[0] - (2 + 4) * U * 3
    own = 32 * U * np.linalg.norm(kantorovich._derivative_sizes(EqualityMap(problem), X) / lengths)
    assert kantorovich.independence(problem, X) == pytest.approx(
        (square**0.5 - own) * lengths.min(), rel=1e-3
    )
    assert kantorovich.independence(problem, 0 * X) == 0.0
    assert kantorovich.independence(problem, np.array([[3.0], [1.0], [0.0], [0.0]])) == 0.0
    assert kantorovich.independence(problem, np.array([[3.0], [np.inf], [1.0], [0.0]])) == 0.0


@pytest.mark.parametrize(("bound", "fits"), [(1.0, True), (0.999, False)])
def test_a_trace_must_leave_room_for_all_within_reach(bound, fits, coarse):
    """The change of the nuclear norm is at most reach (2 sqrt(tr) + reach), and rounding of the trace."""
    trace, reach = float(np.sum(V**2)), 0.125
    more = reach * (2 * trace**0.5 + reach) + ((64 + 4) * U + N * U) * trace
    R = nm.TracePower(1, bound=(trace + more) * (bound + 1e-6))
    assert kantorovich._confined(equal(ACROSS, R=R), V, reach) == fits
    assert kantorovich._confined(equal(ACROSS, R=nm.TracePower(1, bound=trace * 0.999)), V, 0.0) is False
    assert kantorovich._confined(equal(ACROSS), V, 99.0)


def test_rows_that_equalities_fix_need_no_room():
    """K_00 = 4 is within a radius of two exactly, though a factor within reach may be longer."""
    fixed = nm.Equality(nm.Entries(N, (range(N), range(N))), 4.0)
    for radius, fits in ((2.0, True), (2.0 - 2e-16, False), (3.0, True)):
        assert kantorovich._confined(equal(fixed, R=nm.RowNormBound(radius)), 2 * EYE, 1e-9) == fits
        assert kantorovich.exceeds(equal(fixed, R=nm.RowNormBound(radius))) != fits
    free = nm.Equality(nm.Entries(N, ([0], [0])), 4.0)
    assert not kantorovich._confined(equal(free, R=nm.RowNormBound(2.0)), 2 * EYE, 1e-9)
    assert kantorovich._confined(equal(free, R=nm.RowNormBound(2.0 + 1e-8)), 2 * EYE, 1e-9)


def test_more_than_a_bound_grants_is_told_exactly():
    ask = nm.Equality(nm.Entries(N, ([0, 1, 2], [0, 1, 2])), [0.1, 0.2, -5.0])
    assert kantorovich.exceeds(equal(ask, R=nm.TracePower(1, bound=0.3)))  # 0.1 + 0.2 is more than 0.3
    assert not kantorovich.exceeds(equal(ask, R=nm.TracePower(1, bound=0.3 + 1e-16)))
    assert not kantorovich.exceeds(equal(ask, R=nm.TracePower(2, bound=0.1)))
    assert not kantorovich.exceeds(equal(ask, R=nm.TracePower(1, penalty=0.1)))
    assert not kantorovich.exceeds(equal(ACROSS, R=nm.TracePower(1, bound=0.3)))
    assert not kantorovich._sums_to_at_most(np.array([1.0, np.inf]), 5.0)
    assert not kantorovich._sums_to_at_most(np.array([1.0]), None)
    assert kantorovich._sums_to_at_most(np.array([1.0, 4.0]), 5.0)
    assert not kantorovich._at_most(np.inf, 5.0)
    assert kantorovich._at_most(9.0, 3.0)
    assert not kantorovich._at_most(np.nextafter(9.0, 10), 3.0)


def test_an_anchor_helps_with_the_better_of_two_proofs(monkeypatch):
    """The smallest share that proves anything, with the shorter of the two ways."""
    problem, seen = equal(ACROSS, terms=SQUARE), []
    monkeypatch.setattr(kantorovich, "misses_little", lambda p, X: True)
    monkeypatch.setattr(kantorovich, "anchor", lambda p: Anchor(EYE, 0.5, (0.25, 0.125)))
    monkeypatch.setattr(kantorovich, "_residual", lambda p, X: 0.001)
    ways = {"newton": 3.0, "inside": 2.0}
    monkeypatch.setattr(kantorovich, "_of_newton", lambda p, F, s: seen.append((F, s)) or ways["newton"])
    monkeypatch.setattr(analytic_centre, "reach", lambda F, d, t: ways["inside"] if t > 1e-13 else np.inf)
    found = kantorovich._by_anchor(problem, V)
    assert (found.reach, found.share) == (3.0, 1e-15)
    assert seen == [(0.001, 0.5 * 1e-15**0.5)]
    ways["newton"] = np.inf
    found = kantorovich._by_anchor(problem, V)
    assert (found.reach, found.share) == (2.0, 1e-12)
    ways["newton"] = 1.0
    assert kantorovich._by_anchor(problem, V).anchor is not None
    ways.update(newton=np.inf, inside=np.inf)
    assert kantorovich._by_anchor(problem, V) is None
    assert [s for _, s in seen[-10:]] == [near(0.5 * t**0.5) for t in kantorovich.SHARES]
    assert Anchor(EYE, 1.0).depth == (0.0, 0.0)
