"""Pairs that mislead every annotator, pairs with very many answers, and what is refused."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.annotators import annotated_pairs
from npkl_models.applications.audit import audit_pairs
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.pair_noise import pair_noise
from npkl_models.applications.partitions import Witnesses, scaled_edges
from npkl_models.applications.propagated import propagated_graph

WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
Y = np.repeat([0, 1], 30)
POINTS = np.where(Y == 0, 0.0, 9.0)[:, None] + np.random.default_rng(0).normal(size=(60, 1))
L = nm.laplacian(POINTS, 5)


def crowd(y, count, misled, seed, each=5, rate=0.1):
    """Answers by ``each`` of eight annotators; a share of the pairs misleads all of them."""
    rng, pairs = np.random.default_rng(seed), nm.Pairs.from_labels(y, count, count, random_state=seed)
    seen = pairs.sign.copy()
    seen[rng.choice(len(pairs), round(misled * len(pairs)), replace=False)] *= -1
    who = np.stack([rng.choice(8, each, replace=False) for _ in range(len(pairs))])
    said = np.where(rng.random(who.shape) < rate, -seen[:, None], seen[:, None])
    return pairs, said, who


def test_the_likelihood_of_a_pair_that_may_mislead_is_a_mixture():
    """Two answers to pair 0, one to pair 1: only the first may mislead."""
    answers = Answers(
        3, np.array([0, 1]), np.array([1, 2]), np.array([True, True, False]), np.array([0, 0, 1])
    ).misleading(0.25)
    one, two = 0.9 * 0.9, 0.2 * 0.2
    expected = [[0.75 * one + 0.25 * two, 0.1], [0.75 * two + 0.25 * one, 0.8]]
    np.testing.assert_allclose(np.exp(answers.log_likelihood((0.1, 0.2))), expected)
    seen, misled = answers.seen((0.1, 0.2), np.array([0.7, 0.7]))
    together, apart = 0.7 * expected[0][0], 0.3 * expected[1][0]
    np.testing.assert_allclose(seen[0], (0.7 * 0.75 + 0.3 * 0.25) * one / (together + apart))
    np.testing.assert_allclose(misled[0], 0.25 * (0.3 * one + 0.7 * two) / (together + apart))
    np.testing.assert_allclose([seen[1], misled[1]], [0.7 * 0.1 / (0.7 * 0.1 + 0.3 * 0.8), 0.0])


@pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
def test_pairs_that_mislead_everybody_do_not_decide_the_clusters():
    """Five answers to each pair; of one pair in ten all annotators see the opposite of what is true."""
    score, share = [], []
    for seed in range(3):
        pairs, said, who = crowd(WINE.y, 107, 0.1, seed)
        told = nm.NPKLClustering(3).fit(
            X, pairs=np.repeat(pairs.ends, 5, axis=0), y_pairs=said.ravel(), annotator=who.ravel()
        )
        voted = nm.NPKLClustering(3).fit(X, pairs=pairs.ends, y_pairs=np.sign(said.sum(axis=1)))
        score.append([adjusted_rand_score(WINE.y, model.labels_) for model in (told, voted)])
        share.append(told.audit_.noise.misled)
    told, voted = np.mean(score, axis=0)
    assert told > max(voted - 0.02, 0.9)
    assert np.mean(share) == pytest.approx(0.1, abs=0.04)


@pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
@pytest.mark.parametrize("noise", ["auto", 0.1])
def test_a_table_that_is_read_three_times_is_not_believed_more(noise):
    pairs, said, who = crowd(WINE.y, 100, 0.2, 0, each=1, rate=0.0)
    ends, score = np.stack([pairs.i, pairs.j], axis=1), []
    for times in (1, 3):
        model = nm.NPKLClustering(3, noise=noise).fit(
            X, pairs=np.tile(ends, (times, 1)), y_pairs=np.tile(said.ravel(), times),
            annotator=np.tile(who.ravel(), times),
        )  # fmt: skip
        score.append(adjusted_rand_score(WINE.y, model.labels_))
    assert score[1] > score[0] - 0.06  # it was below by 0.5
    assert model.audit_.noise.count > 20


def test_a_crowd_that_is_not_misled_stays_so():
    pairs, said, who = crowd(WINE.y, 107, 0.0, 0)
    given = annotated_pairs(len(X), np.repeat(pairs.ends, 5, axis=0), said.ravel(), who.ravel())
    graph = nm.laplacian(X, 10, shift=0.1)
    found = pair_noise(graph, given.pairs, [WINE.y], 3, annotated=given)
    assert 0 < found.misled < 0.02
    assert found.annotator_rates.mean() == pytest.approx(0.1, abs=0.03)
    assert pair_noise(graph, given.pairs, [WINE.y], 3).misled == 0
    assert 0 < pair_noise(graph, given.pairs, [WINE.y], 3, 0.1, given).misled < 0.02
    assert pair_noise(graph, given.pairs, [WINE.y], 3, 0.0, given).misled == 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("noise", ["auto", 0.0, 0.1])
@pytest.mark.parametrize("count", [150, 600])
def test_very_many_answers_to_one_pair_have_finite_probabilities(noise, count):
    """Products of so many rates are 0 in floating point, and the clusters say the opposite."""
    together = [(a, b) for a in (0, 1) for b in range(2, 25)] + [(30, b) for b in range(31, 50)]
    apart = [(i, 30 + i) for i in range(20)] + [(0, 1)] * count
    said = np.repeat([1, -1], [len(together), len(apart)])
    for crowd_size in (3, 50):
        given = annotated_pairs(60, together + apart, said, np.arange(said.size) % crowd_size)
        found = pair_noise(L, given.pairs, [Y], 2, noise, annotated=given)
        for part in (found.wrong, found.beliefs):
            assert ((part >= 0) & (part <= 1)).all()
        np.testing.assert_allclose(found.beliefs.sum(axis=1), 1.0)
        assert np.isfinite(found.log_evidence)


def test_a_graph_with_more_edges_between_clusters_says_nothing_for_them():
    rng = np.random.default_rng(0)
    both = nm.laplacian(rng.normal(size=(60, 1)), 6)
    edges = scaled_edges(both)
    side = np.argsort(np.argsort(edges @ np.arange(60.0))) % 2
    pairs = nm.Pairs(60, [(0, 1)], [(1, 2)])
    told = Witnesses(edges, Answers(60, pairs.i, pairs.j, pairs.sign > 0), None)
    across = np.array([[0.0, 1.0], [1.0, 0.0]])
    two = Witnesses(scaled_edges(across), Answers(2, np.array([0]), np.array([1]), np.array([True])), None)
    assert two.of_graph(np.array([0, 1])) == 0
    assert told.of_graph(side) >= 0


def test_many_pairs_take_little_memory():
    n, m = 2_000, 40_000
    rng = np.random.default_rng(0)
    y = np.arange(n) % 4
    pairs = nm.Pairs.from_labels(y, m // 2, m // 2, random_state=0)
    graph = nm.laplacian(3 * np.eye(4)[y] + rng.normal(size=(n, 4)), 10)
    tracemalloc.start()
    propagated_graph(graph, pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e8


@pytest.mark.parametrize("names", [
    [None, "ann", "bob"],
    np.array(["ann", np.nan, "bob"], dtype=object),
    pd.Series(["ann", pd.NA, "bob"]),
    [1.0, np.nan, 2.0],
])  # fmt: skip
def test_a_missing_name_is_no_annotator(names):
    with pytest.raises(nm.ProblemError, match=r"None or NaN at positions \[\d\]"):
        annotated_pairs(4, [(0, 1), (1, 2), (2, 3)], [1, -1, 1], names)


def test_answers_of_tables_are_read():
    ends, said = [(0, 1), (1, 2), (2, 3)], [True, False, True]
    plain = annotated_pairs(4, ends, said, ["nan", "b", "nan"])
    for answers in (np.array(said, dtype=object), pd.Series(said, dtype="boolean")):
        again = np.array(ends, dtype=np.uint64), answers, np.array(["nan", "b", "nan"], object)
        np.testing.assert_array_equal(annotated_pairs(4, *again).must, plain.must)
    with pytest.raises(nm.ProblemError, match=r"got \['perhaps'\]"):
        annotated_pairs(4, ends, ["yes", "perhaps", "yes"], ["a", "b", "a"])
    with pytest.raises(nm.ProblemError, match="pairs must be integers of shape"):
        annotated_pairs(4, [(0, 1, 2)], [True], ["a"])


PAIRS = nm.Pairs.from_labels(Y, 10, 10, random_state=0)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: pair_noise(L, PAIRS, [], 2), "starts must hold at least one"),
    (lambda: pair_noise(L, PAIRS, [Y + 1], 2), "starts must hold clusters 0..1"),
    (lambda: pair_noise(L, PAIRS, [Y[:9]], 2), "starts must hold clusters 0..1"),
    (lambda: pair_noise(L, PAIRS, [Y], 2, as_they_are=[-Y]), "as_they_are must hold clusters"),
    (lambda: pair_noise(L[:9][:, :9], PAIRS, [Y], 2), "graph must be finite and of shape"),
    (lambda: pair_noise(L * np.nan, PAIRS, [Y], 2), "graph must be finite and of shape"),
    (lambda: pair_noise(L, PAIRS, [Y], 2.0), "n_clusters must be an integer"),
    (lambda: audit_pairs(nm.pcp(L, PAIRS), 2), r"solution must be a Solution such as problem.solve\(\)"),
])  # fmt: skip
def test_mistakes_are_named(call, words):
    with pytest.raises(nm.ProblemError, match=words):
        call()


@pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
@pytest.mark.parametrize("sparse", [False, True])
def test_arrays_that_change_after_a_fit_do_not_change_the_model(sparse):
    pairs, said, who = crowd(WINE.y, 30, 0.0, 0, each=2)
    ends = np.repeat(np.stack([pairs.i, pairs.j], axis=1), 2, axis=0)
    given = sp.csr_array(X) if sparse else X.copy()
    said, who = said.ravel(), who.ravel()
    model = nm.NPKLClustering(3).fit(given, pairs=ends, y_pairs=said, annotator=who)
    before = model.predict(X + 0.01)
    for part in (given.data if sparse else given, ends, said, who):
        part[...] = 0
    np.testing.assert_array_equal(model.predict(X + 0.01), before)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.annotators_.tolist() == list(range(8))
