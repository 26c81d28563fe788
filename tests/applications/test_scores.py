"""The papers' measures against their definitions, pair by pair."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import npkl_models as nm
from npkl_models.applications.scores import separation, weighted_rand_index


@pytest.mark.parametrize("drawn_from", ["clusters", "labels"])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_of_one_and_of_two_parts_have_equal_chance(seed, drawn_from):
    rng = np.random.default_rng(seed)
    y, c = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    drawn = c if drawn_from == "clusters" else y
    agree = {True: [], False: []}
    for i, j in combinations(range(30), 2):
        agree[bool(drawn[i] == drawn[j])].append((y[i] == y[j]) == (c[i] == c[j]))
    expected = 0.5 * np.mean(agree[True]) + 0.5 * np.mean(agree[False])
    assert weighted_rand_index(y, c, drawn_from) == pytest.approx(expected)


def test_the_weighted_index_at_its_ends():
    y = np.repeat([0, 1, 2], 4)
    assert weighted_rand_index(y, y + 5) == 1.0
    assert weighted_rand_index(y, np.zeros(12)) < 0.5
    assert weighted_rand_index(y, np.arange(12)) == pytest.approx(1 - 18 / 66)
    with pytest.raises(nm.UnsupportedError, match="drawn_from"):
        weighted_rand_index(y, y, "luck")
    with pytest.raises(nm.ProblemError, match="same points"):
        weighted_rand_index(y, y[1:])


def test_separation_is_the_ratio_of_mean_distances():
    rng = np.random.default_rng(0)
    V, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    D, same = squareform(pdist(V)), y[:, None] == y
    upper = np.triu(np.ones((200, 200), dtype=bool), 1)
    assert separation(V, y) == pytest.approx(D[upper & ~same].mean() / D[upper & same].mean())
    assert separation([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]) == np.inf
    for labels in (np.zeros(200), np.arange(200)):
        with pytest.raises(nm.ProblemError, match="two classes"):
            separation(V, labels)


def test_a_learned_kernel_separates_better_than_the_points():
    data = nm.datasets.load("iris")
    L = nm.laplacian(data.X, 5, shift=0.1)
    found = nm.pcp(L, nm.Pairs.from_labels(data.y, 90, 90, 0)).solve()
    assert separation(found.V, data.y) > separation(data.X, data.y)
