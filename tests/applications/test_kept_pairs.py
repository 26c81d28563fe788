"""Labels and the pairs that were stated: broken ones are named, and none is broken where all are right."""

import warnings

import numpy as np
import pandas as pd
import pytest

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy
from npkl_models.applications.constrained import Assignment, log_costs
from npkl_models.applications.estimators.noisy import WrongPairsWarning
from npkl_models.applications.estimators.side import weighed
from npkl_models.applications.scores import separation, weighted_rand_index
from npkl_models.model.colouring import broken_by

APART = [(0, 7), (7, 8), (8, 0), (5, 16)]


def fitted(seed, **more):
    X = np.random.default_rng(100 + seed).normal(size=(18, 4))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = nm.NPKLClustering(3, random_state=seed, **more).fit(X, must_link=[(1, 2)], cannot_link=APART)
    words = " ".join(str(one.message) for one in said if one.category is WrongPairsWarning)
    return model, words, X


@pytest.mark.parametrize("noise", ["auto", None, 0.1])
def test_a_broken_pair_is_named(noise):
    broken = 0
    for seed in range(8):
        model, words, _ = fitted(seed, noise=noise)
        for i, j, must in broken_by(model.labels_, model.pairs_):
            assert f"{i}-{j} ({'must' if must else 'cannot'})" in words
            broken += 1
        assert ("do not keep" in words) == bool(broken_by(model.labels_, model.pairs_))
    assert broken or noise is None  # otherwise nothing was shown


@pytest.mark.parametrize("formulation", ["pcp", "hard_pcp"])
def test_pairs_without_noise_are_kept(formulation):
    for seed in range(8):
        model, words, X = fitted(seed, noise=0.0, formulation=formulation)
        assert broken_by(model.labels_, model.pairs_) == []
        assert "do not keep" not in words
        if formulation == "pcp":
            np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
@pytest.mark.parametrize("noise", ["auto", None])
def test_a_pair_of_infinite_weight_is_kept_among_pairs_that_may_be_wrong(noise):
    sure, lost = np.arange(24) % 5 == 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, pairs = rng.normal(size=(40, 4)), nm.Pairs.from_labels(rng.integers(3, size=40), 12, 12, seed)
        hard = nm.Pairs(40, pairs.must_link, pairs.cannot_link, np.where(sure, np.inf, 0.5))
        model, plain = (nm.NPKLClustering(3, noise=noise).fit(X, pairs=one) for one in (hard, pairs))
        met, before = (
            (one.labels_[pairs.i] == one.labels_[pairs.j]) == (pairs.sign > 0) for one in (model, plain)
        )
        assert met[sure].all()
        assert 0 < model.score(X, pairs=hard) <= 1
        lost += np.sum(~before[sure])
        wrong = 1 - model.pair_weights_ if noise is None else model.audit_.noise.wrong
        assert wrong[sure].max() == 0.0
        assert len(weighed(hard, np.arange(40) != pairs.i[0])) < 24  # a point of weight 0 has no pair
    assert lost or noise is None


@pytest.mark.parametrize(("must", "cannot", "words"), [
    ([(0, 1), (1, 2)], [(0, 2)], "0-2 the chain 0-1-2"),
    ([], [(0, 1), (1, 2), (2, 0)], "2 clusters cannot keep the 3 cannot-links: 0-1, 0-2, 1-2 are all apart"),
])  # fmt: skip
def test_pairs_that_no_labels_keep_are_refused_where_all_are_right(must, cannot, words):
    X = np.random.default_rng(3).normal(size=(12, 3))
    for more in ({"noise": 0.0}, {"hard": True}, {"hard": True, "noise": None}):
        with pytest.raises(nm.ProblemError, match=words):
            nm.NPKLClustering(2, **more).fit(X, must_link=must, cannot_link=cannot)
    weights = np.full(len(must) + len(cannot), np.inf)
    with pytest.raises(nm.ProblemError, match=words):
        nm.NPKLClustering(2).fit(X, pairs=nm.Pairs(12, must, cannot, weights))
    weights[0] = 1.0
    with pytest.warns(WrongPairsWarning, match="the labels do not keep 0-1"):
        nm.NPKLClustering(2).fit(X, pairs=nm.Pairs(12, must, cannot, weights))


def test_opposite_answers_of_annotators_are_refused_where_all_are_right():
    X = np.random.default_rng(3).normal(size=(12, 3))
    given = {"pairs": [(0, 1), (1, 0), (0, 8)], "annotator": ["a", "b", "a"]}
    for more in ({"noise": 0.0}, {"hard": True}, {"hard": True, "noise": None}):
        with pytest.raises(nm.ProblemError, match="agree where all are right, got opposite ones to 0-1$"):
            nm.NPKLClustering(2, **more).fit(X, y_pairs=[1, -1, -1], **given)
        nm.NPKLClustering(2, **more).fit(X, y_pairs=[1, 1, -1], **given)


def test_the_most_certain_group_is_assigned_first():
    costs = log_costs(np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.2, 0.8]]))
    assert Assignment(4, 2, nm.Pairs(4, [(2, 3)], [(0, 1)]))(costs).tolist() == [0, 1, 1, 1]
    chain = Assignment(4, 2, nm.Pairs(4, None, [(0, 1), (1, 2), (2, 3)]))(costs)
    assert chain.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


@pytest.mark.parametrize("noise", ["auto", None, 0.0])
def test_hard_pairs_and_sizes_hold_and_training_points_keep_their_labels(noise):
    for seed in range(4):
        model, words, X = fitted(seed, noise=noise, hard=True, size_min=5, size_max=7)
        assert broken_by(model.labels_, model.pairs_) == []
        assert "do not keep" not in words
        assert 5 <= np.bincount(model.labels_).min() <= np.bincount(model.labels_).max() <= 7
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(nm.ProblemError, match="noise must be 'auto', 0 or None with hard=True"):
        nm.NPKLClustering(3, hard=True, noise=0.1).fit(X, cannot_link=APART)
    free = nm.NPKLClustering(3, size_max=6).fit(X)  # without pairs
    assert np.bincount(free.labels_).tolist() == [6, 6, 6]


@pytest.mark.parametrize("noise", ["auto", None])
def test_probabilities_of_clusters_are_those_of_the_model(noise):
    model, _, X = fitted(0, noise=noise)
    assert hasattr(model, "predict_proba") == (noise is not None)
    if noise is None:
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(X)
        return
    np.testing.assert_array_equal(model.predict_proba(X), model.beliefs_)
    new = model.predict_proba(X + 0.3)
    np.testing.assert_allclose(new.sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.argmax(new, axis=1), model.predict(X + 0.3))
    assert not hasattr(nm.NPKLClustering(3).fit(X, must_link=[(0, 1)]), "predict_proba")  # no cannot-link


@pytest.mark.parametrize("kind", [np.int64, object, float, np.int8])
def test_whole_numbers_of_any_type_are_positions(kind):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), index=np.arange(20)[::-1])
    must, cannot = np.array([(0, 3), (4, 9)]), np.array([(0, 4), (3, 12)])
    ends = np.r_[must, cannot]
    wanted = nm.NPKLKernel().fit(X.to_numpy(), must_link=must, cannot_link=cannot).pairs_
    found = nm.NPKLKernel().fit(X, must_link=must.astype(kind), cannot_link=cannot.astype(kind)).pairs_
    signed = nm.NPKLKernel().fit(X, pairs=ends.astype(kind), y_pairs=["same", "same", "no", "no"]).pairs_
    for one in (found, signed):
        np.testing.assert_array_equal(one.ends, wanted.ends)
        assert one.sign.tolist() == [1, 1, -1, -1]
    with pytest.raises(nm.ProblemError, match="must name rows of X by labels of its index, got .'0.5'"):
        nm.NPKLKernel().fit(X, must_link=[(0.5, 1.0)])


@pytest.mark.parametrize("none", [-1, None, np.nan, "", "NA", pd.NA, "-1"])
def test_points_without_a_class_count_in_no_score_and_no_pair(none):
    y = np.array([0, 0, 1, 1, none, none], dtype=object)
    clusters = np.array([0, 0, 1, 1, 0, 1])
    assert cluster_accuracy(y, clusters) == weighted_rand_index(y, clusters) == 1.0
    V = np.array([[0.0], [1.0], [10.0], [11.0], [90.0], [91.0]])
    assert separation(V, y) == separation(V[:4], [0, 0, 1, 1])
    pairs = nm.Pairs.from_labels(y, 2, 4, random_state=0)
    assert max(pairs.i.max(), pairs.j.max()) < 4


@pytest.mark.parametrize(("more", "words"), [
    ({"loss": "hinge"}, "loss must be left out with formulation='pcp'.*got 'hinge'; you can choose loss for npkl, simple"),
    ({"formulation": "hard_pcp", "loss": "squared_hinge"}, "loss must be left out with formulation='hard_pcp'"),
    ({"formulation": "npkl", "cannot": -0.5}, "cannot must be left out with formulation='npkl'.*you can choose cannot for pcp"),
])  # fmt: skip
def test_a_choice_that_a_formulation_has_not_is_refused(more, words):
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(nm.ProblemError, match=words):
        nm.NPKLClustering(2, **more).fit(X)
    with pytest.raises(nm.ProblemError, match="loss must be left out"):
        nm.NPKLKernel(loss="hinge").fit(X)


def test_a_weight_of_0_at_a_point_leaves_hard_pairs():
    pairs, points = nm.Pairs(4, [(0, 1), (2, 3)], [], [np.inf, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    assert weighed(pairs, points).confidence.tolist() == [np.inf]
    assert weighed(pairs, np.full(4, 1e200)).confidence.tolist() == [np.inf, pytest.approx(1e200)]


def test_the_kernel_behind_features_meets_hard_pairs():
    pairs = nm.Pairs(150, [(0, 100), (1, 2)], [(3, 4)], [np.inf, 1.0, np.inf])  # against the graph
    K = nm.NPKLKernel().fit(nm.datasets.load("iris").X, pairs=pairs).kernel_
    assert K[0, 100] == pytest.approx(1.0, abs=1e-6)
    assert K[3, 4] == pytest.approx(0.0, abs=1e-6)
