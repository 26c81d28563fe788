"""The estimators keep scikit-learn's contract, and take side information in every form."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

import npkl_models as nm
from npkl_models.applications.estimators import NPKLClustering, NPKLKernel, landmark_pairs, spanning_pairs
from npkl_models.applications.estimators.noisy import WrongPairsWarning
from npkl_models.model.graph import UnscaledWarning

WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
PAIRS = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=0)
SIDE = {"must_link": PAIRS.must_link, "cannot_link": PAIRS.cannot_link}
BOTH = pytest.mark.parametrize("kind", [NPKLClustering, NPKLKernel])


ACCUSED = pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")


@ACCUSED  # random points and random classes
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [NPKLClustering(), NPKLKernel(n_components=3, backend="bcd")],
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "the graph is that of the points, whatever they weigh"
        for kind in ("dense", "sparse")
    },
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [
    NPKLClustering, NPKLKernel, nm.KernelMetricLearner, nm.MVU, nm.ColoredMVU, nm.MVE, nm.SPE, nm.OrdinalEmbedding, nm.Localisation,
])  # fmt: skip
def test_parameters_are_checked_as_in_scikit_learn(kind):
    check_param_validation(kind.__name__, kind())
    name = {NPKLClustering: "n_clusters", nm.KernelMetricLearner: "n_landmarks"}.get(kind, "n_components")
    with pytest.raises(nm.ProblemError, match=f"parameter of {kind.__name__} must be .* Got 0 instead"):
        kind(**{name: 0}).fit(X, WINE.y)


@pytest.mark.parametrize("formulation", ["pcp", "npkl", "simple_npkl", "hard_pcp"])
def test_pairs_make_better_clusters_and_a_certified_kernel(formulation):
    model = NPKLClustering(3, formulation=formulation).fit(X, **SIDE)
    assert adjusted_rand_score(WINE.y, model.labels_) > 0.85
    assert model.solution_.is_optimal(1e-6)
    assert model.certificate_ is model.solution_.certificate
    np.testing.assert_allclose(model.kernel_, model.factor_ @ model.factor_.T, atol=1e-5)
    assert model.supervised_
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_new_points_join_the_clusters_of_their_class():
    known = np.arange(len(X)) % 3 > 0
    model = NPKLClustering(3).fit(X[known], np.where(np.arange(known.sum()) % 2, WINE.y[known], -1))
    assert adjusted_rand_score(WINE.y[~known], model.predict(X[~known])) > 0.85
    far = model.predict(np.full((1, X.shape[1]), 1e6))
    assert 0 <= far[0] < 3


def test_a_row_of_a_new_point_is_its_own_whatever_comes_with_it():
    model = NPKLKernel().fit(
        X[:120], **{key: links[(links < 120).all(axis=1)] for key, links in SIDE.items()}
    )
    rows = model.transform(X)
    np.testing.assert_array_equal(rows[:120], model.factor_)
    np.testing.assert_allclose(model.transform(X[130:133]), rows[130:133], rtol=1e-12)
    L = nm.knn_affinity(X[:120], 10, sigma=model.width_)
    assert L.nnz
    distance = np.linalg.norm(X[130] - X[:120], axis=1)
    near = np.argsort(distance)[:10]
    weight = np.exp(-(distance[near] ** 2) / 2 / model.width_**2)
    np.testing.assert_allclose(rows[130], weight @ model.factor_[near] / weight.sum(), rtol=1e-9)


def test_clusters_of_new_points_never_need_the_rows_of_all(monkeypatch):
    model, held = NPKLClustering(3, noise=None), []
    model.fit(X[:120], must_link=[(0, 1)], cannot_link=[(0, 110)])
    expected = model.predict(X)

    def counted(rows, centres):
        held.append(len(rows))
        return pairwise_distances_argmin(rows, centres)

    monkeypatch.setattr("npkl_models.applications.estimators.solved.CHUNK", 50)
    monkeypatch.setattr("npkl_models.applications.estimators.models.pairwise_distances_argmin", counted)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert held == [50, 50, 50, 28]


def test_every_form_of_side_information_says_the_same():
    table, sign = np.stack([PAIRS.i, PAIRS.j], axis=1), PAIRS.sign
    frame = pd.DataFrame(
        X, index=[f"bottle {k}" for k in range(len(X))], columns=[f"f{k}" for k in range(13)]
    )
    named = {key: frame.index.to_numpy()[links] for key, links in SIDE.items()}
    first = NPKLKernel().fit(X, **SIDE)
    others = [
        NPKLKernel().fit(X, pairs=table, y_pairs=sign),
        NPKLKernel().fit(frame, **named),
        NPKLKernel().fit(frame, **SIDE),
        NPKLKernel().fit(sp.csr_array(X), **SIDE),
    ]
    for other in others:
        np.testing.assert_allclose(other.kernel_, first.kernel_, atol=1e-4)
    assert others[1].feature_names_in_[0] == "f0"
    np.testing.assert_allclose(others[3].transform(sp.csr_array(X)), others[3].factor_)
    np.testing.assert_allclose(others[3].transform(X), others[3].factor_)


def test_pairs_of_classes_imply_all_others():
    rng = np.random.default_rng(0)
    for k in (1, 2, 3, 5):
        y = np.where(rng.random(40) < 0.3, -1, rng.integers(0, k, 40))
        pairs, known = spanning_pairs(y), y >= 0
        implied = pairs.closure() if len(pairs.must_link) else pairs
        same = np.triu(np.equal.outer(y, y) & np.outer(known, known), k=1)
        other = np.triu(~np.equal.outer(y, y) & np.outer(known, known), k=1)
        assert (len(implied.must_link), len(implied.cannot_link)) == (same.sum(), other.sum())
        assert same[tuple(implied.must_link.T)].all()
        assert len(pairs) < 2 * known.sum() + k * (k - 1) / 2


def test_without_side_information_landmarks_are_kept_apart():
    model = NPKLClustering(3).fit(X)
    assert not model.supervised_
    assert len(model.pairs_.must_link) == 0
    assert len(model.pairs_.cannot_link) == 3
    assert adjusted_rand_score(WINE.y, model.labels_) > 0.7
    for y in (np.full(len(X), -1), [None] * len(X), np.r_[0, np.full(len(X) - 1, -1)]):
        assert not NPKLClustering(3).fit(X, y).supervised_
    with (
        pytest.warns(ConvergenceWarning, match="distinct clusters"),
        pytest.raises(nm.ProblemError, match="two different"),
    ):
        landmark_pairs(np.zeros((5, 2)), 2, 0)


@ACCUSED  # three classes in two clusters
@BOTH
def test_copies_are_equal_and_pipelines_and_searches_take_them(kind):
    model = kind(random_state=3).fit(X, **SIDE)
    again = clone(model).fit(X, **SIDE)
    np.testing.assert_allclose(again.factor_, model.factor_, atol=1e-8)
    copy = pickle.loads(pickle.dumps(model))
    found = copy.transform(X[:9] + 0.1) if kind is NPKLKernel else copy.predict(X[:9] + 0.1)
    expected = model.transform(X[:9] + 0.1) if kind is NPKLKernel else model.predict(X[:9] + 0.1)
    np.testing.assert_array_equal(found, expected)
    assert copy.certificate_.relative_gap == model.certificate_.relative_gap


def test_pairs_are_routed_through_a_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        last = NPKLClustering(3).set_fit_request(must_link=True, cannot_link=True)
        first = NPKLKernel().set_fit_request(must_link=True, cannot_link=True)
        alone = make_pipeline(StandardScaler(), last).fit(WINE.X, **SIDE)
        both = make_pipeline(StandardScaler(), first, clone(last)).fit(WINE.X, **SIDE)
    assert len(alone[-1].pairs_) == len(both[1].pairs_) == len(both[-1].pairs_) == len(PAIRS)
    assert adjusted_rand_score(WINE.y, alone.predict(WINE.X)) > 0.85
    plain = make_pipeline(StandardScaler(), NPKLClustering(3))
    labels = plain.fit(WINE.X, **{f"npklclustering__{key}": links for key, links in SIDE.items()})[-1].labels_
    np.testing.assert_array_equal(labels, alone[-1].labels_)


def test_features_have_names_and_frames_come_out():
    model = NPKLKernel().set_output(transform="pandas")
    frame = model.fit_transform(pd.DataFrame(X), **SIDE)
    assert list(frame.columns) == list(model.get_feature_names_out())
    assert frame.columns[0] == "npklkernel0"
    pd.testing.assert_frame_equal(model.transform(pd.DataFrame(X)), frame)


def test_a_problem_of_ones_own():
    def build(L, pairs, gamma):
        return nm.npkl(L, pairs, loss="hinge", gamma=gamma, row_norm=1.0)

    model = NPKLKernel(formulation=build, gamma=3.0).fit(X, **SIDE)
    assert model.solution_.problem.terms[0].loss.name == "hinge"
    assert np.linalg.norm(model.factor_, axis=1).max() < 1 + 1e-6


def test_what_is_not_certified_is_warned_of():
    with pytest.warns(ConvergenceWarning, match="not certified optimal: ITERATION_LIMIT"):
        NPKLKernel(backend="bcd", options={"max_iter": 1}).fit(X, **SIDE)


@pytest.mark.parametrize(("options", "given", "words"), [
    ({"metric": "precomputed"}, {}, "must be square"),
    ({"formulation": "pcq"}, {}, "unknown formulation 'pcq'"),
    ({"backend": "bcq"}, {}, "unknown backend"),
    ({"options": {"speed": 3}}, {}, "speed"),
    ({}, {"pairs": [(0, 1)]}, "y_pairs must be given together"),
    ({}, {"y_pairs": [1]}, "got y_pairs without"),
    ({}, {"pairs": [(0, 1)], "y_pairs": [2]}, "y_pairs must be must, same, .* got ..2"),
    ({}, {"pairs": [(0, 1, 2)]}, "the third column of pairs must be must, same, .* got ..2"),
    ({}, {"pairs": [(0, 1)], "y_pairs": [1, 1]}, "pairs and y_pairs must have one length, got 1 and 2"),
    ({}, {"must_link": [(0, 500)]}, "must index points 0..177"),
    ({}, {"must_link": [("a", "b")]}, "labels of the rows of a DataFrame or nodes of a graph, got .'a', 'b'. without"),
    ({}, {"must_link": ["a"]}, "shape"),
    ({}, {"must_link": [(0, 1)], "cannot_link": [(1, 0)]}, "both a must-link and a cannot-link"),
    ({}, {"y": np.arange(178) / 7}, "continuous"),
    ({}, {"y": [0, 1]}, "y must have"),
])  # fmt: skip
def test_what_is_wrong_is_said(options, given, words):
    with pytest.raises(ValueError, match=words):
        NPKLClustering(**options).fit(X, **given)


def test_names_that_are_wrong_are_said():
    frame = pd.DataFrame(X, index=[f"b{k}" for k in range(len(X))])
    with pytest.raises(nm.ProblemError, match=r"by labels of its index, got \['c1'\]"):
        NPKLKernel().fit(frame, must_link=[("b0", "c1")])
    frame.index = ["b"] * len(X)
    with pytest.raises(nm.ProblemError, match="must be unique"):
        NPKLKernel().fit(frame, must_link=[("b", "b")])


# ------------------------------------------------------------------------------ pairs, weights, scores, scales


@ACCUSED  # pairs of small confidence
def test_pairs_with_confidences_are_taken_as_they_are():
    pairs = nm.Pairs.from_labels(WINE.y, 30, 30, random_state=1)
    sure = nm.Pairs(pairs.n, pairs.must_link, pairs.cannot_link, np.linspace(0.1, 1.0, len(pairs)))
    model = NPKLClustering(3).fit(X, pairs=sure)
    np.testing.assert_array_equal(model.pairs_.weights, sure.weights)
    both = NPKLClustering(3).fit(X, pairs=sure, must_link=sure.must_link)  # a confidence of one each
    assert len(both.pairs_) == len(sure)
    np.testing.assert_array_equal(both.pairs_.weights[: len(sure.must_link)], 1.0)
    with pytest.raises(nm.ProblemError, match="without y_pairs, got pairs over 178 points and y_pairs"):
        NPKLClustering(3).fit(X, pairs=sure, y_pairs=sure.sign)
    with pytest.raises(nm.ProblemError, match="over the 20 points of X"):
        NPKLClustering(3).fit(X[:20], pairs=sure)


@ACCUSED  # a must-link across two classes
def test_weights_of_points_are_those_of_k_means_and_of_pairs():
    weight = np.ones(len(X))
    weight[:20], weight[30] = 4.0, 0.0
    plain = NPKLClustering(3, noise=None)
    model = plain.fit(X, must_link=[(0, 1), (0, 60), (30, 40)], sample_weight=weight)
    assert model.pairs_.must_link.tolist() == [[0, 1], [0, 60]]  # a pair of a point without weight is none
    assert model.pairs_.weights.tolist() == [4.0, 2.0]
    for label, centre in enumerate(model.cluster_centers_):
        of = model.labels_ == label
        wanted = np.average(model.factor_[of], axis=0, weights=weight[of])
        np.testing.assert_allclose(centre, wanted, atol=1e-10)
    same = NPKLClustering(3).fit(X, **SIDE, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(same.labels_, NPKLClustering(3).fit(X, **SIDE).labels_)


def test_scores_are_of_pairs_or_of_classes():
    model = NPKLClustering(3).fit(X, **SIDE)
    held = nm.Pairs.from_labels(WINE.y, 50, 50, random_state=9)
    met = model.labels_[held.i] == model.labels_[held.j]
    assert model.score(X, pairs=held) == pytest.approx(0.5 * (met[:50].mean() + 1 - met[50:].mean()))
    assert model.score(X, must_link=held.must_link) == pytest.approx(met[:50].mean())
    every = model.labels_[:, None] == model.labels_
    same = (WINE.y[:, None] == WINE.y) & ~np.eye(len(X), dtype=bool)
    wanted = 0.5 * (every[same].mean() + 1 - every[WINE.y[:, None] != WINE.y].mean())
    assert model.score(X, WINE.y) == pytest.approx(wanted)
    with pytest.raises(nm.ProblemError, match="score must be given pairs, or two points of known class in y"):
        model.score(X, np.full(len(X), -1))
    assert NPKLKernel().fit(X, **SIDE).score(X, pairs=held) > 0.95


def test_the_number_of_features_is_the_same_at_every_fit():
    wide, narrow = (NPKLKernel(n_components=size).fit(X, **SIDE) for size in (40, 2))
    assert wide.transform(X).shape == (178, 40)
    assert narrow.transform(X).shape == (178, 2)
    own = NPKLKernel().fit(X, **SIDE).factor_
    np.testing.assert_allclose(wide.factor_[:, : own.shape[1]], own)
    assert not wide.factor_[:, own.shape[1] :].any()


@ACCUSED  # a graph of raw features
def test_unlike_scales_are_said_once_and_only_where_they_matter():
    with pytest.warns(UnscaledWarning, match=r"feature 12 makes 99.8% of the squared distances") as said:
        NPKLClustering(3).fit(WINE.X, **SIDE)
    said = [one for one in said if one.category is UnscaledWarning]
    assert len(said) == 1
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", WrongPairsWarning)
        NPKLClustering(3).fit(X, **SIDE)
        NPKLClustering(3, metric="correlation").fit(WINE.X, **SIDE)
        NPKLClustering(3).fit(nm.datasets.load("iris").X)
