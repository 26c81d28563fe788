"""Soft unfolding by a factor: the graph of the distances as a preconditioner, over sparse centred vectors."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.lowrank.factor.objective import FactorObjective
from npkl_models.lowrank.factor.preconditioners import LaplacianPreconditioner
from npkl_models.model.basis import centred_wavelets


@pytest.mark.parametrize("n", [2, 3, 7, 16, 100])
def test_wavelets_span_the_centred_vectors(n):
    order = np.random.default_rng(n).permutation(n)
    basis = centred_wavelets(order)
    Q = basis.dense
    np.testing.assert_allclose(Q.T @ Q, np.eye(n - 1), atol=1e-14)
    np.testing.assert_allclose(Q @ Q.T, np.eye(n) - 1 / n, atol=1e-14)
    assert basis.Q.nnz <= n * (np.ceil(np.log2(n)) + 1)


def test_the_preconditioner_is_the_inverse_where_the_laplacian_is_the_hessian():
    """Without bends: H = 2 Q'(L_y + C)Q, of which the preconditioner leaves out C alone."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    problem = nm.mvu(X, 4, weight=10.0)
    term = problem.terms[0]
    springs = LaplacianPreconditioner(term.functional.incidence, 1.0)
    y = np.random.default_rng(1).uniform(1, 2, term.functional.size)
    solve = springs.at(term.target, y, np.zeros_like(y), 3)
    G = np.random.default_rng(2).normal(size=(30, 3))
    L = term.functional.adjoint(y) + 1e-3 * sp.eye_array(30)
    np.testing.assert_allclose(2 * (L @ solve(G)), G, atol=1e-9)


@pytest.mark.parametrize("nu", [np.inf, 5.0])
def test_derivatives_and_preconditioner_on_distances(nu):
    X = np.random.default_rng(0).normal(size=(25, 2))
    problem = nm.mvu(X, 4, weight=nu)
    f = FactorObjective(problem, beta=2.0)
    assert f.distances
    rng = np.random.default_rng(3)
    W = rng.normal(size=(problem.order, 3))
    D, E = rng.normal(size=(2, *W.shape))
    point, h = f.at(W), 1e-5
    ahead, behind = f.at(W + h * D), f.at(W - h * D)
    slope = (ahead.value - behind.value) / (2 * h)
    assert float(np.sum(point.gradient * D)) == pytest.approx(slope, rel=1e-6)
    bend = (ahead.gradient - behind.gradient) / (2 * h)
    np.testing.assert_allclose(f.hessian(point)(D), bend, atol=1e-4 * np.abs(bend).max())
    inverse = f.preconditioner(point)
    assert float(np.sum(D * inverse(D))) > 0
    assert float(np.sum(D * inverse(E))) == pytest.approx(float(np.sum(E * inverse(D))), rel=1e-8)


SIXTY = [pytest.param(60, seed, marks=pytest.mark.slow) for seed in (0, 1)]  # a minute each on a busy machine


@pytest.mark.parametrize(("n", "seed"), [(40, 0), (40, 1), *SIXTY])
def test_factor_and_interior_point_agree_on_soft_unfolding(n, seed):
    X = nm.datasets.load("swiss_roll", n=n, random_state=seed).X
    problem = nm.mvu(X, 6, weight=100.0)
    exact, fast = problem.solve("interior"), problem.solve("burer_monteiro", tol=1e-5)
    assert exact.certificate.certifies(1e-6)
    assert fast.certificate.certifies(1e-5)
    assert fast.objective == pytest.approx(exact.objective, rel=1e-5)
    np.testing.assert_allclose(fast.V.sum(axis=0), 0, atol=1e-8 * np.abs(fast.V).max())


def test_soft_unfolding_comes_near_the_hard_one():
    """Distances that give a little: no less variance, and nearer and nearer as they stiffen."""
    angle = np.linspace(0, 4, 20)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    hard = nm.mvu(X, 2).solve("interior").objective
    soft = [nm.mvu(X, 2, weight=nu).solve("interior").objective for nu in (1e3, 1e4, 1e5)]
    assert soft[0] < soft[1] < soft[2] < hard + 1e-6 * abs(hard)
    assert soft[2] == pytest.approx(hard, rel=1e-2)
    printed = nm.mvu(X, 2, weight=1e3, reduce=False)
    assert printed.solve("interior").objective == pytest.approx(soft[0], rel=1e-5)


def test_a_floor_that_is_nothing_beside_the_weights_is_raised():
    """Distances of 1e8 with a unit cost: L + 1e-3 I is singular in floating-point numbers."""
    f = nm.SquaredDistances(6, ([0, 1, 2, 3, 4], [1, 2, 3, 4, 5]))
    for size in (1.0, 1e16, 1e20, 1e32):
        weights = size * np.array([3.0, 1.0, 7.0, 1.0, 1.0])
        solve = LaplacianPreconditioner(f.incidence, 1.0).at(np.zeros(5), weights, np.zeros(5), 1)
        G = np.arange(6.0)[:, None] - 2.5
        assert np.isfinite(solve(G)).all()
        assert float(np.sum(G * solve(G))) > 0
