"""Labels that keep pairs and sizes, or what stands against them."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications import constrained
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.applications.constrained import Assignment, settled
from npkl_models.model.colouring import broken_by

IRIS = nm.datasets.load("iris")
PAIRS = nm.Pairs.from_labels(IRIS.y, 60, 60, 0)


@pytest.mark.parametrize("pairs", [None, PAIRS])
@pytest.mark.parametrize("sizes", [(0, None), (40, 55)])
def test_rounds_of_k_means_keep_pairs_and_sizes(pairs, sizes):
    keep, centres = Assignment(150, 3, pairs, *sizes), IRIS.X[[0, 60, 120]]
    labels = settled(IRIS.X, centres, keep)
    count = np.bincount(labels)
    assert sizes[0] <= count.min() <= count.max() <= (sizes[1] or 150)
    assert pairs is None or broken_by(labels, pairs) == []
    plain = kernel_kmeans(IRIS.X, 3)
    assert np.bincount(plain).min() < 40  # otherwise nothing was shown
    if pairs is None and not sizes[0]:
        assert cluster_accuracy(plain, labels) > 0.99
        means = np.array([IRIS.X[labels == k].mean(axis=0) for k in range(3)])
        assert (labels == settled(IRIS.X, means, keep)).all()


def test_an_assignment_by_sizes_alone_is_the_cheapest():
    """Against all labels of eight points that keep sizes and cannot-links."""
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
        assert kept[np.flatnonzero((every == found).all(axis=1))].all()
        if pairs is None:
            assert cost[np.arange(8), found].sum() == pytest.approx(totals[kept].min())


@pytest.mark.parametrize(("n", "k", "pairs", "sizes", "words"), [
    (4, 3, nm.Pairs(4, None, [(i, j) for i in range(4) for j in range(i)]), (0, None), "3 clusters cannot keep the 6 cannot-links: 0-1, .* all apart"),
    (3, 2, nm.Pairs(3, [(0, 1), (1, 2)], [(0, 2)]), (0, None), "0-2 the chain 0-1-2"),
    (4, 5, nm.Pairs(4, None, [(0, 3)]), (0, None), "n_clusters"),
    (4, 2, nm.Pairs(5, None, [(0, 3)]), (0, None), "pairs must be over"),
    (9, 2, None, (5, None), "size_min and size_max must allow 9 points in 2 clusters, got 5 and 9"),
    (9, 2, None, (0, 4), "size_min and size_max must allow"),
    (9, 5, nm.Pairs(9, [(0, 1), (1, 2)], None), (0, 2), "size_max must be at least 3, which must-links join"),
    (6, 2, nm.Pairs(6, [(0, 1), (2, 3), (4, 5)], None), (3, 3), "of 3 to 3 points keep them, got none"),
    (6, 2, nm.Pairs(6, [(0, 1), (2, 3), (3, 4)], [(0, 2), (2, 5)]), (3, 3), None),
    (4, 3, nm.Pairs(4, [(0, 1), (1, 2)], [(0, 3)]), (0, None), None),
])  # fmt: skip
def test_what_cannot_be_kept_is_said(n, k, pairs, sizes, words):
    cost = np.abs(np.arange(n)[:, None] - np.linspace(0, n, k))
    if words is None:
        assert broken_by(Assignment(n, k, pairs, *sizes)(cost), pairs) == []
        return
    with pytest.raises(nm.ProblemError, match=words):
        Assignment(n, k, pairs, *sizes)(cost)


def test_where_turns_and_colours_end_an_integer_program_goes_on(monkeypatch):
    """The most certain two take different clusters, and leave none to the third."""
    monkeypatch.setattr(constrained, "coloured", lambda *given: (None, False))
    costs = np.array([[0.0, 9.0], [8.0, 0.0], [1.0, 0.0]])
    keep = Assignment(3, 2, nm.Pairs(3, None, [(0, 2), (1, 2)]))
    assert keep(costs).tolist() == [0, 0, 1]
    monkeypatch.setattr(constrained, "coloured", lambda near, k, *wish: (None if wish else [1, 1, 0], True))
    assert keep(costs).tolist() == [1, 1, 0]  # the colours that are found without a wish
