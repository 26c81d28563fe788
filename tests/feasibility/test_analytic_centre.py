"""The analytic centre of the feasible kernels, and what it proves."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.feasibility import analytic_centre
from npkl_models.feasibility.kantorovich import near
from npkl_models.feasibility.newton import newton


def plane(n=30, k=4):
    return nm.mvu(np.random.default_rng(0).normal(size=(n, 2)), k)


def test_the_centre_meets_the_equalities_and_is_as_deep_as_is_said():
    problem = plane()
    W = newton(problem, analytic_centre.centre(problem))
    assert problem.violation(W) < 1e-12
    nu, sigma = analytic_centre.depth(problem, W)
    values = np.linalg.eigvalsh(problem.drop(W) @ problem.drop(W).T)
    A = problem.equalities[0].functional.svec_operator(problem.Q)
    smallest = np.linalg.svd(A, compute_uv=False)[-1]
    assert 0.5 * values[0] < nu <= values[0]
    assert 0.5 * smallest / 10 < sigma <= smallest


def test_entries_have_a_centre_too():
    i = np.arange(4)
    parts = [nm.Equality(nm.Entries(4, (i, i)), 1.0), nm.Equality(nm.Entries(4, ([0], [1])), 0.5)]
    problem = nm.Problem(np.eye(4), (), parts)
    W = analytic_centre.centre(problem)
    K = W @ W.T
    np.testing.assert_allclose(K.diagonal(), 1, atol=1e-6)
    assert K[0, 1] == pytest.approx(0.5, abs=1e-6)  # and zero where nothing is said: the largest determinant
    np.testing.assert_allclose(K[2:, :2], 0, atol=1e-9)
    nu, sigma = analytic_centre.depth(problem, W)
    assert 0 < nu < np.linalg.eigvalsh(K)[0]
    assert 0 < sigma <= np.sqrt(0.5)


def test_a_degenerate_optimum_is_proved_feasible():
    """More distances than a factor of that rank has freedom: the derivative at V is singular."""
    problem = plane()
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = near(problem, problem.lift(problem.drop(X)))
    assert found is not None
    assert 0 < found.share <= 1e-6  # the largest: which BLAS it is decides between that and a tenth
    assert found.reach < 1e-3


def test_without_an_inside_nothing_is_proved():
    pairs = np.stack(np.triu_indices(6, 1), axis=1)
    X = np.random.default_rng(1).normal(size=(6, 2))
    squared = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    functional = nm.SquaredDistances(6, (pairs[:, 0], pairs[:, 1]))
    basis = nm.mvu(np.random.default_rng(0).normal(size=(6, 4)), 1).basis
    problem = nm.Problem(-np.eye(6), (), nm.Equality(functional, squared), basis=basis)
    assert near(problem, X - X.mean(axis=0)) is None


def test_the_reach_asks_for_a_correction_that_leaves_the_kernel_positive():
    assert analytic_centre.reach(1e-12, (1e-3, 0.1), 1e-7) < np.inf
    assert analytic_centre.reach(1e-12, (1e-3, 0.1), 1e-8) == np.inf
    assert analytic_centre.reach(1e-12, (0.0, 0.0), 1e-3) == np.inf


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_solved(bad):
    """A factorisation that checks nothing would take it."""
    for H in (np.diag([1.0, bad]), np.array([[1.0, bad], [bad, 1.0]])):
        with pytest.raises((ValueError, np.linalg.LinAlgError)), np.errstate(invalid="ignore"):
            analytic_centre._solve(H, np.ones(2))
    with pytest.raises(ValueError, match="infs or NaNs"):
        analytic_centre._solve(np.eye(2), np.array([1.0, bad]))
