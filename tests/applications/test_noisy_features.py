"""Features from pairs of which some are wrong: the model of wrong pairs in `NPKLKernel`."""

import warnings

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.annotators import annotated_pairs
from npkl_models.applications.estimators.noisy import WrongPairsWarning
from npkl_models.applications.held_out import ranked_rightly

WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
CLEAN = nm.Pairs.from_labels(WINE.y, 107, 107, random_state=0)
HELD = nm.Pairs.from_labels(WINE.y, 300, 300, random_state=7)


def turned(share):
    """The clean pairs with a share turned round, as ends and signs, and which."""
    ends, sign = np.stack([CLEAN.i, CLEAN.j], axis=1), CLEAN.sign.copy()
    which = np.random.default_rng(0).choice(len(sign), round(share * len(sign)), replace=False)
    sign[which] *= -1
    return {"pairs": ends, "y_pairs": sign}, which


def fitted(side, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WrongPairsWarning)
        return nm.NPKLKernel(**settings).fit(X, **side)


def wrong_of(model):
    return (WINE.y[model.pairs_.i] == WINE.y[model.pairs_.j]) != (model.pairs_.sign > 0)


def test_features_do_not_believe_wrong_pairs():
    side, _ = turned(0.2)
    plain = fitted(side, noise=None, n_clusters=3)
    with pytest.warns(WrongPairsWarning, match=r"of 214 pairs contradict the rest") as caught:
        model = nm.NPKLKernel(n_clusters=3).fit(X, **side)
    assert caught[0].filename == __file__
    found = [ranked_rightly(one.transform(X), HELD) for one in (model, plain)]
    assert found[0] > found[1] + 0.05
    wrong = wrong_of(model)
    assert model.pair_weights_[wrong].mean() < 0.4 < 0.8 < model.pair_weights_[~wrong].mean()
    assert model.certificate_.relative_gap <= 1e-6
    assert (np.diff(model.audit_.wrong) <= 0).all()
    assert plain.audit_ is None
    np.testing.assert_array_equal(plain.pair_weights_, np.ones(214))


def test_a_rate_is_used_and_has_its_price():
    side, _ = turned(0.2)
    known, trusting = (fitted(side, n_clusters=3, noise=rate) for rate in (0.2, 0.0))
    assert known.audit_.noise.rates == (0.2, 0.2)
    assert trusting.audit_.noise.rates == (0.0, 0.0)
    assert trusting.audit_.noise.count < known.audit_.noise.count
    assert np.sum(trusting.pair_weights_ == 0) < np.sum(known.pair_weights_ == 0)


@pytest.mark.parametrize(("settings", "words"), [
    ({"noise": 0.1}, "noise must come with n_clusters"),
    ({"noise": 0.0}, "noise must come with n_clusters"),
    ({"n_clusters": 3, "noise": 0.1, "formulation": "hard_pcp"}, "hold exactly"),
])  # fmt: skip
def test_a_model_that_cannot_be_is_refused(settings, words):
    with pytest.raises(nm.ProblemError, match=words):
        nm.NPKLKernel(**settings).fit(X, **turned(0.0)[0])


@pytest.mark.parametrize("side", [{}, {"must_link": [(0, 1), (2, 3)]}])
def test_without_a_cannot_link_there_is_no_model(side):
    model = nm.NPKLKernel(n_clusters=3).fit(X, **side)
    assert model.audit_ is None
    assert (model.pair_weights_ == 1).all()


def test_annotators_and_weights_of_points_go_together():
    """Two annotators of whom one guesses, each pair answered once; and a point that counts for nothing."""
    side, _ = turned(0.0)
    rng = np.random.default_rng(0)
    who = rng.integers(0, 3, len(side["y_pairs"]))
    guess = (who == 2) & (rng.random(who.size) < 0.45)
    side["y_pairs"] = np.where(guess, -side["y_pairs"], side["y_pairs"])
    weight = np.ones(len(X))
    weight[side["pairs"][0, 0]] = 0.0
    side |= {"annotator": who, "sample_weight": weight}
    told, alone = fitted(side, n_clusters=3), fitted(side)
    assert told.annotator_rates_.shape == (3, 2)
    assert told.annotator_rates_[2].min() > told.annotator_rates_[:2].max() + 0.1
    kept = (weight[side["pairs"]] > 0).all(axis=1)
    by_answers = annotated_pairs(len(X), side["pairs"][kept], side["y_pairs"][kept], who[kept])
    np.testing.assert_allclose(alone.annotator_rates_, by_answers.rates)
    np.testing.assert_allclose(alone.pair_weights_, by_answers.weights)
    assert len(told.pair_weights_) == len(told.pairs_) == kept.sum()
    wrong = wrong_of(told)
    assert told.pair_weights_[wrong].mean() < 0.5 < told.pair_weights_[~wrong].mean()
