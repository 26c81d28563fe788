"""Multipliers, Newton steps and residuals of points whose numbers can be told by hand."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import points
from npkl_models.feasibility import newton, residual
from npkl_models.feasibility.constraint_map import ConstraintMap
from npkl_models.model import facts

DIAGONAL = nm.Entries(2, ([0], [0]))


def corner(loss, target, weight, cost=(-1.0, 1.0), R=None, kind=DIAGONAL):
    """A loss on K_00 beside a diagonal cost."""
    term = nm.LossTerm(kind, loss, target, weight)
    return nm.Problem(np.diag(cost), term, R or nm.NoRegularizer())


def equal(value, i=(0,), j=(0,), n=2, R=None):
    part = nm.Constraint(nm.Entries(n, (list(i), list(j))), equal=value)
    return nm.Problem(np.eye(n), part, R or nm.NoRegularizer())


# ------------------------------------------------------------------ multipliers


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_a_value_at_a_kink_has_the_multiplier_that_makes_it_stationary(weight):
    """K_00 = -1 cannot be; at K_00 = 1 a hinge for it takes y = -C_00, whatever its weight."""
    problem = corner("hinge", 1.0, weight, (0.25 * weight, 1.0))
    y = points.recover_multipliers(problem, np.array([[1.0], [0.0]]))
    assert y.terms[0][0] == pytest.approx(-0.25 * weight)


def test_a_multiplier_that_wants_to_leave_its_interval_is_at_its_end():
    """Exactly: a kink of weight 1/2 cannot hold a cost of one."""
    problem = corner("hinge", 1.0, 0.5, (1.0, 1.0))
    y = points.recover_multipliers(problem, np.array([[1.0], [0.0]]))
    assert y.terms[0][0] == -0.5


def test_away_from_a_kink_a_multiplier_is_the_slope():
    """Nothing is open there, and the slope of a smooth loss is never open."""
    V = np.array([[2.0], [0.0]])
    assert points.recover_multipliers(corner("hinge", 1.0, 3.0), V).terms[0][0] == 0.0
    assert points.recover_multipliers(corner("hinge", 1.0, 3.0), 0.1 * V).terms[0][0] == -3.0
    assert points.recover_multipliers(corner("square", 1.0, 3.0), V).terms[0][0] == 18.0


def test_equalities_have_the_multipliers_that_make_the_point_stationary():
    """C_00 + nu = 0 on a point that is the first axis; off the diagonal the share is a half."""
    found = points.recover_multipliers(equal(4.0), np.array([[2.0], [0.0]]))
    assert found.constraints[0][0] == pytest.approx(-1.0)
    both = points.recover_multipliers(equal(1.0, [0], [1]), np.array([[1.0], [1.0]]))
    assert both.constraints[0][0] == pytest.approx(-2.0)


def test_rows_at_their_bound_have_multipliers_and_others_none():
    """Of rows of squared length 1 and 1/4 the first alone may be held by a bound of one."""
    problem = nm.Problem(-2 * np.eye(2), nm.LossTerm(nm.Entries(2, ([0], [1])), "square", 0.0), nm.RowNormBound(1.0))  # fmt: skip
    y = points.recover_multipliers(problem, np.diag([1.0, 0.5]))
    np.testing.assert_allclose(y.constraints[0], [2.0, 0.0])
    y = points.recover_multipliers(problem, np.diag([0.999, 0.5]))
    np.testing.assert_allclose(y.constraints[0], [0.0, 0.0])
    y = points.recover_multipliers(problem, np.diag([0.999, 0.5]), active=1e-2)
    np.testing.assert_allclose(y.constraints[0], [2.0, 0.0])


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_the_gradient_of_a_power_of_the_trace_is_known(p):
    """G / p tr K^p has the gradient G K^(p-1), times V."""
    V = np.random.default_rng(0).normal(size=(4, 2))
    values, vectors = np.linalg.eigh(V @ V.T)
    power = (vectors[:, 2:] * values[2:] ** (p - 1)) @ vectors[:, 2:].T
    problem = nm.Problem(np.eye(4), nm.LossTerm(nm.Entries(4, ([0], [1])), "square", 0.0))
    unknowns = points._Unknowns(problem, V)
    R = nm.TracePower(p, penalty=0.7)
    np.testing.assert_allclose(unknowns.add_trace_power(R, V), 0.7 * power @ V, atol=1e-12)
    assert not unknowns.columns
    assert not unknowns.add_trace_power(nm.TracePower(p, bound=0.7), V).any()
    np.testing.assert_allclose(unknowns.columns[0].toarray()[:, 0], (power @ V).ravel(), atol=1e-12)
    assert (unknowns.low[0][0], unknowns.high[0][0]) == (0.0, np.inf)


# ----------------------------------------------------------------- Newton steps


def test_a_direct_step_is_that_of_a_square_root():
    """From x to the root of a: (a - x^2) / 2x."""
    step = newton._direct_step(ConstraintMap.of(equal(9.0)), np.array([[2.0], [0.0]]))
    np.testing.assert_allclose(step, [[1.25], [0.0]])


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
def test_steps_of_dependent_equalities_go_with_the_scale_of_the_data(scale):
    """The same value twice is no obstacle, and a step is the shortest that meets it."""
    V = np.array([[1.0], [2.0]]) * scale
    step = newton._direct_step(ConstraintMap.of(equal(7.0 * scale**2, [0, 1], [1, 0])), V)
    np.testing.assert_allclose(step, [[2 * scale], [scale]], rtol=1e-3)  # 5 (2, 1) / 5


def test_derivatives_of_comparisons_are_formed_too():
    """A difference of distances is no product of two vectors; its J J' is found from J."""
    V = np.random.default_rng(0).normal(size=(4, 2))
    part = nm.Constraint(nm.DistanceDifferences(4, ([0, 1], [1, 2], [2, 3])), equal=[0.5, 0.25])
    problem = nm.Problem(np.eye(4), part)
    G, back = ConstraintMap.of(problem).normal(V)
    J = ConstraintMap.of(problem).derivative(V).toarray()
    np.testing.assert_allclose(G, J @ J.T, atol=1e-12)
    np.testing.assert_allclose(back(np.ones(2)).T.ravel(), J.T @ np.ones(2), atol=1e-12)


def test_constraints_are_held_once_they_were_exceeded():
    """Inside of a bound nothing is held; what was outside once stays so."""
    for R in (nm.TracePower(2, bound=1.0), nm.TracePower(1, bound=1.0)):
        problem = equal(0.1, [0], [1], R=R)
        inside, outside = np.diag([0.5, 0.1]), np.diag([2.0, 0.1])
        assert newton._of_regularizer(problem, inside, False) == (False, [])
        held, (found,) = newton._of_regularizer(problem, outside, False)
        assert held
        assert found.residual[0] < 0
        assert len(newton._of_regularizer(problem, inside, held)[1]) == 1
    assert newton._of_regularizer(equal(0.1), outside, False) == (False, [])


def test_bounds_on_one_side_take_part_where_they_were_missed():
    """The margin lies inside of the bound."""
    bounds = nm.RowNormBound(2.0).constraint(3)
    problem = nm.Problem(np.eye(3), (bounds, nm.Constraint(nm.Entries(3, ([0], [1])), lower=0.5)))
    met = newton._taking_part(problem, [np.array([False, True, False]), np.array([True])])
    assert [part.functional.indices[0].tolist() for part in met.parts] == [[1], [0]]
    assert met.wanted == pytest.approx([4.0, 0.5], abs=1e-11)
    assert met.wanted[0] < 4.0
    assert met.wanted[1] > 0.5
    V = newton.newton(problem, 3 * np.eye(3))
    assert problem.violation(V) == 0.0


# --------------------------------------------------------- residuals, points, floors


@pytest.mark.parametrize("value", [1e-6, 1.0, 1e6])
def test_a_random_factor_has_rows_of_the_length_that_is_asked_for(value):
    """The mean of the squared lengths of many rows is about the largest value."""
    n = 400
    W = residual.random_factor(equal([value, -0.1 * value], [0, 1], [0, 2], n), 5)
    assert W.shape == (n, 5)
    assert np.mean(np.sum(W**2, axis=1)) == pytest.approx(value, rel=0.2)


def test_the_sum_of_squared_misfits_has_its_closed_form():
    """Half of ((4 - 1) / 1)^2, and of the square of the excess of the trace, 4 / 2 - 1."""
    W = np.array([2.0, 0.0])
    for R, wanted in ((None, 4.5), (nm.TracePower(1, bound=1.0), 4.5 + 0.5 * 9),
                      (nm.TracePower(1, bound=2.0), 4.5 + 0.5), (nm.RowNormBound(2.0), 4.5),
                      (nm.RowNormBound(1.0), 4.5 + 0.5 * 9)):  # fmt: skip
        problem = equal(1.0, R=R)
        total, _ = residual._residual(ConstraintMap.of(problem), (2, 1), W)
        assert total == pytest.approx(wanted), R


def test_scales_are_the_data_and_a_thousandth_of_the_largest_at_least():
    """Zeros are measured against what stands beside them; zeros alone against one."""
    assert ConstraintMap.of(equal([4.0, 0.0, -2.0], [0, 0, 1], [0, 1, 1])).scales.tolist() == [4.0, 4e-3, 2.0]
    assert ConstraintMap.of(equal([0.0])).scales.tolist() == [1e-3]


def test_a_point_may_be_as_large_as_its_squares_can_be():
    """A kernel up to 1e300, a factor up to its root; a narrow factor is left as it is."""
    problem = equal(1.0, n=3)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(np.sum(points.as_factor(problem, 1e200 * np.eye(3)) ** 2, axis=1), 1e200)
    for kind, A in (("factor", 1e200 * np.eye(3)), ("kernel", 1e301 * np.eye(3))):
        with pytest.raises(nm.ProblemError, match="finite objective"):
            points.read_point(problem, A, kind)
    V = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_array_equal(points.as_factor(problem, V), V)
    assert points.as_factor(problem, np.hstack([V, V])).shape == (3, 3)


def test_beyond_dense_decompositions_a_cost_has_a_floor_by_its_signs_or_by_cholesky(monkeypatch):
    """Without positive off-diagonals by a positive vector, else by a factorisation, in a basis by that alone."""
    signed = np.eye(4) * 3 - 1.0 * (np.eye(4, k=1) + np.eye(4, k=-1))
    term = nm.LossTerm(nm.Entries(4, ([0], [1])), "square", 0.0)
    basis = nm.Basis(np.eye(4)[:, :3])
    monkeypatch.setattr(facts, "DENSE_EIGH", 2)
    for cost in (signed, 6 * np.eye(4) - signed):
        for more in ({}, {"basis": basis}):
            problem = nm.Problem(cost, term, **more)
            low = np.linalg.eigvalsh(problem.restrict(problem.cost.toarray()))[0]
            assert 0.9 * low <= facts.cost_floor(problem) <= low
    monkeypatch.setattr(facts, "DENSE_CHOLESKY", 2)
    assert facts.cost_floor(nm.Problem(signed, term)) > 0
    assert facts.cost_floor(nm.Problem(signed, term, basis=basis)) == -np.inf
