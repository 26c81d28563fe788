"""Constrained k-means keeps the pairs, or says how many it could not."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.applications.constrained import constrained_kmeans


def kept(labels, pairs):
    must = labels[pairs.must_link[:, 0]] == labels[pairs.must_link[:, 1]]
    cannot = labels[pairs.cannot_link[:, 0]] != labels[pairs.cannot_link[:, 1]]
    return bool(must.all()), int(np.sum(~cannot))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_pairs_are_kept_and_help(name, seed):
    data = nm.datasets.load(name)
    pairs = nm.Pairs.from_labels(data.y, 60, 60, seed)
    found = constrained_kmeans(data.X, 3, pairs)
    assert kept(found.labels, pairs) == (True, found.violated)
    assert found.satisfied == (found.violated == 0)
    assert found.failed <= found.restarts == 20
    plain = kernel_kmeans(data.X, 3)
    assert cluster_accuracy(data.y, found.labels) >= cluster_accuracy(data.y, plain) - 0.02


def test_without_binding_pairs_it_is_k_means():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.1, (20, 2)) for c in (0.0, 3.0, 6.0)])
    found = constrained_kmeans(X, 3, nm.Pairs(60, [(0, 1)], [(0, 30)]))
    assert cluster_accuracy(kernel_kmeans(X, 3), found.labels) == 1.0
    centres = np.array([X[found.labels == k].mean(axis=0) for k in range(3)])
    assert found.inertia == pytest.approx(np.sum((X - centres[found.labels]) ** 2))


def test_kernel_factor_and_solution_are_the_same_question():
    data = nm.datasets.load("iris")
    pairs = nm.Pairs.from_labels(data.y, 60, 60, 0)
    solution = nm.pcp(nm.laplacian(data.X, 5, shift=0.1), pairs).solve()
    labels = [constrained_kmeans(given, 3, pairs).labels for given in (solution, solution.V, solution.K)]
    assert cluster_accuracy(labels[0], labels[1]) == 1.0
    assert cluster_accuracy(labels[0], labels[2]) >= 0.98


def test_what_cannot_be_kept_is_said():
    """Four points that all exclude each other, and three clusters."""
    X = np.arange(4.0)[:, None]
    pairs = nm.Pairs(4, None, [(i, j) for i in range(4) for j in range(i)])
    found = constrained_kmeans(X, 3, pairs)
    assert not found.satisfied
    assert found.violated == 1
    assert found.failed == found.restarts
    assert constrained_kmeans(X, 4, pairs).satisfied


def test_contradictions_are_an_error_with_a_chain():
    pairs = nm.Pairs(3, [(0, 1), (1, 2)], [(0, 2)])
    with pytest.raises(nm.ProblemError, match=r"for example by the chain \[0, 1, 2\]"):
        constrained_kmeans(np.arange(3.0)[:, None], 2, pairs)


def test_more_clusters_than_groups_and_other_wrong_sizes():
    X = np.arange(4.0)[:, None]
    assert constrained_kmeans(X, 3, nm.Pairs(4, [(0, 1), (1, 2)], [(0, 3)])).satisfied
    with pytest.raises(nm.ProblemError, match="n_clusters"):
        constrained_kmeans(X, 5, nm.Pairs(4, None, [(0, 3)]))
    with pytest.raises(nm.ProblemError, match="pairs must be over"):
        constrained_kmeans(X, 2, nm.Pairs(5, None, [(0, 3)]))
