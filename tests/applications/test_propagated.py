"""Pairs that spread along a graph: beside the dense formula, sparse on many points, and separate groups."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import npkl_models as nm
from npkl_models.applications import propagated
from npkl_models.applications.propagated import propagated_graph, propagated_spectral


def groups(n, seed=0):
    y = np.arange(n) % 3
    return 6.0 * np.eye(3)[y] + np.random.default_rng(seed).normal(size=(n, 3)), y


def test_edges_are_those_of_the_dense_formula(monkeypatch):
    """Lu and Peng's closed form, with inverses of dense matrices."""
    monkeypatch.setattr(propagated, "FAINT", 0.0)
    monkeypatch.setattr(propagated, "STEPS", 80)
    X, y = groups(60)
    S, pairs = nm.knn_affinity(X, 6), nm.Pairs.from_labels(y, 10, 10, random_state=0)
    dense = S.toarray() / S.max()
    scale = 1 / np.sqrt(dense.sum(axis=1))
    W, Z = scale[:, None] * dense * scale, np.zeros((60, 60))
    Z[pairs.i, pairs.j] = Z[pairs.j, pairs.i] = pairs.sign
    inverse = np.linalg.inv(np.eye(60) - propagated.REACH * W)
    F = inverse @ Z @ inverse
    where = (W != 0) | (Z != 0)
    F /= np.abs(F[where]).max()
    expected = np.where(where, np.where(F >= 0, 1 - (1 - F) * (1 - W), (1 + F) * W), 0.0)
    np.testing.assert_allclose(propagated_graph(S, pairs).toarray(), expected, atol=1e-9)


def test_parts_of_the_edges_make_the_whole(monkeypatch):
    X, y = groups(60)
    S, pairs = nm.knn_affinity(X, 6), nm.Pairs.from_labels(y, 10, 10, random_state=0)
    whole = propagated_graph(S, pairs).toarray()
    monkeypatch.setattr(propagated, "AT_ONCE", 7)
    np.testing.assert_allclose(propagated_graph(S, pairs).toarray(), whole, atol=1e-12)


def test_no_entry_is_added_but_the_pairs():
    X, y = groups(3000)
    S, pairs = nm.knn_affinity(X, 10), nm.Pairs.from_labels(y, 500, 500, random_state=0)
    assert propagated_graph(S, pairs).nnz <= S.nnz + 2 * len(pairs)


@pytest.mark.parametrize("n", [150, 270])  # dense and sparse eigenvectors
def test_separate_groups_are_found(n):
    X, y = groups(n)
    pairs = nm.Pairs.from_labels(y, 20, 20, random_state=0)
    assert adjusted_rand_score(y, propagated_spectral(nm.knn_affinity(X, 8), pairs, 3)) > 0.95


@pytest.mark.parametrize("k", [0, 7])
def test_a_number_of_clusters_that_is_none_is_refused(k):
    with pytest.raises(nm.ProblemError, match="n_clusters must be between 1 and n = 6"):
        propagated_spectral(nm.knn_affinity(groups(6)[0], 2), nm.Pairs(6, [(0, 3)], None), k)
