"""Existence, Newton steps, centres, residuals, points: closed forms, and derivatives by differences."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certificates import points, recover
from npkl_models.certificates.recover import recover_multipliers
from npkl_models.feasibility import residual
from npkl_models.feasibility.restoration import restored
from npkl_models.kernel import units_of_kernel
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


def test_what_contradicts_itself():
    entry = lambda i, j, v: nm.Constraint(nm.Entries(N, ([i], [j])), equal=v)  # noqa: E731
    assert residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 0, 2.0)))
    assert not residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 0, 1.0)))
    assert not residual.contradictory(problem_of(entry(0, 1, 1.0), entry(1, 2, 2.0), APART))


def test_multipliers_are_recovered_where_the_point_is_stationary():
    for R, parts in (
        (NoRegularizer(), (UNIT, OFF)),
        (nm.RowNormBound(1.0), ()),
        (nm.TracePower(1, bound=0.5), ()),
    ):
        hinge = nm.LossTerm(FREE.functional, "hinge", [1.0, -1.0], [20.0, 10.0])
        problem = nm.Problem(np.diag([1.0, 2, 3, 4, 5]), (hinge, *parts), R)
        best = problem.solve("sdp", eps=1e-10)
        y = recover_multipliers(problem, best.V)
        S = problem.slack(y).toarray()
        rest = S @ best.V
        if problem.regularizer.spectral is not None:
            level = -np.sum(best.V * rest) / np.sum(best.V**2)
            rest = rest + level * best.V
        assert np.linalg.norm(rest) < 1e-3
        for own, term in zip(y.terms, problem.terms, strict=True):
            assert term.allows(own).all()
    A, b = np.diag([1.0, 2.0, 4.0]), np.array([1.0, 8.0, -8.0])
    bounds = np.array([-1.0, -1, -1]), np.array([5.0, 1, 5])
    np.testing.assert_allclose(recover._descended(A, b, bounds), [1, 1, -1], atol=1e-6)
    twice = sp.csr_array(np.column_stack([A, A]))  # columns that depend on each other: the least norm shares
    free = np.full(6, -np.inf), np.full(6, np.inf)
    np.testing.assert_allclose(recover._least_norm(twice, b, free), np.tile([0.5, 2.0, -1.0], 2), atol=1e-12)


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
    d = units_of_kernel(K - 0.5 * np.eye(N))  # relative in the units of the rows
    scaled = np.linalg.eigvalsh((K - 0.5 * np.eye(N)) / d / d[:, None])
    assert given.indefinite == pytest.approx(-scaled[0] / scaled[-1])
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
