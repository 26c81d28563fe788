"""Folds of pairs, and scores on held-out pairs."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import npkl_models as nm

WINE = nm.datasets.load("wine")


def test_held_out_pairs_that_follow_from_others_are_not_counted():
    """(0, 2) follows from (0, 1) and (1, 2); and cannot-links from a cannot-link of the same groups."""
    must = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (6, 7), (8, 9), (10, 11)]
    cannot = [(0, 3), (1, 4), (2, 6), (5, 8), (7, 10), (3, 10)]
    pairs = nm.Pairs(12, must, cannot)
    for train, held in nm.PairFolds(2).split(pairs):
        implied = train.closure()
        known = {tuple(pair) for pair in np.concatenate([implied.must_link, implied.cannot_link]).tolist()}
        assert not known & set(zip(held.i.tolist(), held.j.tolist(), strict=True))
        assert set(held.sign.tolist()) == {1.0, -1.0}
        given = {tuple(pair) for pair in np.concatenate([train.must_link, train.cannot_link]).tolist()}
        assert given <= {tuple(sorted(pair)) for pair in must + cannot}


@pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
def test_searches_of_scikit_learn_split_pairs_over_all_points():
    """As many pairs as points: whatever has one entry for each point is split with them."""
    pairs, folds = nm.Pairs.from_labels(WINE.y, 89, 89, random_state=0), nm.PairFolds(3)
    X, kernel, parts = StandardScaler().fit_transform(WINE.X), nm.NPKLKernel(), [*folds.split(pairs)]
    late = parse_version(sklearn.__version__) >= parse_version("1.8")  # before, pipelines lose pairs
    model, name = (make_pipeline(StandardScaler(), kernel), "npklkernel__") if late else (kernel, "")
    grid = {f"{name}n_neighbors": [5, 10], f"{name}metric": ["euclidean", "manhattan"]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(model, grid, cv=folds, n_jobs=2, error_score="raise").fit(X, pairs=pairs)
        best = search.best_estimator_[-1] if late else search.best_estimator_
        assert len(best.pairs_) == len(pairs)
        scores = cross_val_score(kernel, X, cv=folds, params={"pairs": pairs})
        turned = nm.Pairs(pairs.n, pairs.cannot_link, pairs.must_link)
        wrong = cross_val_score(kernel, X, cv=folds, params={"pairs": turned})
        plain = cross_val_score(kernel, X, cv=KFold(3, shuffle=True, random_state=0), params={"pairs": pairs})
        learner, sizes = nm.KernelMetricLearner(), {"n_landmarks": [30, 100]}
        chosen = GridSearchCV(learner, sizes, cv=folds, error_score="raise").fit(X, pairs=pairs)
    near = chosen.best_estimator_.pair_distance(pairs.ends)
    rank = (near[pairs.sign > 0][:, None] < near[pairs.sign < 0]).mean()
    assert chosen.best_estimator_.score(X, pairs=pairs) == pytest.approx(rank)
    assert chosen.best_score_ > 0.9 > 0.8 > learner.fit(X, pairs=turned).score(X, pairs=pairs)
    by_hand = [clone(kernel).fit(X, pairs=train).score(X, pairs=held) for train, held in parts]
    every = {(i, j) for _, held in parts for i, j in zip(held.i.tolist(), held.j.tolist(), strict=True)}
    assert len(every) == sum(len(held) for _, held in parts) > 0.9 * len(pairs)
    np.testing.assert_allclose(scores, by_hand)
    assert scores.min() > 0.9
    assert wrong.mean() < 0.7  # what is false is not confirmed
    assert plain.mean() > 0.8
    assert nm.PairFolds(4).get_n_splits() == 4
    with pytest.raises(nm.ProblemError, match="PairFolds must be given Pairs.*enable_metadata_routing=True"):
        GridSearchCV(kernel, {"n_neighbors": [5]}, cv=folds).fit(X, pairs=pairs)
    with pytest.raises(nm.ProblemError, match=r"must be given Pairs, got list; .* Pairs\.from_arrays"):
        next(nm.PairFolds(2).split(X, pairs=[(0, 1, 1), (0, 100, -1)]))


def test_points_take_their_pairs_with_them():
    pairs = nm.Pairs(6, [(0, 1), (2, 5)], [(1, 5), (3, 4)], [1.0, 2.0, 3.0, 4.0])
    some = pairs[np.array([5, 1, 2])]  # which are 0, 1 and 2 now
    assert (some.n, some.must_link.tolist(), some.cannot_link.tolist()) == (3, [[0, 2]], [[0, 1]])
    assert some.weights.tolist() == [2.0, 3.0]
    assert pairs[np.arange(6) > 2].cannot_link.tolist() == pairs[3:].cannot_link.tolist() == [[0, 1]]
    assert pairs.owner.tolist() == [0, 2, 5, 4]
    some = pairs[np.array([-6, 1, 2, 3, 4, -1])]  # without what 0 and 5 own
    assert (some.n, some.must_link.tolist(), some.cannot_link.tolist()) == (6, [[2, 5]], [[3, 4]])
    held = pairs[np.array([4, 3, 2, 5]) - 6]
    assert (held.must_link.tolist(), held.cannot_link.tolist()) == ([[2, 3]], [[0, 1]])
    assert held.weights.tolist() == [2.0, 4.0]
    for rows in ([0, 2], 0, [9], [-1, -2], [-1]):
        with pytest.raises(nm.ProblemError, match=r"must-link or|a list|known pairs"):
            pairs[rows]


def test_pairs_and_points_weigh_in_a_score():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    model = nm.NPKLClustering(2, n_neighbors=1, noise=None).fit(X, cannot_link=[(0, 3)])
    held = nm.Pairs(4, [(0, 1), (1, 2)], [(0, 2)], [3.0, 1.0, 1.0])
    assert model.score(X, pairs=held) == pytest.approx((3 / 4 + 1) / 2)
    assert model.score(X, pairs=held, sample_weight=[1, 1, 0, 1]) == 1.0


def test_folds_follow_the_seed_and_keep_the_weights():
    pairs = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=1)
    pairs = nm.Pairs(pairs.n, pairs.must_link, pairs.cannot_link, np.linspace(1, 2, 120))
    one, other, third = (list(nm.PairFolds(3, seed).split(pairs)) for seed in (3, 3, 4))
    assert all(repr(a) == repr(b) and (a.i == b.i).all() for a, b in zip(one[0], other[0], strict=True))
    assert any(a[1].i.tolist() != b[1].i.tolist() for a, b in zip(one, third, strict=True))
    weight = dict(zip(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True), pairs.confidence, strict=True))
    for part in (part for fold in one for part in fold):
        ends = zip(part.i.tolist(), part.j.tolist(), strict=True)
        assert [weight[end] for end in ends] == part.confidence.tolist()


@pytest.mark.parametrize(("folds", "words"), [((1,), "folds"), ((90,), "folds"), ((3, -3), "random_state")])
def test_what_is_wrong_is_said(folds, words):
    pairs = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=1)
    with pytest.raises(nm.NPKLError, match=words):
        list(nm.PairFolds(*folds).split(pairs))
