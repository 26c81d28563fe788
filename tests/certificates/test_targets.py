"""Targets that a point meets exactly: closed forms of values and gaps, and the direction of every rounding."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from adversary import exact
from adversary.given import Exact

import npkl_models as nm
from npkl_models.certificates.bounds import CertifyOptions
from npkl_models.certificates.points import read_point
from npkl_models.certificates.prove import known, prove
from npkl_models.kernel import Target, gap_for, target_of
from npkl_models.model.misses import Miss

NOTHING = nm.LossTerm(nm.SquaredDistances(2, ([0], [0])), "square", 0.0)
NOTHING5 = nm.LossTerm(nm.SquaredDistances(5, ([0], [0])), "square", 0.0)
FIRST = nm.Constraint(nm.Entries(2, ([0], [0])), equal=4.0, name="first")
COST = np.diag([2.0, 3.0])


def dual(bound, terms=(), equalities=()):
    """Multipliers and a bound that a proof leaves."""
    return nm.Multipliers(tuple(map(np.array, terms)), tuple(map(np.array, equalities))), bound


def target(top=1.0, missed=(), over=0.0, below=None, upper=np.inf):
    return Target(np.ones((2, 1)), top, top, upper, list(missed), over, 1.0, below)


def miss(residual, doubt):
    return Miss("first", np.array([residual]), np.array([doubt]), abs(residual) / 4)


# --------------------------------------------------------------- whole certificates


@pytest.mark.parametrize("kind", ["factor", "kernel"])
@pytest.mark.parametrize("v", [2.0, 1.9, 2.2, 0.0, 20.0])
@pytest.mark.parametrize("nu", [-2.0, -1.0, -0.5])
def test_the_gap_of_one_equality_is_that_of_its_own_value(nu, v, kind):
    """Min 2 K_00 + 3 K_11, K_00 = 4: with the target v^2 the multiplier has the bound -nu v^2, f is 2 v^2."""
    problem = nm.Problem(COST, FIRST)
    V = np.array([[v, 0.0], [0.0, 0.0]])
    point = V if kind == "factor" else V @ V.T
    found = nm.certify(problem, point, nm.Multipliers((), (np.array([nu]),)), kind=kind)
    assert found.objective == pytest.approx(2 * v * v)
    assert found.bound == pytest.approx(-4 * nu)
    assert found.gap == pytest.approx((2 + nu) * v * v, abs=1e-10)
    assert found.gap >= max((2 + nu) * v * v, 0.0)
    assert found.violation == pytest.approx(abs(v * v / 4 - 1), rel=1e-12, abs=1e-13)
    assert found.missed == "first"
    assert found.feasible == (v == 2.0)
    assert np.isfinite(found.relative_gap) == (v == 2.0)
    assert found.upper == np.inf


def test_rows_beyond_their_bound_meet_a_longer_one():
    """Min 2 K_00 - 3 K_11 with rows up to 1: the multiplier 3 of row 1 costs 3 b^2, and the point has b = 1.5."""
    problem = nm.Problem(np.diag([2.0, -3.0]), (NOTHING,), regularizer=nm.RowNormBound(1.0))
    y = nm.Multipliers((np.zeros(1),), (np.array([0.0, 4.0]),))
    found = nm.certify(problem, np.array([[0.0], [1.5]]), y)
    assert found.bound == pytest.approx(-4)
    assert found.gap == pytest.approx(4 * 2.25 - 3 * 2.25)
    assert found.violation == pytest.approx(1.25)
    assert found.missed == "row norms"
    assert found.upper == np.inf
    assert found.relative_gap == np.inf
    inside = known(problem, np.array([[0.0], [0.5]]), y)  # no others are searched for
    assert inside.upper == pytest.approx(-0.75)
    assert inside.gap == pytest.approx(4 - 0.75)
    assert inside.missed == ""


def test_a_trace_beyond_its_bound_pays_for_its_own():
    """Min -3 K_11 with tr K <= 1: R*(-S) = 3 B, and the point of trace 4 owes for no less than B = 4."""
    problem = nm.Problem(np.diag([2.0, -3.0]), (NOTHING,), regularizer=nm.TracePower(1, bound=1.0))
    found = nm.certify(problem, np.array([[0.0], [2.0]]), nm.Multipliers((np.zeros(1),)))
    assert found.bound == pytest.approx(-3)
    assert found.objective == pytest.approx(-12)
    assert found.gap >= -12 + 3 * 4
    assert found.violation == pytest.approx(3)


@pytest.mark.parametrize("e", [1e-9, 1e-3, 1.0])
def test_a_negative_eigenvalue_pays_for_the_slack_in_units_of_the_rows(e):
    """K = [[4, 2 + 2e], [2 + 2e, 1]] is PSD with diag(4 e, e) more, and at nu = -1 the slack is diag(1, 3)."""
    problem = nm.Problem(COST, FIRST)
    K = np.array([[4.0, 2 + 2 * e], [2 + 2 * e, 1.0]])
    demand = CertifyOptions("auto", 1e-6, 1e-6, None, False)
    found = prove(problem, K, nm.Multipliers((), (np.array([-1.0]),)), "kernel", demand)
    assert found.objective == pytest.approx(11)
    assert found.bound == pytest.approx(4)
    assert found.gap == pytest.approx(7 + 7 * e)
    assert found.gap >= float(7 + 7 * Fraction(e) * (1 - Fraction(1, 10**5)))
    assert found.point_min_eigenvalue == pytest.approx(np.linalg.eigvalsh(K)[0])
    assert found.indefinite == pytest.approx(e / (2 + e))
    assert found.feasible == np.isfinite(found.relative_gap) == (e < 1e-7)
    assert found.upper == np.inf


@pytest.mark.parametrize("e", [1e-300, 1e-9, 1.0])
def test_a_negative_entry_of_the_diagonal_is_not_small_beside_another(e):
    """In the unit of its own row it is as negative as can be."""
    found = nm.certify(nm.Problem(COST, FIRST), np.diag([4.0, -e]), search=0)
    assert found.indefinite == pytest.approx(1.0, rel=0.8)
    assert not found.feasible


def test_a_point_outside_the_basis_is_valued_there_and_here():
    """K = q u q' with q = e_0, and a point with a second row: the targets are those of its projection."""
    problem = nm.Problem(np.diag([2.0, -3.0]), FIRST, basis=nm.Basis(np.eye(2)[:, :1]))
    V, y = np.array([[2.0], [1.0]]), nm.Multipliers((), (np.array([-2.0]),))
    found = nm.certify(problem, V, y)
    assert found.objective == pytest.approx(8 - 3)
    assert found.bound == pytest.approx(8)
    assert found.gap == pytest.approx(0, abs=1e-12)  # the projection costs 8, and no less is taken
    assert found.missed == "basis"
    assert found.violation == pytest.approx(1 / 5**0.5)
    dear = nm.Problem(COST, FIRST, basis=nm.Basis(np.eye(2)[:, :1]))
    assert nm.certify(dear, V, y).gap == pytest.approx(3)  # of the point itself, which costs 11
    free = nm.Problem(COST, (NOTHING,), basis=nm.Basis(np.eye(2)[:, :1]))
    zero = nm.Multipliers((np.zeros(1),))
    assert nm.certify(free, V, zero).upper == np.inf
    assert nm.certify(free, V * [[1.0], [0.0]], zero).upper == pytest.approx(8)
    K = np.diag([4.0, -0.5])
    assert nm.certify(free, K, zero).objective == pytest.approx(8 - 1.5)
    assert nm.certify(free, K, zero).gap == pytest.approx(8)


# --------------------------------------------------------------------- the parts


def test_residuals_are_priced_with_their_sign_and_doubts_without():
    problem = nm.Problem(COST, FIRST)
    for nu in (-3.0, 3.0):
        by = dual(0.25, (), ([nu],))
        assert gap_for(problem, target(missed=[miss(0.5, 0.0)]), *by) == pytest.approx(0.75 + 0.5 * nu)
        assert gap_for(problem, target(missed=[miss(0.0, 0.125)]), *by) == pytest.approx(0.75 + 0.125 * 3)
    assert gap_for(problem, target(missed=[miss(0.5, 0.0)]), *dual(-np.inf, (), ([1.0],))) == np.inf


def test_the_gap_is_rounded_upwards_unless_the_point_meets_everything():
    problem = nm.Problem(COST, FIRST)
    for top, bound in ((1.0, -1e-17), (1e9, 0.1), (3.0, 3.0 - 2**-51)):
        own = gap_for(problem, target(top=top, missed=[miss(0.0, 0.0)]), *dual(bound, (), ([1.0],)))
        assert (
            Fraction(top) - Fraction(bound)
            < Fraction(own)
            < Fraction(top) - Fraction(bound) + Fraction(1, 10**4)
        )
    exactly = target(top=1.0, upper=1.0)
    assert gap_for(nm.Problem(COST, NOTHING), exactly, *dual(-1e-17, ([0.0],))) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_what_a_bound_owes_is_not_lost_beside_large_conjugates(seed):
    """Found by the adversary: R*(-S) is lost beside conjugates of 1e20, and the point is 1e12 times too long."""
    loss = nm.LossTerm(nm.Entries(2, ([1], [1])), "squared_hinge", -1.0, 0.01)
    problem = nm.Problem(np.array([[1.0, -2], [-2, 1]]), (loss, FIRST), nm.TracePower(1, bound=5.0))
    V = 1e6 * np.random.default_rng(seed).normal(size=(2, 2))
    found, own = nm.certify(problem, V, kind="factor"), Exact(problem, V)
    assert found.rigour == "proved"
    with mpmath.workdps(exact.DIGITS):
        true = exact.real(own.objective) - exact.dual_value(problem, found.multipliers)
        assert true + own.owed(found.multipliers) <= mpmath.mpf(found.gap)


def test_what_a_regulariser_is_owed_grows_with_the_square_of_the_radius():
    """A bound 1 below the conjugates, and a point that is half as long again: 1.25 more is owed."""
    every = nm.Constraint(nm.Entries(2, ([0, 1], [0, 1])), equal=[1.0, 3.0])
    problem = nm.Problem(COST, every)
    by = dual(-2.0, (), ([0.25, 0.25],))
    own = Miss("diagonal", np.array([0.5, -0.25]), np.array([0.125, 0.125]), 0.5)
    found = gap_for(problem, target(top=0.0, missed=[own], over=0.5), *by)
    assert found == pytest.approx(2 + 0.0625 + 0.0625 + 1.25)
    assert gap_for(problem, target(top=0.0, missed=[own]), *by) == pytest.approx(2 + 0.0625 + 0.0625)


@pytest.mark.parametrize("seed", range(6))
def test_the_top_is_no_less_than_the_exact_objectives(seed):
    rng = np.random.default_rng(seed)
    C, n = rng.normal(size=(6, 6)), 6
    loss = nm.LossTerm(nm.Entries(n, ([0, 1, 2], [3, 4, 5])), "absolute", rng.normal(size=3), 1.7)
    for basis in (None, nm.Basis(np.linalg.qr(rng.normal(size=(n, 3)))[0])):
        problem = nm.Problem(C + C.T, loss, basis=basis)
        for _ in range(8):
            V = rng.normal(size=(n, 3))
            found, own = target_of(problem, V), Exact(problem, V)
            assert max(own.objective, own.objective_there) <= Fraction(found.top)
            assert found.top == pytest.approx(float(max(own.objective, own.objective_there)), abs=1e-10)
            K = V @ V.T - 2 * np.eye(n)
            found, own = target_of(problem, read_point(problem, K).V, K), Exact(problem, K, kernel=True)
            assert max(own.objective, own.objective_there) <= Fraction(found.top)
            rows = own.there if basis is None else exact.reduce(basis.Q, own.there)
            for i, e in enumerate(found.below.tolist()):
                rows[i][i] += Fraction(e)
            assert exact.is_psd(rows)  # K + Diag(below)
            for i, e in enumerate(found.below.tolist()):
                rows[i][i] -= Fraction(1, 10**6) * Fraction(e)
            assert not exact.is_psd(rows)


@pytest.mark.parametrize("seed", range(20))
def test_what_a_kernel_owes_is_its_lack_times_the_slack(seed):
    """<S, Diag(below)> and no less, with the rounding of S; where S has a negative diagonal, it pays nothing back."""
    rng = np.random.default_rng(seed)
    problem = nm.Problem(
        np.diag(rng.uniform(0.1, 1.0, 3)), nm.Constraint(nm.Entries(3, ([0], [0])), equal=1.0)
    )
    e = 10.0 ** rng.uniform(-9, 0, 3)
    nu = nm.Multipliers((), (rng.uniform(0, 1, 1),))
    own = target(top=0.0, missed=[miss(0.0, 0.0)], below=e)
    S = exact.slack(problem, nu)
    owed = sum((S[i][i] * Fraction(e[i]) for i in range(3)), Fraction(0))
    assert owed <= Fraction(gap_for(problem, own, nu, 0.0))
    assert gap_for(problem, own, nu, 0.0) == pytest.approx(float(owed), rel=1e-9)
    down = nm.Multipliers((), (np.array([-7.0]),))
    assert gap_for(problem, own, down, 0.0) == pytest.approx(
        float(e[1:] @ problem.cost.diagonal()[1:]), rel=1e-9
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_excess_of_an_indefinite_kernel_is_no_less_than_the_exact_one(seed):
    """Of a kernel whose positive eigenvalues have the trace of the bound, but for their rounding."""
    X = np.random.default_rng(seed).normal(size=(5, 5))
    for K in (X + X.T, X[:, :3] @ X[:, :3].T - 1e-14 * np.eye(5)):
        bound = float(np.sum(np.maximum(np.linalg.eigvalsh(K), 0.0)))
        problem = nm.Problem(np.eye(5), NOTHING5, regularizer=nm.TracePower(1, bound=bound))
        found = target_of(problem, read_point(problem, K).V, K)
        assert mpmath.mpf(1 + found.excess) >= Exact(problem, K, kernel=True).grown
    assert found.excess < 1e-12  # of the one that is PSD but for rounding


def test_an_upper_bound_needs_every_constraint():
    """None of equalities, of rows longer by a rounding, and of a point outside the basis."""
    V = np.array([[1.0], [0.5]])
    assert np.isfinite(target_of(nm.Problem(COST, NOTHING), V).upper)
    met = nm.Constraint(nm.Entries(2, ([0], [0])), equal=1.0)
    assert target_of(nm.Problem(COST, (NOTHING, met)), V).upper == np.inf
    for rows, finite in ((1.0, False), (1 + 1e-14, True)):
        problem = nm.Problem(COST, NOTHING, regularizer=nm.RowNormBound(rows))
        assert np.isfinite(target_of(problem, V).upper) == finite
    basis = nm.Problem(COST, NOTHING, basis=nm.Basis(np.eye(2)[:, :1]))
    assert target_of(basis, V).upper == np.inf


def test_multipliers_are_those_of_the_problem_as_written():
    """Points 0 and 1 are one point; their distance has no multiplier on the face, and a zero in the certificate."""
    apart = nm.Constraint(nm.SquaredDistances(2, ([0], [1])), equal=0.0)
    found = nm.certify(nm.Problem(COST, (FIRST, apart)), np.array([[2.0], [2.0]]))
    assert [part.tolist() for part in found.multipliers.constraints] == [[pytest.approx(-5.0)], [0.0]]
    assert found.bound == pytest.approx(20.0)
    assert found.gap == pytest.approx(0.0, abs=1e-10)


def test_a_large_target_excuses_no_other_constraint():
    """The size of b_2 is not the size of what is missed of b_1."""
    M = nm.SparseMatrices(3, [np.diag([1.0, 0, 0]), np.diag([0, 1.0, 0])])
    problem = nm.Problem(np.eye(3), nm.Constraint(M, equal=[1.0, 1e8]))
    V = np.diag([np.sqrt(1.01), 1e4, 0.0])
    assert nm.certify(problem, V, kind="factor").violation == pytest.approx(0.01, rel=1e-6)
