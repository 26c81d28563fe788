"""Must-links alone do not put all points in one place: landmarks are kept apart beside them."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.estimators.side import with_cannot_links

WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)


@pytest.mark.parametrize("formulation", ["pcp", "npkl", "simple_npkl", "hard_pcp"])
def test_right_must_links_do_not_spoil_the_clusters(formulation):
    pairs = nm.Pairs.from_labels(WINE.y, 40, 1, random_state=0)
    model = nm.NPKLClustering(3, formulation=formulation).fit(X, must_link=pairs.must_link)
    assert (
        adjusted_rand_score(WINE.y, model.labels_) > 0.8
    )  # 0.0 to 0.1 without landmarks, but for simple_npkl
    np.testing.assert_array_equal(model.pairs_.must_link, pairs.must_link)
    assert len(model.pairs_) == len(model.pair_weights_) == 40
    assert model.audit_ is None


def test_one_known_class_is_no_reason_to_merge_the_others():
    y = np.where(WINE.y == 0, 0, -1)
    y[40:] = -1
    assert adjusted_rand_score(WINE.y, nm.NPKLClustering(3).fit(X, y).labels_) > 0.8  # 0.4 without landmarks


def test_features_keep_their_rank():
    pairs = nm.Pairs.from_labels(WINE.y, 40, 200, random_state=0)
    F = nm.NPKLKernel(n_clusters=3).fit_transform(X, must_link=pairs.must_link)
    F = F / np.linalg.norm(F, axis=1, keepdims=True)
    near = np.einsum("er,er->e", F[pairs.i], F[pairs.j])
    assert roc_auc_score(pairs.sign, near) > 0.9
    assert near.min() < 0.5  # not one place


@pytest.mark.filterwarnings("ignore:the labels do not keep")
def test_a_crowd_that_agrees_on_nothing_is_not_believed():
    pairs = nm.Pairs.from_labels(WINE.y, 40, 40, random_state=0)
    ends, both = np.tile(pairs.ends, (2, 1)), np.repeat([1, -1], 80)
    told = nm.NPKLClustering(3).fit(X, pairs=ends, y_pairs=both, annotator=both)
    plain = nm.NPKLClustering(3).fit(X)
    assert (told.pair_weights_ == 0).all()
    np.testing.assert_array_equal(told.labels_, plain.labels_)


def test_landmarks_that_must_links_join_stay_together():
    marks = nm.Pairs(6, None, [(0, 1), (0, 2), (1, 2)], [1.0, 2.0, 3.0])
    given = nm.Pairs(6, [(0, 3), (1, 3)], None)
    both = with_cannot_links(given, marks)
    assert both.must_link.tolist() == [[0, 3], [1, 3]]
    assert both.cannot_link.tolist() == [[0, 2], [1, 2]]
    assert both.confidence.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert with_cannot_links(None, marks) is marks
