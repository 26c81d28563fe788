"""What answers and graph say for a partition, beside likelihoods written out."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.applications.annotators import annotated_pairs
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.pair_noise import pair_noise
from npkl_models.applications.partitions import Witnesses, scaled_edges
from npkl_models.applications.propagated import propagated_graph

X = np.repeat([[0.0], [3.0]], 30, axis=0) + np.random.default_rng(0).normal(size=(60, 1))
Y = np.repeat([0, 1], 30)
L = nm.laplacian(X, 6)
PAIRS = nm.Pairs.from_labels(Y, 20, 20, random_state=0)


def witnesses(pairs=PAIRS, fixed=None, graph=L):
    return Witnesses(scaled_edges(graph), Answers(pairs.n, pairs.i, pairs.j, pairs.sign > 0), fixed)


def test_the_word_of_the_graph_is_the_likelihood_of_a_planted_partition():
    """Poisson edges with rates d_i d_j / (2 m) times a factor within and one between clusters, at its maximum."""
    told = witnesses()
    W = told.edges.toarray()
    d = W.sum(axis=1)
    same = Y[:, None] == Y[None, :]
    expected = np.outer(d, d) / d.sum()

    def value(labels_same):
        found = 0.0
        for part in (labels_same, ~labels_same):
            if expected[part].sum():
                factor = W[part].sum() / expected[part].sum()
                found += W[part].sum() * np.log(max(factor, 1e-300)) - factor * expected[part].sum()
        return found / 2

    one = np.ones_like(same)
    assert told.of_graph(Y) == pytest.approx(value(same) - value(one), rel=1e-9)
    assert told.of_graph(np.zeros(60, dtype=int)) == pytest.approx(0.0, abs=1e-9)
    assert told.of_graph(Y) > told.of_graph(np.arange(60) % 2)


def test_scaled_edges_count_equal_edges_and_do_not_depend_on_the_unit():
    W = scaled_edges(L)
    for unit in (1e-3, 1e-200, 1e200):
        np.testing.assert_allclose(scaled_edges(unit * L).toarray(), W.toarray(), rtol=1e-12)
    equal = sp.csr_array(np.ones((4, 4)) - np.eye(4)) * 0.3
    np.testing.assert_allclose(scaled_edges(equal).toarray(), np.ones((4, 4)) - np.eye(4))


def test_edges_of_every_size_and_none_give_a_finite_word():
    far = sp.csr_array(np.array([[0, 1e-320, 1e-300], [1e-320, 0, 1e200], [1e-300, 1e200, 0]]))
    pairs = nm.Pairs(3, [(0, 1)], [(1, 2)])
    for graph in (far, sp.csr_array((3, 3))):
        told = witnesses(pairs, graph=graph)
        assert np.isfinite(told.judged(np.array([0, 0, 1]), 2.0))
        assert np.isfinite(pair_noise(graph, pairs, [], 2, as_they_are=[np.array([0, 0, 1])]).wrong).all()


def test_the_word_of_the_answers_is_their_probability_at_the_counted_rates():
    told = witnesses()
    labels = Y.copy()
    labels[:3] = 1
    common, own, _ = told.rates(labels)
    same, must = labels[PAIRS.i] == labels[PAIRS.j], PAIRS.sign > 0
    one = (np.sum(same & ~must) + 0.5) / (same.sum() + 5)
    two = (np.sum(~same & must) + 0.5) / (np.sum(~same) + 5)
    np.testing.assert_allclose(common, [one, two])
    chance = np.where(same, np.where(must, 1 - one, one), np.where(must, two, 1 - two))
    assert told.of_answers(labels, own) == pytest.approx(np.log(chance).sum())
    assert witnesses(fixed=0.2).rates(labels)[0].tolist() == [0.2, 0.2]


def test_a_partition_that_is_kept_accuses_the_answers_that_it_breaks():
    found = pair_noise(L, PAIRS, [], 2, as_they_are=[Y])
    assert (found.labels == Y).all()
    assert found.count == 0
    turned = nm.Pairs(60, np.concatenate([PAIRS.must_link, PAIRS.ends[-3:]]), PAIRS.ends[20:-3])
    accused = pair_noise(L, turned, [], 2, as_they_are=[Y])
    broken = (Y[accused.pairs[:, 0]] == Y[accused.pairs[:, 1]]) != accused.must
    assert broken.sum() == 3
    assert accused.wrong[broken].min() > accused.wrong[~broken].max()


def test_a_partition_that_is_kept_gives_each_annotator_a_rate():
    both, said = np.tile(PAIRS.ends, (2, 1)), np.concatenate([PAIRS.sign, PAIRS.sign])
    said[40:52] *= -1  # of the second annotator
    told = annotated_pairs(60, both, said, np.repeat(["a", "b"], 40))
    found = pair_noise(L, told.pairs, [], 2, annotated=told, as_they_are=[Y])
    assert found.annotator_rates[1].max() > found.annotator_rates[0].max()


def test_probabilities_are_drawn_to_their_mean_as_often_as_results_disagree():
    other = np.roll(Y, 2)
    found = pair_noise(L, PAIRS, [], 2, as_they_are=[Y, other])
    doubt = np.sum((other[PAIRS.i] == other[PAIRS.j]) != (PAIRS.sign > 0)) / (len(PAIRS) + 1)
    assert 0 < doubt < 0.5
    assert found.weights.min() > 0
    said = (1 - found.weights) / 2  # by the mean of both, which calls no pair wrong
    np.testing.assert_allclose(found.wrong, (1 - doubt) * said + doubt * said.mean())


def test_pairs_that_spread_everywhere_change_what_the_sparse_spread_changes():
    """On the edges and pairs the two agree but for faint entries; elsewhere only one of them speaks."""
    few, every = propagated_graph(L, PAIRS), propagated_graph(L, PAIRS, everywhere=True)
    edge = few.toarray() > 0.05
    np.testing.assert_allclose(every.toarray()[edge], few.toarray()[edge], atol=0.02)
    assert every.nnz > few.nnz
