"""Costs without a shift: certificates that no definite cost helps to make."""

import numpy as np
import pytest

import npkl_models as nm


def unshifted(loss, gamma=1.0, shift=0.0, seed=0):
    data = nm.datasets.load("two_gaussians", n=450)
    pairs = nm.Pairs.from_labels(data.y, 225, 225, seed)
    return nm.npkl(nm.laplacian(data.X, 10, shift=shift), pairs, loss=loss, gamma=gamma)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("gamma", [1.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "square"])
def test_a_problem_without_a_shift_is_certified(request, loss, gamma, seed):
    P = unshifted(loss, gamma, seed=seed)
    best = P.solve("burer_monteiro", tol=1e-8)
    assert best.certificate.certifies(1e-7)
    request.getfixturevalue("beyond_cholesky")
    found = nm.certify(P, best.V, best.multipliers, random_state=0)
    assert found.certifies(1e-6)
    assert found.rigour == "probable"
    assert best.certificate.bound - 1e-6 * P.size(best.objective) <= found.bound <= best.certificate.upper
    least = float(np.linalg.eigvalsh(P.slack(found.multipliers).toarray())[0])
    assert least > -1e-13
    assert P.dual_bound(found.multipliers) >= found.bound - 1e-9 * abs(found.bound)


def test_a_point_that_is_not_optimal_is_not_certified(beyond_cholesky):
    P = unshifted("squared_hinge")
    best = P.solve("burer_monteiro", tol=1e-6)
    worse = best.V + 0.1 * np.random.default_rng(0).normal(size=best.V.shape)
    found = nm.certify(P, worse, random_state=0)
    assert found.bound <= best.certificate.upper
    assert not found.certifies(1e-3)


@pytest.mark.parametrize("length", [1e-200, 1e-170])
def test_a_factor_whose_squares_underflow_is_no_obstacle(beyond_cholesky, length):
    P = unshifted("hinge")
    V = length * np.random.default_rng(0).normal(size=(450, 3))
    found = nm.certify(P, V, random_state=0)
    assert not found.certifies(1e-3)
    assert found.bound <= found.upper
