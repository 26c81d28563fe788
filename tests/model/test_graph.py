"""Affinities and Laplacians."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.model.graph import graph_width


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
        nm.laplacian(S.toarray(), metric="precomputed", normalized=False).toarray().sum(axis=1), 0, atol=1e-12
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
        (sp.csr_array(-np.ones((4, 4))), {}, r"must be non-negative, got -1.0 at \(0, 0\); .* cannot_link="),
    ],
)
def test_bad_points(X, options, message):
    with pytest.raises(nm.ProblemError, match=message):
        nm.laplacian(X, **options)


def test_the_mutual_binary_graph_of_simple_npkl():
    X = np.random.default_rng(0).normal(size=(30, 2))
    D = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    np.fill_diagonal(D, np.inf)
    mine = np.zeros((30, 30), dtype=bool)
    mine[np.repeat(np.arange(30), 4), np.argsort(D, axis=1)[:, :4].ravel()] = True
    S = nm.knn_affinity(X, 4, sigma="binary", mutual=True).toarray()
    np.testing.assert_array_equal(S, (mine & mine.T).astype(float))
    assert S.sum(axis=1).max() <= 4  # at most k entries on each row
    either = nm.knn_affinity(X, 4, sigma="binary").toarray()
    np.testing.assert_array_equal(either, (mine | mine.T).astype(float))
    weighted = nm.knn_affinity(X, 4, mutual=True).toarray()
    np.testing.assert_allclose(weighted, nm.knn_affinity(X, 4).toarray() * S)


def test_the_width_of_the_thesis():
    X = np.random.default_rng(0).normal(size=(60, 3))
    D = np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=2))
    width = np.sort(D, axis=1)[:, 20].mean()
    S = nm.knn_affinity(X, 20, sigma="last").toarray()
    i, j = np.nonzero(S)
    np.testing.assert_allclose(S[i, j], np.exp(-(D[i, j] ** 2) / (2 * width**2)))
    assert graph_width(X, 20, "last") == pytest.approx(width)
    assert graph_width(X, 20, 0.7) == 0.7
    np.testing.assert_allclose(
        nm.laplacian(X, 20, sigma="last").toarray(), nm.laplacian(S, metric="precomputed").toarray()
    )


@pytest.mark.parametrize("sigma", ["auto", "last"])
def test_widths_of_points_that_coincide(sigma):
    assert nm.knn_affinity(np.zeros((12, 2)), 3, sigma=sigma).max() == 1.0


def test_points_whose_squares_overflow_are_refused():
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(nm.NPKLError, match="so that squares are finite"):
        nm.laplacian(X * 1e160, 4)
    assert np.isfinite(nm.laplacian(X * 1e140, 4).data).all()
