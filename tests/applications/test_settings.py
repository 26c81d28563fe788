"""Settings chosen by held-out pairs."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.applications.selection import Grid, Selection, Setting, select_setting

WINE = nm.datasets.load("wine")


def test_the_scale_of_features_is_found_by_pairs_alone():
    """Raw features of wine are ruled by one of them."""
    pairs = nm.Pairs.from_labels(WINE.y, 100, 100, random_state=0)
    found = select_setting(WINE.X, pairs, Grid([1.0, 100.0], [10]), folds=3)
    assert found.best.scaling == "standard"
    assert found.scores.shape == (4, 3)
    means = found.scores.mean(axis=1)
    assert (np.diff(means) <= 0).all()
    by_setting = {
        setting: cluster_accuracy(WINE.y, kernel_kmeans(setting.problem(WINE.X, pairs).solve(), 3))
        for setting in (found.settings[0], found.settings[-1])
    }
    assert by_setting[found.settings[0]] > by_setting[found.settings[-1]] + 0.05
    assert str(found).count("\n") == 3


def test_labels_of_the_points_are_not_asked_for_and_folds_follow_the_seed():
    pairs = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=1)
    one, other = (select_setting(WINE.X, pairs, Grid([1.0], [5]), random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.scores, other.scores)


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
    for k in (None, 2):
        found = select_setting(X, pairs, Grid([1.0], [5], scalings=["raw"]), n_clusters=k)
        assert found.scores.min() == pytest.approx(1.0)


def test_another_formulation_and_weights_are_kept():
    weights = np.linspace(1, 2, 120)
    pairs = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=1)
    pairs = nm.Pairs(pairs.n, pairs.must_link, pairs.cannot_link, weights)
    seen = []

    def build(L, part, gamma):
        seen.append(part.confidence)
        return nm.npkl(L, part, loss="hinge", gamma=gamma)

    select_setting(WINE.X, pairs, Grid([1.0], [5], scalings=["standard"], build=build))
    assert sorted(np.concatenate(seen).tolist()) == pytest.approx(sorted(2 * weights.tolist()))
    assert Setting(2.0, 5, 0.1, "raw").problem(WINE.X, pairs, build).terms[0].loss.name == "hinge"


@pytest.mark.parametrize(
    ("options", "words"),
    [({"folds": 1}, "folds"), ({"folds": 90}, "folds"), ({"random_state": -3}, "random_state")],
)
def test_what_is_wrong_is_said(options, words):
    pairs = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=1)
    with pytest.raises(nm.NPKLError, match=words):
        select_setting(WINE.X, pairs, **options)


def test_settings_that_fail_come_last():
    pairs = nm.Pairs.from_labels(WINE.y, 30, 30, random_state=1)
    found = select_setting(WINE.X, pairs, Grid([-1.0, 1.0], [5], scalings=["raw"]))
    assert found.best.gamma == 1.0
    assert np.isnan(found.scores[-1]).all()
    with pytest.raises(nm.SolverError, match="no setting"):
        select_setting(WINE.X, pairs, Grid([-1.0], [5]))
    with pytest.raises(nm.UnsupportedError, match="scaling"):
        Grid(scalings=["log"])


def test_scores_that_are_kept_are_not_taken_for_those_of_other_pairs(tmp_path):
    grid = Grid([1.0], [5], scalings=["standard"])
    found = [
        select_setting(WINE.X, nm.Pairs.from_labels(WINE.y, 60, 60, random_state=seed), grid, folder=tmp_path)
        for seed in (1, 2, 1)
    ]
    np.testing.assert_array_equal(found[0].scores, found[2].scores)
    assert (found[0].scores != found[1].scores).any()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("best", "stays"), [([0.9, 0.8, 0.9], False), ([0.9, 0.5, 0.71], True), ([0.71, 0.72, 0.7], False)]
)
def test_the_usual_setting_stays_unless_another_is_clearly_better(best, stays):
    first, usual = Setting(1.0, 5, 0.1, "raw"), Setting(100.0, 10, 0.1, "standard")
    found = Selection((first, usual), np.array([best, [0.7, 0.7, 0.69]]))
    assert found.cautious(usual) == (usual if stays else first)
    assert found.cautious(first) == first
    with pytest.raises(nm.ProblemError, match="usual must be among"):
        found.cautious(Setting(2.0, 5, 0.1, "raw"))


def test_a_usual_setting_that_failed_does_not_stay():
    first, usual = Setting(1.0, 5, 0.1, "raw"), Setting(100.0, 10, 0.1, "standard")
    assert Selection((first, usual), np.array([[0.7, 0.6], [0.9, np.nan]])).cautious(usual) == first
    assert (
        Selection((first, usual), np.array([[0.7], [0.6]])).cautious(usual) == usual
    )  # one fold says nothing
