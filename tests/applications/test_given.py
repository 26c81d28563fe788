"""X as affinities, distances or a graph of networkx, in place of points; and pairs in tables with words."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import npkl_models as nm

WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
PAIRS = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=0)
D, S = pairwise_distances(X), nm.knn_affinity(X, 10)
AFFINITY, METRIC = {"affinity": "precomputed"}, {"metric": "precomputed"}
ACCUSED = pytest.mark.filterwarnings("ignore::npkl_models.applications.estimators.noisy.WrongPairsWarning")
GIVEN = {
    "distances": (METRIC, D),
    "distances of neighbours": (METRIC, kneighbors_graph(X, 10, mode="distance")),
    "affinities": (AFFINITY, S),
    "dense affinities": (AFFINITY, S.toarray()),
    "a graph": (AFFINITY, nx.from_scipy_sparse_array(S)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_graph_or_distances_are_the_same_as_their_points(name):
    how, matrix = GIVEN[name]
    model, plain = (nm.NPKLClustering(3, **more).fit(x, pairs=PAIRS) for more, x in ((how, matrix), ({}, X)))
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.kernel_, plain.kernel_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(matrix), model.labels_)
    features = nm.NPKLKernel(**how).fit(matrix, pairs=PAIRS)
    np.testing.assert_array_equal(features.transform(matrix), features.factor_)
    if name != "a graph":
        np.testing.assert_array_equal(features.transform(matrix[5:20]), features.factor_[5:20])
        assert model.score(matrix, pairs=PAIRS) == model.score(matrix[: len(X)], pairs=PAIRS)


@ACCUSED
@pytest.mark.parametrize("name", ["distances", "affinities"])
def test_new_rows_and_folds_of_a_matrix(name):
    """Rows are affinities of new points to training points, or their distances, as in scikit-learn."""
    how, matrix = GIVEN[name]
    known = np.arange(len(X)) % 4 > 0
    y = np.where(np.arange(len(X)) % 2, WINE.y, -1)
    model = nm.NPKLClustering(3, **how).fit(matrix[np.ix_(known, known)], y[known])
    found = model.predict(matrix[np.ix_(~known, known)])
    assert adjusted_rand_score(WINE.y[~known], found) > 0.8
    if name == "distances":
        plain = nm.NPKLClustering(3).fit(X[known], y[known]).predict(X[~known])
        np.testing.assert_array_equal(found, plain)
    plain = nm.NPKLClustering(3, noise=None, **how)
    assert cross_val_score(plain, matrix, WINE.y, cv=StratifiedKFold(3)).mean() > 0.85
    if name == "affinities":
        with pytest.raises(nm.ProblemError, match=r"joined to an old point, got no edges for \[0\]"):
            model.predict(sp.csr_array((1, int(known.sum()))))


@ACCUSED
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([nm.NPKLKernel(n_components=2, n_neighbors=3, **how) for how in (METRIC, AFFINITY)])
def test_the_contract_of_scikit_learn_for_matrices(estimator, check):
    check(estimator)


def test_without_side_information_landmarks_come_from_the_graph():
    for name in ("distances", "affinities"):
        how, matrix = GIVEN[name]
        model = nm.NPKLClustering(3, **how).fit(matrix)
        assert len(model.pairs_) == 3
        assert adjusted_rand_score(WINE.y, model.labels_) > 0.7


def test_pairs_of_a_graph_are_pairs_of_its_nodes():
    club = nx.karate_club_graph()
    y = [club.nodes[v]["club"] == "Mr. Hi" for v in club]
    model = nm.NPKLClustering(2, affinity="precomputed").fit(club, cannot_link=[(0, 33)])
    assert adjusted_rand_score(y, model.labels_) > 0.7
    turned = nx.relabel_nodes(club, {v: 33 - v for v in club})
    found = nm.NPKLClustering(2, affinity="precomputed").fit(turned, cannot_link=[(33, 0)])
    assert found.pairs_.cannot_link.tolist() == [[0, 33]]  # positions of the nodes 33 and 0
    grid = nx.grid_2d_graph(3, 9)
    corners = nm.NPKLKernel(affinity="precomputed").fit(
        grid, pairs=[((0, 0), (2, 8), "cannot"), ((0, 0), (1, 0), "must")]
    )
    nodes = list(grid)
    assert [nodes[k] for k in corners.pairs_.cannot_link[0]] == [(0, 0), (2, 8)]
    assert corners.score(grid, pairs=[((0, 0), (0, 1), 1), ((2, 0), (0, 8), -1)]) == 1.0
    with pytest.raises(nm.ProblemError, match=r"rows of X by nodes of the graph, got \['99'\]"):
        nm.NPKLKernel(affinity="precomputed").fit(club, must_link=[(0, 99)])


@pytest.mark.parametrize("table", [
    [(0, 1, 1), (0, 100, -1)], [(0, 1, True), (0, 100, False)], [(0, 1, "must"), (0, 100, "cannot")], [[0, 1, "same"], [0, 100, "different"]],
    np.array([(0, 1, 1), (0, 100, 0)]), pd.DataFrame([(0, 1, "yes"), (0, 100, "no")]),
    [("r0", "r1", "must"), ("r0", "r100", "cannot")], pd.DataFrame([("r0", "r1", 1.0), ("r0", "r100", -1.0)]),
])  # fmt: skip
def test_a_third_column_has_the_signs(table):
    frame = pd.DataFrame(X, index=[f"r{k}" for k in range(len(X))])
    found = nm.NPKLKernel().fit(frame, pairs=table).pairs_
    assert (found.must_link.tolist(), found.cannot_link.tolist()) == ([[0, 1]], [[0, 100]])
    cells = pd.DataFrame(table)
    split = nm.NPKLKernel().fit(frame, pairs=cells[[0, 1]], y_pairs=cells[2]).pairs_
    assert split.sign.tolist() == [1.0, -1.0]


def test_an_array_of_texts_may_have_positions():
    frame = pd.DataFrame(X, index=[f"r{k}" for k in range(len(X))])
    graph = nx.relabel_nodes(nx.from_scipy_sparse_array(S), {0: 900})
    for rows, first, how in ((X, 0, {}), (frame, 0, {}), (graph, 900, AFFINITY)):
        texts = np.array([(first, 1, "together"), (first, 100, "apart")])
        found = nm.NPKLKernel(verbose=1, **how).fit(rows, pairs=texts).pairs_
        ends = [sorted(list(rows).index(k) for k in (first, j)) if how else [0, j] for j in (1, 100)]
        assert [found.must_link.tolist(), found.cannot_link.tolist()] == [[one] for one in ends]


CHAIN = {"must_link": [("m0", "m1"), ("m1", "m2")], "cannot_link": [("m0", "m2")]}


@pytest.mark.parametrize(("how", "side", "words"), [
    ({"hard": True}, CHAIN, "m0 - m2 the chain m0 - m1 - m2"),
    ({"formulation": "hard_pcp"}, CHAIN, "m0 - m2 the chain m0 - m1 - m2"),
    ({"hard": True}, {"cannot_link": [("m0", "m1"), ("m1", "m2"), ("m0", "m2")]}, "m0 - m1, m0 - m2, m1 - m2 are all"),
    ({}, {"must_link": [("m0", "m1")], "cannot_link": [("m1", "m0")]}, r"both .* got \[\('m0', 'm1'\)\]"),
    ({}, {"pairs": [("m0", "m1", 1), ("m3", "m3", 0)]}, r"self pairs \[\('m3', 'm3'\)\]"),
    ({"hard": True}, {"pairs": [("m0", "m1")] * 2, "y_pairs": [1, 0], "annotator": ["a", "b"]}, "opposite ones to m0 - m1"),
])  # fmt: skip
def test_errors_and_warnings_call_rows_by_their_names(how, side, words):
    club = nx.relabel_nodes(nx.karate_club_graph(), lambda i: f"m{i}")
    for rows, given in ((club, AFFINITY), (pd.DataFrame(X[:34], index=list(club)), {})):
        with pytest.raises(nm.ProblemError, match=words):
            nm.NPKLClustering(2, **how, **given).fit(rows, **side)
        with pytest.warns(UserWarning, match=r"do not keep m\d - m\d \("):
            nm.NPKLClustering(2, noise=None, **given).fit(rows, **CHAIN)
        audit = (
            nm.NPKLKernel(n_clusters=2, **given).fit(rows, cannot_link=[("m9", "m33"), ("m1", "m2")]).audit_
        )
        assert {*map(tuple, audit.ids)} == {("m9", "m33"), ("m1", "m2")}
        assert audit.to_frame()["id_j"].tolist() == [f"m{j}" for j in audit.pairs[:, 1]]
    with pytest.raises(nm.ProblemError, match=r"self pairs \[\[3, 3\]\]"):
        nm.NPKLKernel().fit(pd.DataFrame(X, index=range(40, 218)), must_link=[(3, 3)])  # a position


def changed(A, i, j, value):
    A = np.array(A, dtype=float)
    A[i, j] = value
    return A


@pytest.mark.parametrize(("how", "matrix", "words"), [
    (AFFINITY, changed(S.toarray(), 0, 1, 9.0), "affinities .* must be symmetric, got a difference of .* at "),
    (AFFINITY, changed(changed(S.toarray(), 0, 1, -1.0), 1, 0, -1.0), "Negative values .* affinity=.precomputed.: got -1.0 at .0, 1.; .* cannot_link="),
    (AFFINITY, abs(X), "affinities .* must be square"),
    (AFFINITY, changed(S.toarray(), 0, 1, np.nan), "contains NaN"),
    (METRIC, X, "distances .* must be square"),
    (METRIC, changed(D, 3, 4, 9.0), "distances .* must be symmetric"),
    (METRIC, sp.csr_array(changed(D, 3, 4, 9.0)), "distances .* must be symmetric"),
    (METRIC, changed(changed(D, 3, 4, -1.0), 4, 3, -1.0), "Negative values .* metric=.precomputed.: got -1.0 at .3, 4.$"),
    (METRIC, np.exp(-D), r"zero from a point to itself, got 1.0 for point 0; affinities need"),
    (METRIC, kneighbors_graph(X, 4, mode="distance"), "n_neighbors = 10 others, got 4 for some point"),
    (AFFINITY | METRIC, D, "affinities or distances, got 'precomputed' for affinity and metric"),
    ({}, nx.path_graph(9), "X must be points, or with affinity='precomputed' a graph, got a Graph"),
    (AFFINITY, nx.gnp_random_graph(9, 0.3, 0, directed=True), "must be symmetric"),
])  # fmt: skip
def test_matrices_that_are_neither_are_refused(how, matrix, words):
    with pytest.raises(ValueError if words == "contains NaN" else nm.ProblemError, match=words):
        nm.NPKLKernel(**how).fit(matrix)


def test_points_that_look_like_a_matrix_are_named():
    for A in (D, sp.csr_array(D)):
        with pytest.warns(
            UserWarning, match="square and symmetric, and is read as points; affinity='precomp"
        ) as said:
            nm.NPKLKernel().fit(A)
        assert said[0].filename == __file__
