"""The two sides of a certificate: which point is judged, which bound wins, and what proves that none is feasible."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import fallbacks, rays
from npkl_models.certify.bounds import Demand
from npkl_models.feasibility import restoration

N, ALL = 4, np.arange(4)
COST = np.diag([1.0, 2.0, 3.0, 4.0])
SQUARE = nm.LossTerm(nm.Entries(N, ([0, 1], [1, 2])), "square", [3.0, -3.0])
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0)
ACROSS = nm.Constraint(nm.Entries(N, ([2], [3])), equal=0.25)
DEMAND = Demand("auto", 1e-6, 1e-6, 0, False)


def entry(i, j, value, n=N):
    return nm.Constraint(nm.Entries(n, ([i], [j])), equal=value)


# ------------------------------------------------------------------ certificates


def test_the_lowest_eigenvalue_of_a_certificate_has_the_regulariser_in_it():
    """With a penalty of two on the trace, S + 2 I is what must be PSD."""
    problem = nm.Problem(COST - 2.5 * np.eye(N), SQUARE, nm.TracePower(1, penalty=2.0))
    y = nm.Multipliers((np.zeros(2),))
    assert nm.certify(problem, np.eye(N), y).min_eigenvalue == pytest.approx(0.5)


def test_the_ends_of_a_certificate_are_those_of_its_point_and_its_multipliers():
    """Its objective is the point's own, its upper end that and rounding, its bound what the multipliers give."""
    problem, V = nm.Problem(COST, SQUARE), np.array([[1.0], [0.5], [-0.5], [0.0]])
    y = nm.Multipliers((np.array([-0.5, 0.25]),))
    found = nm.certify(problem, V, y)
    assert found.objective == pytest.approx(problem.objective_of_factor(V), rel=1e-14)
    assert 0 <= found.upper - found.objective < 1e-11
    assert found.bound == pytest.approx(problem.dual_bound(y), rel=1e-12)
    assert found.gap == pytest.approx(found.upper - found.bound)
    assert found.relative_gap == pytest.approx(found.gap / problem.size(found.upper, found.bound))


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
    """Without multipliers all rows within a hundredth of the bound are tried."""
    problem = nm.Problem(COST - 5 * np.eye(N), SQUARE, nm.RowNormBound(1.0))
    best = problem.solve("interior", tol=1e-9)
    near = nm.certify(problem, 0.9985 * best.V, tol=1e-3)
    assert near.bound == pytest.approx(best.objective, rel=2e-2)
    alone = nm.certify(problem, best.V)
    assert alone.bound == pytest.approx(best.objective, rel=1e-6)


def test_a_bound_is_met_within_the_tolerance_of_the_size():
    """No bound is never within it."""
    problem = nm.Problem(COST, SQUARE)
    within = 1e-6 * problem.size(5.0, 5.0)
    assert fallbacks.enough(problem, 5.0, 5.0 - 0.9 * within, DEMAND)
    assert not fallbacks.enough(problem, 5.0, 5.0 - 1.1 * within, DEMAND)
    assert not fallbacks.enough(problem, 5.0, -np.inf, replace(DEMAND, tol=1e9))


# ------------------------------------------------------------------- restoration


# ---------------------------------------------------------------- infeasibility


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


def test_the_search_is_over_the_points_that_equalities_concern():
    """Others are left out, unless a basis ties them or fewer than two are left."""
    problem = nm.Problem(COST, (SQUARE, entry(1, 3, 0.5), entry(3, 3, 1.0)))
    search = rays._without_losses(problem)
    assert search.n == 2
    assert [part.functional.indices[0].tolist() for part in search.constraints] == [[0], [1]]
    assert [part.functional.indices[1].tolist() for part in search.constraints] == [[1], [1]]
    assert search.basis is None
    assert rays._without_losses(nm.Problem(COST, (SQUARE, entry(2, 2, 1.0)))).n == N
    basis = nm.Basis(np.eye(N)[:, 1:])
    assert rays._without_losses(replace(problem, basis=basis)).basis is basis


def test_distances_are_searched_among_centred_kernels():
    """They do not change when all points move alike; with a bound on rows that is not free."""
    part = nm.Constraint(nm.SquaredDistances(N, ([0, 1], [1, 2])), equal=[1.0, 2.0])
    search = rays._without_losses(nm.Problem(COST, (SQUARE, part)))
    assert (search.n, search.order) == (3, 2)
    held = rays._without_losses(nm.Problem(COST, (SQUARE, part), nm.RowNormBound(1.0)))
    assert held.basis is None
    assert [part.name for part in held.constraints] == ["constraint", "row norms"]


def test_rays_are_misfits_over_the_squares_of_their_scales():
    """Nu = (z - b) / b^2 at the nearest factor, and what rows exceed over the square of their bound."""
    problem = nm.Problem(COST, (entry(0, 1, 9.0), entry(1, 2, -4.0)), nm.RowNormBound(1.5))
    X = rays.nearest_factors(problem, None)[0]
    y = rays._dual_rays(problem, None)[0]
    K = X @ X.T
    assert y.constraints[0][0] == pytest.approx((K[0, 1] - 9) / 81)
    assert y.constraints[1][0] == pytest.approx((K[1, 2] + 4) / 16)
    np.testing.assert_allclose(y.constraints[2], np.maximum(K.diagonal() - 2.25, 0) / 2.25**2)
    assert y.constraints[2].any()


def test_the_search_begins_at_the_point_too_where_it_fits():
    """A factor of other points, or one with numbers out of range, is no start."""
    problem = nm.Problem(COST, (entry(0, 1, 0.5),))
    assert len(rays.nearest_factors(problem, None)) == 1
    assert len(rays.nearest_factors(problem, np.ones((N, 2)))) == 2
    assert len(rays.nearest_factors(problem, np.ones((N + 1, 2)))) == 1
    assert len(rays.nearest_factors(problem, np.full((N, 2), np.inf))) == 1


def test_rows_that_vanish_are_given_the_length_that_is_asked_for():
    """Newton steps could not move a row of zeros; scaling can."""
    V = np.array([[2.0], [1.0], [0.0], [0.5]])
    found = restoration.restored(nm.Problem(COST, (SQUARE, UNIT)), V)
    np.testing.assert_allclose(np.abs(found), 1.0)
