"""Affinities and Laplacians."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm


def test_normalised_laplacian_has_its_null_vector_and_range():
    X = np.random.default_rng(0).normal(size=(40, 3))
    S = nm.knn_affinity(X, 5)
    L = nm.laplacian(X, 5, shift=0.2).toarray()
    values = np.linalg.eigvalsh(L)
    assert values[0] == pytest.approx(0.2)
    assert values[-1] <= 2.2 + 1e-12
    root = np.sqrt(S.sum(axis=1))
    np.testing.assert_allclose(L @ root, 0.2 * root, atol=1e-12)
    np.testing.assert_allclose(nm.laplacian(S, shift=0.2).toarray(), L)
    np.testing.assert_allclose(
        nm.laplacian(S.toarray(), metric="precomputed", normalized=False).toarray().sum(axis=1),
        0,
        atol=1e-12,
    )


def test_affinity_is_the_papers():
    X = np.random.default_rng(0).normal(size=(30, 2))
    D = np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=2))
    near = np.sort(D, axis=1)[:, 1:11]
    sigma = near.mean() / 2
    order = np.argsort(D, axis=1)[:, 1:6]
    mask = np.zeros((30, 30), bool)
    np.put_along_axis(mask, order, True, axis=1)
    wanted = np.where(mask | mask.T, np.exp(-(D**2) / (2 * sigma**2)), 0)
    np.testing.assert_allclose(nm.knn_affinity(X, 5).toarray(), wanted, atol=1e-12)


def test_duplicate_points_are_no_trouble():
    S = nm.knn_affinity(np.zeros((12, 2)), 3)
    assert np.isfinite(S.data).all()
    assert S.max() == 1.0


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.full((5, 2), np.nan), {}, "X must be finite, got NaN"),
        (np.full((5, 2), np.inf), {}, "X must be finite, got infinity"),
        (np.zeros((5, 2)), {"n_neighbors": 5}, "n_neighbors must be between 1 and n - 1 = 4, got 5"),
        (np.zeros((5, 2)), {"n_neighbors": 0}, "n_neighbors must be"),
        (np.zeros(5), {}, "X must have shape"),
        (np.eye(5), {"n_neighbors": 2, "sigma": -1.0}, "sigma must be positive"),
        (np.eye(5), {"n_neighbors": 2, "shift": -1.0}, "shift must be a finite number >= 0"),
        (sp.csr_array(np.triu(np.ones((4, 4)), 1)), {}, "affinity must be symmetric"),
        (sp.csr_array(-np.ones((4, 4))), {}, "finite and non-negative"),
    ],
)
def test_bad_points(X, options, message):
    with pytest.raises(nm.ProblemError, match=message):
        nm.laplacian(X, **options)
