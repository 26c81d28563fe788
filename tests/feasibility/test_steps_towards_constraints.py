"""Existence, Newton steps, centres, residuals, points: closed forms, and derivatives by differences."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import certificate, points
from npkl_models.certify.rays import infeasible
from npkl_models.feasibility import newton, residual
from npkl_models.feasibility.constraint_map import ConstraintMap
from npkl_models.feasibility.restoration import rescaled, restored
from npkl_models.model.regularizers import NoRegularizer

NOTHING = NoRegularizer()
N, ALL = 5, np.arange(5)
FREE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "square", [1.0, -1.0], [2.0, 0.5])
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0 + ALL)
OFF = nm.Constraint(nm.Entries(N, ([0, 1], [1, 2])), equal=[0.5, -0.25])
APART = nm.Constraint(nm.SquaredDistances(N, ([0, 3], [2, 4])), equal=[1.0, 2.0])
BASIS = nm.Basis(np.linalg.qr(np.random.default_rng(3).normal(size=(N, 4)))[0])


def problem_of(*equalities, R=NOTHING, basis=None):
    return nm.Problem(np.eye(N), (FREE, *equalities), R, basis)


def all_values(problem, V):
    return np.concatenate([e.functional.value_of_factor(V) for e in problem.constraints])


def jacobian(problem, V):
    W, h = problem.drop(V), 1e-6
    columns = []
    for a in range(W.shape[1]):
        for i in range(W.shape[0]):
            D = np.zeros_like(W)
            D[i, a] = h
            columns.append(
                (all_values(problem, problem.lift(W + D)) - all_values(problem, problem.lift(W - D)))
                / (2 * h)
            )
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("basis", [None, BASIS])
@pytest.mark.parametrize("parts", [(OFF,), (APART,), (OFF, APART)])
def test_newton_meets_known_systems_by_short_steps(parts, basis):
    problem = problem_of(*parts, basis=basis)
    V = problem.lift(np.random.default_rng(1).normal(size=(problem.order, 3)))
    close = nm.Problem(problem.cost, (*problem.losses, *[
        nm.Constraint(e.functional, equal=e.functional.value_of_factor(V) * (1 + 1e-3)) for e in parts
    ]), basis=basis)  # fmt: skip
    found = newton.newton(close, V)
    assert close.violation(found) < 1e-13
    J = jacobian(problem, V)
    miss = np.concatenate([e.value for e in close.constraints]) - all_values(close, V)
    least = np.linalg.norm(np.linalg.pinv(J) @ miss)
    assert np.linalg.norm(found - V) == pytest.approx(least, rel=0.05)
    step = newton._direct_step(ConstraintMap.of(close), V)
    np.testing.assert_allclose(step.T.ravel(), np.linalg.pinv(J) @ miss, atol=1e-8)
    other = newton._step(close, problem.drop(V), [newton._constraints(ConstraintMap.of(close), V)])
    np.testing.assert_allclose(other, step, atol=1e-8)


@pytest.mark.parametrize(
    "R", [nm.RowNormBound(1.0), nm.TracePower(2, bound=2.0), nm.TracePower(1, bound=1.5)]
)
def test_newton_minds_the_regulariser(R):
    problem = problem_of(OFF, R=R)
    V = np.random.default_rng(0).normal(size=(N, 3))
    found = newton.newton(problem, 1.05 * rescaled(problem_of(R=R), V))
    assert problem.violation(found) < 1e-9


def test_what_contradicts_itself():
    entry = lambda i, j, v: nm.Constraint(nm.Entries(N, ([i], [j])), equal=v)  # noqa: E731
    assert residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 0, 2.0)))
    assert not residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 0, 1.0)))
    assert not residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 2, 2.0), APART))


def test_values_that_no_index_names_do_not_contradict_each_other():
    """Two combinations have the same (no) indices: that was taken for one value asked for twice."""
    apart = ([0, 0, 1], [1, 2, 2])
    one, other, both = (
        nm.Constraint(nm.DistanceCombinations(N, apart, A), equal=value)
        for A, value in (([[1.0, 0, 0]], 1.0), ([[0, 1.0, 0]], 2.0), ([[1.0, 0, 0], [0, 1.0, 0]], [1.0, 2.0]))
    )
    for parts in ((one, other), (both,)):
        problem = nm.Problem(np.eye(N), parts)
        assert not residual.contradictory(problem)
        assert not infeasible(problem)
        assert problem.solve().is_optimal()
    assert residual.contradictory(problem_of(*(nm.Constraint(nm.Trace(N), equal=v) for v in (1.0, 2.0))))


def test_multipliers_are_recovered_where_the_point_is_stationary():
    for R, parts in (
        (NoRegularizer(), (UNIT, OFF)),
        (nm.RowNormBound(1.0), ()),
        (nm.TracePower(1, bound=0.5), ()),
    ):
        hinge = nm.LossTerm(FREE.functional, "hinge", [1.0, -1.0], [20.0, 10.0])
        problem = nm.Problem(np.diag([1.0, 2, 3, 4, 5]), (hinge, *parts), R)
        best = problem.solve("sdp", eps=1e-10)
        y = points.recover_multipliers(problem, best.V)
        S = problem.slack(y).toarray()
        rest = S @ best.V
        if problem.regularizer.spectral is not None:
            level = -np.sum(best.V * rest) / np.sum(best.V**2)
            rest = rest + level * best.V
        assert np.linalg.norm(rest) < 1e-3
        for own, term in zip(y.terms, problem.terms, strict=True):
            assert term.allows(own).all()
    A, b = np.diag([1.0, 2.0, 4.0]), np.array([1.0, 8.0, -8.0])
    found = points._bounded_least_squares(A, b, (np.array([-1.0, -1, -1]), np.array([5.0, 1, 5])))
    np.testing.assert_allclose(found, [1, 1, -1], atol=1e-6)


def test_points_are_read_as_what_they_are():
    problem = problem_of()
    V = np.random.default_rng(0).normal(size=(N, 2))
    K = V @ V.T
    wide = np.hstack([V, V, V, V])
    np.testing.assert_allclose(points.as_factor(problem, wide) @ points.as_factor(problem, wide).T, 4 * K)
    assert points.as_factor(problem, wide).shape == (N, N)
    given = points.read_point(problem, K - 0.5 * np.eye(N))
    values = np.linalg.eigvalsh(K - 0.5 * np.eye(N))
    assert given.min_eigenvalue == pytest.approx(values[0])
    assert given.indefinite == pytest.approx(-values[0] / values[-1])
    np.testing.assert_array_equal(given.K, K - 0.5 * np.eye(N))
    assert points.read_point(problem, K).min_eigenvalue == 0.0
    assert points.read_point(problem, K).K is None
    np.testing.assert_allclose(points.read_point(problem, V, root=2.0).V, V / 2)
    np.testing.assert_allclose(
        points.as_factor(problem, 4 * K) @ points.as_factor(problem, 4 * K).T, 4 * K, atol=1e-12
    )
    scaled = points.read_point(problem, K, root=2.0).V
    np.testing.assert_allclose(scaled @ scaled.T, K / 4, atol=1e-12)
    assert not points.as_factor(problem, -np.eye(N)).any()
    for bad in (
        np.ones((N, 0)),
        np.ones(N),
        np.full((N, 1), np.nan),
        np.full((N, 1), 1e200),
        K + np.triu(K, 1),
    ):
        with pytest.raises(nm.ProblemError):
            points.read_point(problem, bad)
    points.read_point(problem, K + 1e-9 * np.triu(K, 1))


def test_the_budget_of_all_looks_is_one_in_a_million():
    spent = certificate.Budget()
    found = [spent.next() for _ in range(1000)]
    assert found[:3] == pytest.approx([0.5e-6 * (0.05 + share) for share in (1 / 2, 1 / 6, 1 / 12)])
    assert found[19:21] == pytest.approx([0.5e-6 * (0.05 + 1 / 420), 0.5e-6 / 462])
    assert sum(found) == pytest.approx(0.5e-6 * (2 - 1 / 1001))


def test_gaps_are_relative_to_the_problem():
    problem = problem_of()
    assert certificate.relative_gap(problem, 3.0, 1.0) == pytest.approx(2 / (problem.reference + 4))
    assert certificate.relative_gap(problem, np.inf, 1.0) == np.inf
    assert certificate.relative_gap(problem, 1.0, -np.inf) == np.inf


def test_restored_points_meet_what_can_be_met_without_steps():
    problem = problem_of(UNIT)
    V = np.random.default_rng(0).normal(size=(N, 2))
    np.testing.assert_allclose(np.sum(restored(problem, V) ** 2, axis=1), UNIT.value)
    for R in (nm.RowNormBound(0.5), nm.TracePower(2, bound=0.5)):
        for basis in (None, BASIS):
            inner = problem_of(R=R, basis=basis)
            assert inner.violation(restored(inner, inner.lift(inner.drop(V)))) == 0.0


def test_steps_are_taken_only_if_they_are_asked_for():
    problem = problem_of(UNIT, OFF)
    V = np.random.default_rng(0).normal(size=(N, 3))
    assert problem.violation(restored(problem, V)) < 1e-12
    np.testing.assert_array_equal(restored(problem, V, steps=False), V)


def test_the_derivative_of_the_equalities_is_that_of_differences():
    problem, rng = problem_of(UNIT, OFF), np.random.default_rng(0)
    V, D = rng.normal(size=(2, N, 2))
    equal, t = ConstraintMap.of(problem), 1e-6
    slope = (equal.value(V + t * D) - equal.value(V - t * D)) / (2 * t)
    np.testing.assert_allclose(equal.along(V, D), slope, atol=1e-8)
    np.testing.assert_allclose(equal.derivative(V) @ D.T.ravel(), slope, atol=1e-8)
    y = rng.normal(size=equal.size)
    assert float(np.sum(equal.back(y, V) * D)) == pytest.approx(float(y @ equal.along(V, D)))
