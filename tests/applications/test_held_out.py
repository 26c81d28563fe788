"""Folds of pairs, and scores on held-out pairs."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.held_out import cross_val_pairs

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


def test_the_score_of_a_perfect_kernel_is_one():
    """Two classes far apart: both scores."""
    X = np.concatenate(
        [np.random.default_rng(0).normal(size=(30, 2)), 50 + np.random.default_rng(1).normal(size=(30, 2))]
    )
    pairs = nm.Pairs.from_labels(np.repeat([0, 1], 30), 30, 30, random_state=0)
    for model in (nm.NPKLKernel(n_neighbors=5), nm.NPKLClustering(2, n_neighbors=5)):
        assert cross_val_pairs(model, X, pairs).min() == pytest.approx(1.0)


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
