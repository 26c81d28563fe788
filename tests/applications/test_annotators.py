"""Several answers to a pair: rates of annotators, answers weighed by them, and what the estimators do with them."""

import numpy as np
import pytest
import sklearn
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.annotators import annotated_pairs
from npkl_models.applications.audit import audit_pairs
from npkl_models.applications.beliefs import Answers

WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
RATES = np.array([0.02, 0.05, 0.1, 0.3, 0.45])


def crowd(y, count, each, rates, seed):
    """``each`` answers to every pair by different annotators; ends, answers, who, and the truth of each answer."""
    rng = np.random.default_rng(seed)
    pairs = nm.Pairs.from_labels(y, count, count, random_state=seed)
    who = np.stack([rng.choice(len(rates), each, replace=False) for _ in range(len(pairs))]).ravel()
    truth = np.repeat(pairs.sign, each)
    said = np.where(rng.random(truth.size) < rates[who], -truth, truth)
    return np.repeat(pairs.ends, each, axis=0), said, who, truth


def test_good_and_bad_annotators_are_told_apart_by_repeated_answers():
    y = np.arange(200) % 3
    ends, said, who, _ = crowd(y, 300, 3, RATES, 0)
    found = annotated_pairs(200, ends, said, who)
    np.testing.assert_allclose(found.rates, np.stack([RATES, RATES], axis=1), atol=0.1)
    right = (y[found.pairs.i] == y[found.pairs.j]) == (found.pairs.sign > 0)
    votes = np.bincount(found.pair, np.where(found.must, 1.0, -1.0))
    by_vote = (y[found.pairs.i] == y[found.pairs.j]) == (votes > 0)
    assert right.mean() > by_vote.mean() + 0.02
    assert found.weights[right].mean() > found.weights[~right].mean() + 0.2


def test_one_kind_of_mistake_is_told_from_the_other():
    """An annotator who says cannot-link too often is wrong about must-links alone."""
    y = np.arange(200) % 2
    ends, _, who, truth = crowd(y, 300, 3, np.zeros(4), 1)
    said = truth.copy()
    mine = np.flatnonzero((who == 3) & (truth > 0))
    said[np.random.default_rng(0).choice(mine, mine.size // 2, replace=False)] = -1
    found = annotated_pairs(200, ends, said, who)
    assert found.rates[3, 0] == pytest.approx(0.5, abs=0.1)
    assert found.rates[3, 1] < 0.05
    assert found.rates[:3].max() < 0.05


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_an_annotator_does_not_judge_himself(share):
    """Without a second voice nothing is known of the rates, and every answer stays as it is."""
    rng, ends = np.random.default_rng(0), np.stack(np.triu_indices(30, k=1), axis=1)
    said = rng.random(len(ends)) < share
    twice = np.concatenate([ends, ends]), np.concatenate([said, said])
    for who in (np.zeros(2 * len(ends), dtype=int), np.tile(np.arange(len(ends)), 2)):
        found = annotated_pairs(30, *twice, who)
        np.testing.assert_allclose(found.rates, 0.1)
        assert set(map(tuple, found.pairs.must_link.tolist())) == set(map(tuple, ends[said].tolist()))


def test_names_and_the_order_of_answers_do_not_matter():
    y = np.arange(60) % 3
    ends, said, who, _ = crowd(y, 60, 3, RATES, 0)
    names = np.array(["eve", "dan", "cat", "bob", "ann"])
    first, other = annotated_pairs(60, ends, said, who), annotated_pairs(60, ends, said > 0, names[who])
    np.testing.assert_allclose(other.rates, first.rates[::-1], atol=1e-12)
    np.testing.assert_allclose(other.probability, first.probability, atol=1e-12)
    order = np.random.default_rng(0).permutation(len(ends))
    mixed = annotated_pairs(60, ends[order][:, ::-1], said[order], who[order])
    np.testing.assert_allclose(mixed.probability, first.probability, atol=1e-9)
    np.testing.assert_array_equal(mixed.pairs.must_link, first.pairs.must_link)


def test_each_answer_keeps_its_pair():
    ends, said, who, _ = crowd(np.arange(60) % 3, 60, 3, RATES, 0)
    found = annotated_pairs(60, ends, said, who)
    np.testing.assert_array_equal(found.pairs.ends[found.pair], np.sort(ends, axis=1))
    np.testing.assert_array_equal(found.pairs.sign > 0, found.probability >= 0.5)


def test_answers_to_one_pair_multiply():
    """Two answers to a pair are as likely as the product of both."""
    answers = Answers(
        2, np.array([0]), np.array([1]), np.array([True, False]), np.array([0, 0]), np.array([0, 1])
    )
    together, apart, divided = answers.likelihood([(0.1, 0.2), (0.3, 0.4)])
    found = np.exp(divided) * np.array([together[0], apart[0]])
    np.testing.assert_allclose(found, [0.9 * 0.3, 0.2 * 0.6])


@pytest.mark.parametrize(("pairs", "answers", "annotator", "words"), [
    ([(0, 1)], [1], ["a", "b"], "one length, got 1, 1 and 2"),
    ([(0, 1)], [2], ["a"], "answers must be"),
    ([(0, 1)], [1], [np.nan], "None or NaN at positions"),
    ([(0, 1)], [1], [["a"]], "with shape"),
    ([(0, 9)], [1], ["a"], "must index points 0..2"),
])  # fmt: skip
def test_bad_answers_are_refused(pairs, answers, annotator, words):
    with pytest.raises(nm.ProblemError, match=words):
        annotated_pairs(3, pairs, answers, annotator)
    with pytest.raises(nm.ProblemError, match=words.replace("answers must", "y_pairs must")):
        nm.NPKLKernel().fit(X[:3], pairs=pairs, y_pairs=answers, annotator=annotator)


@pytest.mark.parametrize("side", [
    {"annotator": ["a"]},
    {"annotator": ["a"], "pairs": [(0, 1)]},
    {"annotator": ["a"], "pairs": [(0, 1)], "y_pairs": [1], "must_link": [(0, 2)]},
    {"annotator": [], "pairs": [], "y_pairs": []},
    {"annotator": ["a"], "pairs": nm.Pairs(178, [(0, 1)], None)},
])  # fmt: skip
def test_annotators_come_with_pairs_and_answers_alone(side):
    with pytest.raises(nm.ProblemError, match="annotator must come with"):
        nm.NPKLClustering(3).fit(X, **side)


@pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
def test_clusters_are_better_if_the_annotators_are_known():
    """One answer to each pair: only the graph and the other pairs tell the annotators apart."""
    rates, score = np.array([0.02, 0.02, 0.45]), []
    for seed in range(3):
        ends, said, who, _ = crowd(WINE.y, 107, 1, rates, seed)
        told = nm.NPKLClustering(3).fit(X, pairs=ends, y_pairs=said, annotator=who)
        untold = nm.NPKLClustering(3).fit(X, pairs=ends, y_pairs=said)
        score.append([adjusted_rand_score(WINE.y, model.labels_) for model in (told, untold)])
        np.testing.assert_array_equal(told.annotators_, [0, 1, 2])
        assert told.annotator_rates_[2].min() > told.annotator_rates_[:2].max() + 0.1
        assert untold.annotators_ is None
    told, untold = np.mean(score, axis=0)
    assert told > untold + 0.02
    assert told > 0.85


@pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
@pytest.mark.parametrize("noise", [None, "auto", 0.1])
def test_repeated_answers_reach_the_kernel(noise):
    ends, said, who, _ = crowd(WINE.y, 60, 3, RATES, 0)
    model = nm.NPKLClustering(3, noise=noise).fit(X, pairs=ends, y_pairs=said, annotator=who)
    assert len(model.pairs_) == len(model.pair_weights_) == 120
    assert model.annotator_rates_.shape == (5, 2)
    wrong = (WINE.y[model.pairs_.i] == WINE.y[model.pairs_.j]) != (model.pairs_.sign > 0)
    assert model.pair_weights_[~wrong].mean() > model.pair_weights_[wrong].mean()
    learnt = model.solution_.problem.terms[0]
    assert len(learnt.target) >= np.sum(model.pair_weights_ > 0)
    assert (model.audit_ is None) == (noise is None)


def test_annotators_of_features_and_points_without_weight():
    ends, said, who, _ = crowd(WINE.y, 60, 3, RATES, 0)
    weight = np.ones(len(X))
    weight[ends[0]] = 0.0
    model = nm.NPKLKernel().fit(X, pairs=ends, y_pairs=said, annotator=who, sample_weight=weight)
    left = (weight[ends] > 0).all(axis=1)
    assert len(model.pairs_) == np.unique(np.sort(ends[left], axis=1), axis=0).shape[0]
    by_answers = annotated_pairs(len(X), ends[left], said[left], who[left])
    np.testing.assert_allclose(model.annotator_rates_, by_answers.rates)
    elsewhere = np.ones(len(X))
    elsewhere[ends.ravel()] = 0.0
    with pytest.raises(nm.ProblemError, match="must leave at least one pair"):
        nm.NPKLKernel().fit(X, pairs=ends, y_pairs=said, annotator=who, sample_weight=elsewhere)


def test_annotators_are_routed_through_a_pipeline():
    ends, said, who, _ = crowd(WINE.y, 60, 3, RATES, 0)
    with sklearn.config_context(enable_metadata_routing=True):
        last = nm.NPKLKernel().set_fit_request(pairs=True, y_pairs=True, annotator=True)
        chain = make_pipeline(StandardScaler(), last).fit(WINE.X, pairs=ends, y_pairs=said, annotator=who)
    np.testing.assert_array_equal(chain[-1].annotators_, np.arange(5))


def test_an_audit_reads_all_answers():
    ends, said, who, _ = crowd(WINE.y, 107, 2, RATES, 0)
    given = annotated_pairs(len(X), ends, said, who)
    solution = nm.pcp(nm.laplacian(X, 10, shift=0.1), given.pairs, gamma=3.0, cannot=-0.5).solve(tol=1e-4)
    found, plain = audit_pairs(solution, 3, annotated=given), audit_pairs(solution, 3)
    assert found.noise.annotator_rates.shape == (5, 2)
    assert plain.noise.annotator_rates is None
    brier = []
    for audit in (found, plain):
        wrong = (WINE.y[audit.pairs[:, 0]] == WINE.y[audit.pairs[:, 1]]) != audit.must
        brier.append(np.mean((audit.wrong - wrong) ** 2))
    assert brier[0] < brier[1]
    other = annotated_pairs(len(X), ends[:10], said[:10], who[:10])
    with pytest.raises(nm.ProblemError, match="every pair of the problem"):
        audit_pairs(solution, 3, annotated=other)
