"""Constrained k-means keeps pairs and sizes, or names what stands against them."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.applications.constrained import Assignment, constrained_kmeans
from npkl_models.model.colouring import broken_by

IRIS = nm.datasets.load("iris")
PAIRS = nm.Pairs.from_labels(IRIS.y, 60, 60, 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_pairs_are_kept_and_help(name, seed):
    data = nm.datasets.load(name)
    pairs = nm.Pairs.from_labels(data.y, 60, 60, seed)
    labels = constrained_kmeans(data.X, 3, pairs)
    assert broken_by(labels, pairs) == []
    assert cluster_accuracy(data.y, labels) >= cluster_accuracy(data.y, kernel_kmeans(data.X, 3)) - 0.02


def test_without_binding_pairs_it_is_k_means():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.1, (20, 2)) for c in (0.0, 3.0, 6.0)])
    labels = constrained_kmeans(X, 3, nm.Pairs(60, [(0, 1)], [(0, 30)]), size_max=21)
    assert cluster_accuracy(kernel_kmeans(X, 3), labels) == 1.0


def test_kernel_factor_and_solution_are_the_same_question():
    solution = nm.pcp(nm.laplacian(IRIS.X, 5, shift=0.1), PAIRS).solve()
    labels = [constrained_kmeans(given, 3, PAIRS) for given in (solution, solution.V, solution.K)]
    assert cluster_accuracy(labels[0], labels[1]) == 1.0
    assert cluster_accuracy(labels[0], labels[2]) >= 0.98


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_sizes_are_kept(pairs):
    labels = constrained_kmeans(IRIS.X, 3, pairs, size_min=40, size_max=55, n_init=3)
    assert 40 <= np.bincount(labels).min() <= np.bincount(labels).max() <= 55
    assert pairs is None or broken_by(labels, pairs) == []
    plain = np.bincount(kernel_kmeans(IRIS.X, 3))
    assert plain.min() < 40  # otherwise nothing was shown


def test_an_assignment_by_sizes_is_the_cheapest():
    """Against all labels of eight points that keep sizes and a cannot-link."""
    rng = np.random.default_rng(0)
    every = np.stack(np.unravel_index(np.arange(3**8), (3,) * 8), axis=1)
    sizes = np.stack([(every == c).sum(axis=1) for c in range(3)], axis=1)
    for pairs in (None, nm.Pairs(8, [(2, 5)], [(0, 1), (1, 2)])):
        kept = (sizes >= 2).all(axis=1) & (sizes <= 4).all(axis=1)
        if pairs is not None:
            kept &= (every[:, 0] != every[:, 1]) & (every[:, 1] != every[:, 2]) & (every[:, 2] == every[:, 5])
        cost = rng.random((8, 3))
        totals = cost[np.arange(8), every].sum(axis=1)
        found = Assignment(8, 3, pairs, 2, 4)(cost)
        assert cost[np.arange(8), found].sum() == pytest.approx(totals[kept].min())


@pytest.mark.parametrize(
    ("n", "k", "pairs", "sizes", "words"),
    [
        (
            4,
            3,
            nm.Pairs(4, None, [(i, j) for i in range(4) for j in range(i)]),
            {},
            "3 clusters cannot keep the 6 cannot-links: 0-1, .* all apart",
        ),
        (3, 2, nm.Pairs(3, [(0, 1), (1, 2)], [(0, 2)]), {}, "0-2 the chain 0-1-2"),
        (4, 5, nm.Pairs(4, None, [(0, 3)]), {}, "n_clusters"),
        (4, 2, nm.Pairs(5, None, [(0, 3)]), {}, "pairs must be over"),
        (9, 2, None, {"size_min": 5}, "size_min and size_max must allow 9 points in 2 clusters, got 5 and 9"),
        (9, 2, None, {"size_max": 4}, "size_min and size_max must allow"),
        (9, 2, nm.Pairs(9, [(0, 1), (1, 2)], None), {"size_max": 2}, "must allow 9 points"),
        (
            9,
            5,
            nm.Pairs(9, [(0, 1), (1, 2)], None),
            {"size_max": 2},
            "size_max must be at least 3, which must-links join",
        ),
        (6, 2, nm.Pairs(6, [(0, 1), (2, 3), (3, 4)], [(0, 2), (2, 5)]), {"size_min": 3, "size_max": 3}, None),
        (
            6,
            2,
            nm.Pairs(6, [(0, 1), (2, 3), (4, 5)], None),
            {"size_min": 3, "size_max": 3},
            "of 3 to 3 points keep them, got none",
        ),
    ],
)
def test_what_cannot_be_kept_is_said(n, k, pairs, sizes, words):
    X = np.arange(float(n))[:, None]
    if words is None:
        assert np.bincount(constrained_kmeans(X, k, pairs, **sizes)).tolist() == [3, 3]
        return
    with pytest.raises(nm.ProblemError, match=words):
        constrained_kmeans(X, k, pairs, **sizes)


def test_more_clusters_than_groups_are_possible():
    assert constrained_kmeans(np.arange(4.0)[:, None], 3, nm.Pairs(4, [(0, 1), (1, 2)], [(0, 3)])).max() < 3
