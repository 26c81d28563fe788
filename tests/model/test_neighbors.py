"""Nearest neighbours: exact and approximate."""

import numpy as np
import pytest

import npkl_models as nm


def test_neighbours_are_the_brute_ones():
    from npkl_models.model import neighbors

    X = np.random.default_rng(0).normal(size=(53, 3))
    X[7] = X[8] = X[9]  # duplicates may hide a point from its own list
    distance, index = neighbors.nearest_neighbors(X, 4)
    full = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(full, np.inf)
    np.testing.assert_allclose(distance, np.sort(full, axis=1)[:, :4], atol=1e-12)
    assert np.all(index != np.arange(53)[:, None])
    assert neighbors._is_large(50_000, 5)
    assert neighbors._is_large(10_000, 50)
    assert not neighbors._is_large(49_999, 49)
    assert not neighbors._is_large(10**6, 3)


def test_approximate_neighbours_are_nearly_the_exact_ones():
    pytest.importorskip("faiss", reason="the extra neighbors is not installed")
    X = np.random.default_rng(0).normal(size=(600, 5))
    exact = nm.knn_affinity(X, 6)
    near = nm.knn_affinity(X, 6, search="approximate")
    shared = exact.astype(bool).multiply(near.astype(bool)).sum()
    assert shared >= 0.95 * exact.nnz
    assert near.diagonal().sum() == 0


def test_search_by_name():
    X = np.zeros((12, 2))
    np.testing.assert_array_equal(
        nm.knn_affinity(X, 3, search="auto").toarray(), nm.knn_affinity(X, 3).toarray()
    )
    with pytest.raises(nm.UnsupportedError, match="unknown search 'magic'"):
        nm.knn_affinity(X, 3, search="magic")


def test_a_missing_package_is_named(monkeypatch):
    from npkl_models.model import neighbors

    monkeypatch.setattr(neighbors, "find_spec", lambda name: None)
    with pytest.raises(nm.MissingDependencyError, match=r"npkl_models\[neighbors\]"):
        nm.knn_affinity(np.random.default_rng(0).normal(size=(30, 2)), 3, search="approximate")


def test_approximate_neighbours_are_euclidean_ones():
    with pytest.raises(nm.UnsupportedError, match="must be Euclidean, of dense points, got 'cosine'"):
        nm.knn_affinity(
            np.random.default_rng(0).normal(size=(30, 2)), 3, metric="cosine", search="approximate"
        )


def brute(X, count):
    full = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(full, np.inf)
    return np.sort(full, axis=1)[:, :count]


@pytest.mark.parametrize("offset", [0.0, 1e7])
@pytest.mark.parametrize("n", [40, 2_500])
def test_cells_find_nearly_all_neighbours_at_their_own_distances(n, offset):
    pytest.importorskip("faiss", reason="the extra neighbors is not installed")
    from npkl_models.model import neighbors

    X = offset + np.random.default_rng(0).normal(size=(n, 6))
    X[5] = X[6] = X[7]
    distance, index = neighbors.nearest_neighbors(X, 4, search="approximate")
    assert np.all(index != np.arange(n)[:, None])
    np.testing.assert_array_equal(distance, np.linalg.norm(X[index] - X[:, None], axis=2))
    assert np.mean(distance <= brute(X, 4) * (1 + 1e-9) + 1e-12) >= 0.99
    again = neighbors.nearest_neighbors(X, 4, search="approximate")
    np.testing.assert_array_equal(again[1], index)


def test_among_points_at_equal_distances_neighbours_are_as_near():
    """Of a lattice scipy and scikit-learn may name others, at the same distances; duplicates are no trouble."""
    from npkl_models.model import neighbors

    X = np.argwhere(np.ones((7, 7, 3))).astype(float)
    X = np.concatenate([X, X[:5], X[:5]])
    distance, index = neighbors.nearest_neighbors(X, 6)
    np.testing.assert_allclose(distance, brute(X, 6))
    assert np.all(index != np.arange(len(X))[:, None])
    again = neighbors.nearest_neighbors(X.copy(), 6)
    np.testing.assert_array_equal(index, again[1])


@pytest.mark.parametrize("apart", [1e4, 1e8])
def test_single_precision_does_not_blur_what_is_far_from_the_median(apart):
    """One point far away, and half of the points: candidates that are too near for it are searched exactly."""
    pytest.importorskip("faiss", reason="the extra neighbors is not installed")
    from npkl_models.model import neighbors

    X = np.random.default_rng(0).normal(size=(2_100, 5))
    for many in (1, 1_050):
        Y = X.copy()
        Y[:many] += apart**2 if many == 1 else apart
        distance, _ = neighbors.nearest_neighbors(Y, 4, search="approximate")
        assert np.mean(distance <= brute(Y, 4) * (1 + 1e-9)) >= 0.99
