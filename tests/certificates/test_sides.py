"""The two sides of a certificate: which point is judged, which bound wins, and what proves that none is feasible."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certificates import rays
from npkl_models.certificates.prove import known
from npkl_models.feasibility import restoration
from npkl_models.feasibility.restoration import SLACK

N, ALL = 4, np.arange(4)
COST = np.diag([1.0, 2.0, 3.0, 4.0])
SQUARE = nm.LossTerm(nm.Entries(N, ([0, 1], [1, 2])), "square", [3.0, -3.0])
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0)
ACROSS = nm.Constraint(nm.Entries(N, ([2], [3])), equal=0.25)


def entry(i, j, value, n=N):
    return nm.Constraint(nm.Entries(n, ([i], [j])), equal=value)


# ------------------------------------------------------------------ certificates


def test_the_lowest_eigenvalue_of_a_certificate_has_the_regulariser_in_it():
    """With a penalty of two on the trace, S + 2 I is what must be PSD."""
    problem = nm.Problem(COST - 2.5 * np.eye(N), SQUARE, nm.TracePower(1, penalty=2.0))
    y = nm.Multipliers((np.zeros(2),))
    assert known(problem, np.eye(N), y).min_eigenvalue == pytest.approx(0.5)


def test_the_ends_of_a_certificate_are_those_of_its_point_and_its_multipliers():
    """Its objective is the point's own, its upper end that and rounding, its bound what the multipliers give."""
    problem, V = nm.Problem(COST, SQUARE), np.array([[1.0], [0.5], [-0.5], [0.0]])
    y = nm.Multipliers((np.array([-0.5, 0.25]),))
    found = known(problem, V, y)
    assert found.objective == pytest.approx(problem.objective_of_factor(V), rel=1e-14)
    assert 0 <= found.upper - found.objective < 1e-11
    assert found.bound == pytest.approx(problem.dual_bound(y), rel=1e-12)
    assert found.gap == pytest.approx(found.upper - found.bound)
    size = abs(found.objective) + abs(found.bound) + found.faint
    assert found.relative_gap == pytest.approx(found.gap / size)
    assert found.faint == pytest.approx(1e-3 * 9.0)  # of the least loss at K = 0, below A and above B


def test_a_gap_is_that_of_the_targets_of_a_point():
    """f(V) - bound + nu'(b' - b), with the values b' of V; an upper bound of the problem there is none."""
    problem = nm.Problem(COST, (SQUARE, UNIT, ACROSS))
    best = problem.solve("interior", tol=1e-8)
    for V in (best.V, best.V + 0.01):
        found = nm.certify(problem, V, best.multipliers, kind="factor")
        assert found.upper == np.inf
        moved = sum(
            float(nu @ (part.functional.value_of_factor(V) - part.value))
            for part, nu in zip(problem.constraints, found.multipliers.constraints, strict=True)
        )
        wanted = found.objective - found.bound + moved
        assert found.gap == pytest.approx(wanted, abs=1e-12)
        assert found.gap >= 0
        assert found.feasible == (V is best.V)


def test_rows_that_a_solver_left_below_their_bound_have_multipliers():
    """Those of a solve, where those of least norm do not suffice; the bound is that of the problem."""
    problem = nm.Problem(COST - 5 * np.eye(N), SQUARE, nm.RowNormBound(1.0))
    best = problem.solve("interior", tol=1e-9)
    near = nm.certify(problem, 0.9985 * best.V, tol=1e-3)
    assert near.bound == pytest.approx(best.objective, rel=2e-2)
    alone = nm.certify(problem, best.V)
    assert alone.bound == pytest.approx(best.objective, rel=1e-6)


def test_no_kernel_has_a_correlation_of_two():
    """K_01 = 2 beside K_00 = K_11 = 1 is refuted; K_01 = 1, or nothing asked, is not."""
    unit = (entry(0, 0, 1.0), entry(1, 1, 1.0))
    assert rays.infeasible(nm.Problem(COST, (SQUARE, *unit, entry(0, 1, 2.0))))
    assert not rays.infeasible(nm.Problem(COST, (SQUARE, *unit, entry(0, 1, 1.0))))
    assert not rays.infeasible(nm.Problem(COST, SQUARE))
    assert rays.infeasible(nm.Problem(COST, (SQUARE, entry(0, 0, -1.0))))
    assert not rays.infeasible(nm.Problem(COST, (SQUARE, entry(0, 1, -1.0))))


def test_rows_and_traces_refute_what_is_too_long():
    """K_01 = 2 asks for a row of length two, and for a trace of four."""
    for R, proved in (
        (nm.RowNormBound(1.3), True), (nm.RowNormBound(1.5), False),
        (nm.TracePower(1, bound=3.9), True), (nm.TracePower(1, bound=4.1), False),
    ):  # fmt: skip
        assert rays.infeasible(nm.Problem(COST, (SQUARE, entry(0, 1, 2.0)), R)) is proved


def test_rows_that_vanish_are_given_the_length_that_is_asked_for():
    """Newton steps could not move a row of zeros; scaling can."""
    V = np.array([[2.0], [1.0], [0.0], [0.5]])
    found = restoration.restored(nm.Problem(COST, (SQUARE, UNIT)), V)
    np.testing.assert_allclose(np.abs(found), 1.0)


def test_in_a_basis_rows_are_moved_into_their_bound():
    """The longest row ends next to its bound and inside."""
    basis = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 3)))[0])
    problem = nm.Problem(COST, SQUARE, nm.RowNormBound(0.5), basis=basis)
    V = problem.lift(np.random.default_rng(1).normal(size=(3, 2)))
    found = restoration.restored(problem, V)
    longest = np.sqrt(np.max(np.sum(found**2, axis=1)))
    assert problem.violation(found) == 0.0
    assert 0.5 * (1 - 10 * SLACK) <= longest <= 0.5
    inside = 0.4 * found
    np.testing.assert_allclose(restoration.restored(problem, inside), inside)
