"""The learnt metric: its closed forms against optimisers, its parts against literal forms, its contract."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import npkl_models as nm
from npkl_models.applications.metric import KernelMetricLearner, eigenvalue_weights, local_weights, whitening
from npkl_models.applications.scores import separation

WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
PAIRS = nm.Pairs.from_labels(WINE.y, 40, 40, random_state=0)
SIDE = {"must_link": PAIRS.must_link, "cannot_link": PAIRS.cannot_link}
PAPER = {"prior": 0.0, "dissimilar": False, "blend": False, "n_iter": 3}
RNG = np.random.default_rng(0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([KernelMetricLearner(), KernelMetricLearner(None, kernel="linear", **PAPER)])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("prior", [0.0, 0.3])
@pytest.mark.parametrize("apart", [0, 7])
def test_the_weights_are_the_minimiser_of_the_stated_problem(prior, apart):
    old = np.array([5.0, 2.0, 0.5, 0.1])
    near, far = RNG.standard_normal((6, 4)), RNG.standard_normal((apart, 4)) * [1, 2, 0.5, 1]
    found = eigenvalue_weights(near, old, far, prior, epsilon=1e-12)
    D = (near**2).mean(axis=0)
    D = D + prior * D.mean() * np.sqrt(old[0] / old)
    e = np.sqrt((far**2).mean(axis=0)) if apart else np.ones(4)
    e = e / e.mean()
    beta, c = cp.Variable(4), np.sqrt(old).sum()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(np.sqrt(D), beta))), [e @ beta == c])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    np.testing.assert_allclose(found, beta.value, rtol=1e-5)
    assert (found > 0).all()


def test_a_prior_without_end_and_no_pairs_leave_the_kernel_as_it_is():
    old = np.array([4.0, 1.0, 0.25])
    near = RNG.standard_normal((5, 3))
    np.testing.assert_allclose(eigenvalue_weights(near, old, None, prior=1e9) ** 2, old, rtol=1e-6)
    model = KernelMetricLearner(None, gamma=0.05, blend=False).fit(X)
    K = rbf_kernel(X, gamma=0.05)
    expected = np.sqrt(np.maximum(K.diagonal()[:, None] + K.diagonal() - 2 * K, 0))
    np.testing.assert_allclose(pairwise_distances(model.embedding_), expected, atol=1e-6)
    assert model.pairs_ is None
    assert np.isnan(model.objective_)


def test_with_all_points_as_landmarks_it_is_the_basic_algorithm():
    model = KernelMetricLearner(None, gamma=0.05, **PAPER).fit(X, must_link=PAIRS.must_link)
    n = len(X)
    H = np.eye(n) - 1 / n
    value, vector = np.linalg.eigh(H @ rbf_kernel(X, gamma=0.05) @ H)
    value, vector = value[1:][::-1], vector[:, 1:][:, ::-1]
    D = ((vector[PAIRS.must_link[:, 0]] - vector[PAIRS.must_link[:, 1]]) ** 2).mean(axis=0)
    D += 1e-8 * D.mean()
    beta = np.sqrt(value).sum() / D / (1 / D).sum()
    K = (vector * beta**2) @ vector.T
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, K, atol=1e-8 * np.abs(K).max())
    ends = PAIRS.must_link.T
    squared = K[ends[0], ends[0]] + K[ends[1], ends[1]] - 2 * K[ends[0], ends[1]]
    assert model.objective_ == pytest.approx(squared.mean(), rel=1e-6)


def test_the_local_weights_are_those_of_the_gram_matrix():
    points, landmarks = RNG.standard_normal((20, 3)), RNG.standard_normal((12, 3))
    K, L = rbf_kernel(points, landmarks), rbf_kernel(landmarks)
    W = local_weights(K, L, 5, regularization=1e-9).toarray()
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-9)
    for i in range(20):  # eqs. (15), (18), (19), a point at a time
        near = np.argsort(-K[i])[:5]
        G = 1.0 + L[np.ix_(near, near)] - K[i, near] - K[i, near][:, None]
        w = np.linalg.solve(G, np.ones(5))
        np.testing.assert_allclose(W[i, near], w / w.sum(), rtol=1e-4, atol=1e-6)
        assert np.count_nonzero(W[i]) == 5


def test_points_of_similar_pairs_are_landmarks_and_further_rounds_keep_the_weights():
    one, three = (
        KernelMetricLearner(100, **PAPER | {"n_iter": k}).fit(X, must_link=PAIRS.must_link) for k in (1, 3)
    )
    assert np.isin(PAIRS.must_link, one.landmarks_).all()
    assert len(one.landmarks_) == 100
    np.testing.assert_allclose(one.weights_, three.weights_, rtol=1e-9)
    assert np.abs(one.embedding_ - three.embedding_).max() > 1e-3  # other neighbours, other weights


@pytest.mark.parametrize("n_landmarks", [60, None])
def test_new_points_go_where_training_points_would(n_landmarks):
    model = KernelMetricLearner(n_landmarks).fit(X, **SIDE)
    np.testing.assert_allclose(model.transform(X), model.embedding_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.transform(X[5:6])[0], model.transform(X)[5], rtol=1e-9, atol=1e-12)
    assert separation(model.embedding_, WINE.y) > 1.02 * separation(X, WINE.y)


def test_it_finds_what_no_linear_metric_can():
    data = nm.datasets.load("xor", n=400)
    pairs = nm.Pairs.from_labels(data.y, 50, 0, random_state=0)
    model = KernelMetricLearner(**PAPER).fit(data.X, must_link=pairs.must_link)
    assert separation(model.embedding_, data.y) > 1.8 > 1.3 > separation(data.X, data.y)
    new = nm.datasets.load("xor", n=200, random_state=7)
    assert separation(model.transform(new.X), new.y) > 1.8


def test_a_kernel_by_name_by_its_matrix_and_as_a_function_is_the_same():
    by_name = KernelMetricLearner(40, gamma=0.05, blend=False).fit(X, **SIDE)
    K = rbf_kernel(X, gamma=0.05)
    by_matrix = KernelMetricLearner(40, kernel="precomputed").fit(K, **SIDE)
    function = KernelMetricLearner(
        40, kernel=lambda x, y: np.exp(-0.05 * ((x - y) ** 2).sum()), blend=False
    ).fit(X, **SIDE)
    for other in (by_matrix, function):
        np.testing.assert_allclose(other.embedding_, by_name.embedding_, rtol=1e-5, atol=1e-7)
    new = X[:7] + 0.1
    expected = by_name.transform(new)
    np.testing.assert_allclose(
        by_matrix.transform(rbf_kernel(new, X, gamma=0.05)), expected, rtol=1e-5, atol=1e-7
    )
    sparse = KernelMetricLearner(40, gamma=0.05).fit(sp.csr_array(X), **SIDE)
    np.testing.assert_allclose(sparse.transform(sp.csr_array(new)), expected, rtol=1e-6, atol=1e-8)


def test_whitening_makes_many_pairs_round_and_changes_few_little():
    rng = np.random.default_rng(1)
    many = rng.normal(size=(20_000, 3)) * [3.0, 1.0, 0.2]
    covariance = np.cov(many @ whitening(many), rowvar=False)
    np.testing.assert_allclose(covariance, covariance[0, 0] * np.eye(3), atol=0.1 * covariance[0, 0])
    few = np.linalg.svd(whitening(many[:3]))[1]
    assert few[0] / few[-1] < 3 < 10 < np.linalg.cond(whitening(many))
    for none in (many[:0], many[:1], np.zeros((4, 3))):
        np.testing.assert_array_equal(whitening(none), np.eye(3))


def test_a_blend_sums_the_learnt_and_the_points_own_distances():
    assert KernelMetricLearner().fit(np.eye(4, 2_001), must_link=[(0, 1)]).whitening_ is None
    model = KernelMetricLearner().fit(X, **SIDE)
    np.testing.assert_allclose(model.transform(csr_array(X)), model.embedding_, rtol=1e-9)
    learnt = KernelMetricLearner(blend=False).fit(X @ model.whitening_, **SIDE)
    one, other, both = (pairwise_distances(Z, squared=True) for Z in (learnt.embedding_, X, model.embedding_))
    np.testing.assert_allclose(both, one + other * one.mean() / other.mean(), rtol=1e-6, atol=1e-9)
    turned = nm.Pairs(len(X), PAIRS.cannot_link, PAIRS.must_link)  # every pair is wrong
    plain = KernelMetricLearner(blend=False).fit(X, pairs=turned).embedding_
    kept, lost = (
        KNeighborsClassifier(3).fit(Z[::2], WINE.y[::2]).score(Z[1::2], WINE.y[1::2])
        for Z in (KernelMetricLearner().fit_transform(X, pairs=turned), plain)
    )
    assert kept > 0.86 > 0.85 > lost, (kept, lost)


def test_the_linear_kernel_gives_a_linear_map():
    model = KernelMetricLearner(60, kernel="linear", n_iter=1, regularization=1e-9).fit(X, **SIDE)
    new = RNG.uniform(size=(4, 4)) @ X[model.landmarks_[:4]]  # weights of 20 landmarks reach 13 dimensions
    design = np.column_stack([X[model.landmarks_], np.ones(60)])
    A = np.linalg.lstsq(design, model.transform(X[model.landmarks_]), rcond=None)[0]
    np.testing.assert_allclose(model.transform(new), np.column_stack([new, np.ones(4)]) @ A, atol=1e-4)


def test_pairs_are_measured_as_metric_learn_does():
    model = KernelMetricLearner().fit(X, **SIDE)
    ends = np.array([[0, 1], [0, 100]])
    by_row, by_point = model.pair_distance(ends), model.pair_distance(X[ends])
    np.testing.assert_allclose(by_row, by_point, rtol=1e-8)
    assert model.objective_ == pytest.approx(np.mean(model.pair_distance(PAIRS.must_link) ** 2))


def test_pipelines_frames_copies_and_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        last = KernelMetricLearner(60).set_fit_request(must_link=True, cannot_link=True)
        piped = make_pipeline(StandardScaler(), last).fit(WINE.X, **SIDE)
    direct = KernelMetricLearner(60).fit(X, **SIDE)
    np.testing.assert_allclose(piped.transform(WINE.X), direct.embedding_, rtol=1e-6, atol=1e-8)
    again = pickle.loads(pickle.dumps(direct))
    np.testing.assert_array_equal(again.transform(X), direct.transform(X))
    assert clone(direct).get_params() == direct.get_params()
    frame = pd.DataFrame(X, index=[f"bottle {k}" for k in range(len(X))]).rename(columns=str)
    named = {key: frame.index.to_numpy()[links] for key, links in SIDE.items()}
    table = KernelMetricLearner(60).set_output(transform="pandas").fit_transform(frame, **named)
    np.testing.assert_allclose(table.to_numpy(), direct.embedding_)
    assert table.columns[0] == "kernelmetriclearner0"
    assert direct.n_iter_ == 1
    kernel = nm.NPKLKernel().fit(X, pairs=PAIRS)
    for kind in ("float32", "float64"):
        assert {one.transform(pd.DataFrame(X).astype(kind)).dtype.name for one in (direct, kernel)} == {kind}


def test_what_cannot_be_measured_is_refused():
    model = KernelMetricLearner(20).fit(X, **SIDE)
    for pairs, words in (([[0, 178]], "rows from 0 to 177"), ([[0.0, 1.0]], "shape \\(m, 2, d\\)")):
        with pytest.raises(nm.NPKLError, match=words):
            model.pair_distance(pairs)
    for K, words in (
        (X, "must be square"),
        (-np.eye(5), "positive semidefinite"),
        (np.triu(np.ones((5, 5))), "symmetric"),
    ):
        with pytest.raises(nm.NPKLError, match=words):
            KernelMetricLearner(kernel="precomputed").fit(K, must_link=[[0, 1]])
    with pytest.raises(nm.NPKLError, match="finite weights for a metric.* got 2 infinite"):
        KernelMetricLearner().fit(X, pairs=nm.Pairs(len(X), [[0, 1], [2, 3]], None, [np.inf, np.inf]))
    with pytest.raises(nm.NPKLError, match="all the same"):
        KernelMetricLearner().fit(np.ones((5, 2)))
    with pytest.raises(nm.NPKLError, match="column for each of the 2 axes"):
        eigenvalue_weights([[1.0]], [1.0, 2.0])
    with pytest.raises(nm.NPKLError, match="shapes \\(n, m\\) and \\(m, m\\)"):
        local_weights([[1.0]], [[1.0, 0.0], [0.0, 1.0]])
