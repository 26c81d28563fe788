"""Means over several first clusters."""

import numpy as np
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.noise_search import Part
from npkl_models.applications.pair_noise import pair_noise
from npkl_models.applications.partitions import Witnesses, mixed

ONE = Answers(2, np.array([0]), np.array([1]), np.array([True]))


def part(points, together):
    rates = np.array([0.1, 0.1])
    return Part(points, together, rates, rates[None], True, 1.0)


def witnesses(answers, fixed):
    """The answers without any edge."""
    n = answers.sums.shape[0]
    return Witnesses(sp.csr_array((n, n)), answers, fixed)


def test_first_clusters_of_equal_evidence_count_alike_whatever_their_names():
    answers = Answers(3, np.array([0]), np.array([1]), np.array([True]))
    points = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]])
    one = part(points, np.array([0.6]))
    two = part(points[:, ::-1], np.array([0.6]))
    np.testing.assert_allclose(mixed([one, two], witnesses(answers, 0.1)).points, points)


def test_clusters_that_break_many_answers_count_for_nothing():
    n = 600
    answers = Answers(n, np.arange(0, n, 2), np.arange(1, n, 2), np.ones(n // 2, dtype=bool))
    right = np.tile([0.9, 0.1], (n, 1))
    right[: n // 2] = [0.2, 0.8]  # two points of each pair are in one cluster
    wrong = np.tile([[0.9, 0.1], [0.2, 0.8]], (n // 2, 1))  # and here in two
    one, two = (part(points, np.full(n // 2, 0.6)) for points in (right, wrong))
    both = mixed([two, one], witnesses(answers, 0.1))
    assert both.best is one
    np.testing.assert_allclose(both.points, right, atol=1e-9)


def test_probabilities_of_pairs_are_means_weighted_as_the_clusters_are():
    points = np.array([[0.9, 0.1], [0.2, 0.8]])
    one, two = part(points, np.array([0.9])), part(points[:, ::-1], np.array([0.5]))
    np.testing.assert_allclose(mixed([one, two], witnesses(ONE, 0.1)).together, [0.7])


def test_a_known_rate_is_reported_as_it_was_given():
    first = part(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.6]))
    found = mixed([first, first, first], witnesses(ONE, 0.2))
    assert found.rates.tolist() == [0.2, 0.2]


def test_results_with_an_empty_cluster_are_left_out():
    full = part(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5]))
    empty = part(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0.5]))
    found = mixed([empty, full], witnesses(ONE, 0.1))
    assert found.best is full
    assert found.doubt == 0.0


def test_later_first_clusters_are_mixed_in():
    X = np.repeat([[0.0], [3.0]], 30, axis=0) + np.random.default_rng(0).normal(size=(60, 1))
    y = np.repeat([0, 1], 30)
    pairs, L = nm.Pairs.from_labels(y, 20, 20, random_state=0), nm.laplacian(X, 8)
    other = np.arange(60) % 2
    both = pair_noise(L, pairs, [y, other], 2)
    later = pair_noise(L, pairs, [other], 2, others=pair_noise(L, pairs, [y], 2).parts)
    assert len(later.parts) == 2
    np.testing.assert_allclose(later.wrong, both.wrong, atol=1e-12)
    np.testing.assert_allclose(later.beliefs, both.beliefs, atol=1e-12)
