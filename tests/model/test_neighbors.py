"""Nearest neighbours: exact, in chunks, approximate."""

import numpy as np
import pytest

import npkl_models as nm


def test_neighbours_in_chunks_are_the_brute_ones_and_show_progress(monkeypatch, capsys):
    from npkl_models.model import neighbors

    X = np.random.default_rng(0).normal(size=(53, 3))
    X[7] = X[8] = X[9]  # duplicates may hide a point from its own list
    monkeypatch.setattr(neighbors, "CHUNK", 10)
    distance, index = neighbors.nearest_neighbors(X, 4, progress=True)
    assert "neighbours" in capsys.readouterr().err
    full = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(full, np.inf)
    np.testing.assert_allclose(distance, np.sort(full, axis=1)[:, :4], atol=1e-12)
    assert np.all(index != np.arange(53)[:, None])
    neighbors.nearest_neighbors(X, 4)
    assert capsys.readouterr().err == ""
    assert neighbors._is_large(50_000, 2)
    assert neighbors._is_large(10_000, 50)
    assert not neighbors._is_large(49_999, 49)


def test_approximate_neighbours_are_nearly_the_exact_ones():
    pytest.importorskip("pynndescent", reason="the extra neighbors is not installed")
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
    import sys

    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(nm.MissingDependencyError, match=r"npkl_models\[neighbors\]"):
        nm.knn_affinity(np.random.default_rng(0).normal(size=(30, 2)), 3, search="approximate")


def test_own_point_is_dropped_once():
    from npkl_models.model.neighbors import _without_self

    neighbor = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3]])  # the last row misses itself
    distance = np.arange(9.0).reshape(3, 3)
    kept, left = _without_self(distance, neighbor, np.arange(3))
    assert left.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert kept.tolist() == [[1, 2], [3, 4], [6, 7]]
