"""Functionals, pairs, graph and basis."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import npkl_models as nm
from npkl_models.model.functionals import FUNCTIONALS


@pytest.mark.parametrize("kind", FUNCTIONALS)
def test_faces_of_a_functional_agree(kind):
    rng = np.random.default_rng(0)
    n, m = 7, 11
    cls = FUNCTIONALS[kind]
    f = cls(n, tuple(rng.integers(0, n, m) for _ in range(cls.arity)))
    m = f.size
    V = rng.normal(size=(n, 3))
    K = V @ V.T
    z = f.value(K)
    np.testing.assert_allclose(f.value_of_factor(V), z, atol=1e-12)
    np.testing.assert_allclose(f.operator() @ K.ravel(), z, atol=1e-12)
    y = rng.normal(size=m)
    A = f.adjoint(y).toarray()
    np.testing.assert_allclose(A, A.T)
    assert np.sum(A * K) == pytest.approx(float(y @ z))
    Q = np.linalg.qr(rng.normal(size=(n, 4)))[0]
    U = Q.T @ K @ Q
    np.testing.assert_allclose(f.operator(Q) @ U.ravel(), f.value(Q @ U @ Q.T), atol=1e-12)


def test_distances_mean_what_they_say():
    V = np.random.default_rng(1).normal(size=(5, 2))
    D = np.sum((V[:, None] - V[None]) ** 2, axis=2)
    i, j, k = np.array([0, 1]), np.array([2, 3]), np.array([4, 0])
    np.testing.assert_allclose(nm.SquaredDistances(5, (i, j)).value_of_factor(V), D[i, j])
    difference = nm.DistanceDifferences(5, (i, j, k)).value_of_factor(V)
    np.testing.assert_allclose(difference, D[i, j] - D[i, k])


# ------------------------------------------------------------------------------------------- pairs


def test_pairs_are_ordered_and_distinct():
    pairs = nm.Pairs(5, [(3, 1), (1, 3)], [(4, 0)])
    assert pairs.must_link.tolist() == [[1, 3]]
    assert pairs.i.tolist() == [1, 0]
    assert pairs.j.tolist() == [3, 4]
    assert pairs.sign.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, [(0, 1)], [(1, 0)]), r"both lists, got \[\(0, 1\)\]"),
        ((5, [(0, 5)], []), r"must_link must index points 0..4, got \[\[0, 5\]\]"),
        ((5, [], [(-1, 2)]), r"cannot_link must index points"),
        ((5, [(2, 2)], []), r"self pairs \[\[2, 2\]\]"),
        ((5, [], []), "at least one must-link or cannot-link"),
        ((5, [(0.5, 1)], []), "integers of shape"),
        ((5, [(0, 1, 2)], []), r"integers of shape \(m, 2\)"),
        ((5, [(0, 1)], [], [-1.0]), "positive finite numbers"),
        ((5, [(0, 1)], [], [1.0, 2.0]), "weights must be 1 positive"),
        ((5, [(0, 1), (1, 0)], [], [1.0, 2.0]), "no pair must be repeated"),
    ],
)
def test_bad_pairs_are_named(arguments, message):
    with pytest.raises(nm.ProblemError, match=message):
        nm.Pairs(*arguments)


@given(
    labels=st.lists(st.integers(0, 3), min_size=4, max_size=40),
    share=st.floats(0, 1),
    seed=st.integers(0, 100),
)
def test_pairs_from_labels_are_right_and_as_many_as_asked(labels, share, seed):
    y = np.array(labels)
    same = int(sum(c * (c - 1) // 2 for c in np.bincount(y)))
    other = len(y) * (len(y) - 1) // 2 - same
    n_must, n_cannot = int(share * same), int(share * other)
    if n_must + n_cannot == 0:
        return
    pairs = nm.Pairs.from_labels(y, n_must, n_cannot, seed)
    assert (len(pairs.must_link), len(pairs.cannot_link)) == (n_must, n_cannot)
    assert np.all(y[pairs.must_link[:, 0]] == y[pairs.must_link[:, 1]])
    assert np.all(y[pairs.cannot_link[:, 0]] != y[pairs.cannot_link[:, 1]])


def test_pairs_from_labels_are_uniform():
    y = np.repeat([0, 1], [2, 30])  # one pair in the small class, 435 in the large one
    hits = sum(
        len(pairs.must_link[pairs.must_link[:, 1] < 2])
        for pairs in (nm.Pairs.from_labels(y, 4, 1, seed) for seed in range(2000))
    )
    assert 5 < hits < 40  # 2000 * 4 / 436 = 18.3 expected


def test_too_many_pairs_asked_for():
    with pytest.raises(nm.ProblemError, match="between 0 and the 2 that exist, got 3"):
        nm.Pairs.from_labels([0, 0, 1, 1], 3, 1)


def test_from_arrays_is_the_same():
    pairs = nm.Pairs.from_arrays([[0, 1], [2, 3]], [1, -1], 4)
    assert pairs.must_link.tolist() == [[0, 1]]
    assert pairs.cannot_link.tolist() == [[2, 3]]
    with pytest.raises(nm.ProblemError, match=r"\+1 or -1"):
        nm.Pairs.from_arrays([[0, 1]], [2], 4)


def test_closure_and_conflicts():
    pairs = nm.Pairs(6, [(0, 1), (1, 2), (3, 4)], [(2, 3)])
    closed = pairs.closure()
    assert {tuple(p) for p in closed.must_link.tolist()} == {(0, 1), (0, 2), (1, 2), (3, 4)}
    assert {tuple(p) for p in closed.cannot_link.tolist()} == {(a, b) for a in (0, 1, 2) for b in (3, 4)}
    assert pairs.connected_components_ratio() == pytest.approx(3 / 6)
    bad = nm.Pairs(4, [(0, 1), (1, 2)], [(0, 2)])
    assert bad.conflicts().tolist() == [[0, 2]]
    with pytest.raises(nm.ProblemError, match=r"contradict a chain.*\[\[0, 2\]\]"):
        bad.closure()


# ------------------------------------------------------------------------------------------- graph


def test_normalised_laplacian_has_its_null_vector_and_range():
    X = np.random.default_rng(0).normal(size=(40, 3))
    S = nm.knn_affinity(X, 5)
    L = nm.laplacian(X, 5, shift=0.2).toarray()
    values = np.linalg.eigvalsh(L)
    assert values[0] == pytest.approx(0.2)
    assert values[-1] <= 2.2 + 1e-12
    root = np.sqrt(S.sum(axis=1))
    np.testing.assert_allclose(L @ root, 0.2 * root, atol=1e-12)
    np.testing.assert_allclose(nm.laplacian(S, shift=0.2).toarray(), L)
    np.testing.assert_allclose(
        nm.laplacian(S.toarray(), metric="precomputed", normalized=False).toarray().sum(axis=1),
        0,
        atol=1e-12,
    )


def test_affinity_is_the_papers():
    X = np.random.default_rng(0).normal(size=(30, 2))
    D = np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=2))
    near = np.sort(D, axis=1)[:, 1:11]
    sigma = near.mean() / 2
    order = np.argsort(D, axis=1)[:, 1:6]
    mask = np.zeros((30, 30), bool)
    np.put_along_axis(mask, order, True, axis=1)
    wanted = np.where(mask | mask.T, np.exp(-(D**2) / (2 * sigma**2)), 0)
    np.testing.assert_allclose(nm.knn_affinity(X, 5).toarray(), wanted, atol=1e-12)


def test_duplicate_points_are_no_trouble():
    S = nm.knn_affinity(np.zeros((12, 2)), 3)
    assert np.isfinite(S.data).all()
    assert S.max() == 1.0


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.full((5, 2), np.nan), {}, "X must be finite, got NaN"),
        (np.full((5, 2), np.inf), {}, "X must be finite, got infinity"),
        (np.zeros((5, 2)), {"n_neighbors": 5}, "n_neighbors must be between 1 and n - 1 = 4, got 5"),
        (np.zeros((5, 2)), {"n_neighbors": 0}, "n_neighbors must be"),
        (np.zeros(5), {}, "X must have shape"),
        (np.eye(5), {"n_neighbors": 2, "sigma": -1.0}, "sigma must be positive"),
        (np.eye(5), {"n_neighbors": 2, "shift": -1.0}, "shift must be a finite number >= 0"),
        (sp.csr_array(np.triu(np.ones((4, 4)), 1)), {}, "affinity must be symmetric"),
        (sp.csr_array(-np.ones((4, 4))), {}, "finite and non-negative"),
    ],
)
def test_bad_points(X, options, message):
    with pytest.raises(nm.ProblemError, match=message):
        nm.laplacian(X, **options)


def test_eigenbasis_is_orthonormal_sorted_and_reproducible():
    X = np.random.default_rng(0).normal(size=(60, 3))
    L = nm.laplacian(X, 5)
    basis = nm.eigenbasis(L, 6, skip=1)
    np.testing.assert_allclose(basis.Q.T @ basis.Q, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(L @ basis.Q, basis.Q * basis.eigenvalues, atol=1e-8)
    assert np.all(np.diff(basis.eigenvalues) >= 0)
    np.testing.assert_array_equal(basis.Q, nm.eigenbasis(L, 6, skip=1).Q)


def test_bad_bases():
    with pytest.raises(nm.ProblemError, match=r"1 <= s <= n, got \(2, 3\)"):
        nm.Basis(np.ones((2, 3)))
    with pytest.raises(nm.ProblemError, match="orthonormal columns"):
        nm.Basis(np.ones((3, 2)))
    with pytest.raises(nm.ProblemError, match="at most n = 4"):
        nm.eigenbasis(sp.eye_array(4).tocsr(), 5)


def test_neighbours_in_chunks_are_the_brute_ones_and_show_progress(monkeypatch, capsys):
    from npkl_models.model import neighbors

    X = np.random.default_rng(0).normal(size=(53, 3))
    X[7] = X[8] = X[9]  # duplicates may hide a point from its own list
    monkeypatch.setattr(neighbors, "CHUNK", 10)
    distance, index = neighbors.nearest_neighbors(X, 4, progress=True)
    assert "neighbours" in capsys.readouterr().err
    full = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(full, np.inf)
    np.testing.assert_allclose(distance, np.sort(full, axis=1)[:, :4], atol=1e-12)
    assert np.all(index != np.arange(53)[:, None])
    neighbors.nearest_neighbors(X, 4)
    assert capsys.readouterr().err == ""
    assert neighbors._is_large(50_000, 2)
    assert neighbors._is_large(10_000, 50)
    assert not neighbors._is_large(49_999, 49)


def test_approximate_neighbours_are_nearly_the_exact_ones():
    pytest.importorskip("pynndescent", reason="the extra neighbors is not installed")
    X = np.random.default_rng(0).normal(size=(600, 5))
    exact = nm.knn_affinity(X, 6)
    near = nm.knn_affinity(X, 6, search="approximate")
    shared = exact.astype(bool).multiply(near.astype(bool)).sum()
    assert shared >= 0.95 * exact.nnz
    assert near.diagonal().sum() == 0


def test_search_by_name():
    X = np.zeros((12, 2))
    np.testing.assert_array_equal(
        nm.knn_affinity(X, 3, search="auto").toarray(), nm.knn_affinity(X, 3).toarray()
    )
    with pytest.raises(nm.UnsupportedError, match="unknown search 'magic'"):
        nm.knn_affinity(X, 3, search="magic")


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(nm.MissingDependencyError, match=r"npkl_models\[neighbors\]"):
        nm.knn_affinity(np.random.default_rng(0).normal(size=(30, 2)), 3, search="approximate")


def test_own_point_is_dropped_once():
    from npkl_models.model.neighbors import _without_self

    neighbor = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3]])  # the last row misses itself
    distance = np.arange(9.0).reshape(3, 3)
    kept, left = _without_self(distance, neighbor, np.arange(3))
    assert left.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert kept.tolist() == [[1, 2], [3, 4], [6, 7]]
