"""Coloured unfolding against its closed form, with and without equalities; graphs in parts."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import npkl_models as nm
from npkl_models.formulations.colored import label_kernel
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.model.pairs import components


def points(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 3)) + 2 * np.eye(3)[y], y


@pytest.mark.parametrize("m", [0.1, 1.0])
def test_the_kernel_is_the_closed_form_of_its_multipliers(m):
    """Eq. (31) of Zhuang, Tsang & Hoi: K = sqrt(B / tr A+^2) A+ with A = HYH - sum y M, where B binds."""
    X, y = points()
    n = len(X)
    problem = nm.colored_mvu(X, y, n_neighbors=5, trace_bound=m * n)
    found = problem.solve("simple_npkl", tol=1e-9)
    assert found.certificate.certifies(1e-9)
    H, Y = np.eye(n) - 1 / n, label_kernel(y, n)
    np.testing.assert_allclose(-problem.cost.toarray(), H @ Y @ H, atol=1e-12)
    multipliers = found.certificate.multipliers
    A = H @ Y @ H - problem.terms[0].functional.adjoint(multipliers.terms[0]).toarray()
    values, vectors = np.linalg.eigh(A)
    plus = (vectors * np.maximum(values, 0)) @ vectors.T
    closed = np.sqrt(m * n / np.sum(plus**2)) * plus
    np.testing.assert_allclose(found.K, closed, atol=1e-5 * np.abs(closed).max())
    np.testing.assert_allclose(found.K.sum(axis=0), 0, atol=1e-8 * np.abs(closed).max())
    z = problem.values(found.V)[0]
    slopes = 1.0 * (z - problem.terms[0].target)  # C times the residual
    np.testing.assert_allclose(multipliers.terms[0], slopes, atol=1e-3 * np.abs(slopes).max())


def test_infinite_weight_keeps_the_distances():
    X, y = points(25)
    problem = nm.colored_mvu(X, y, n_neighbors=3, C=np.inf)
    found = problem.solve("interior")
    assert found.certificate.certifies(1e-6)
    hood = neighborhood(X, 3, "euclidean")
    z = nm.SquaredDistances(25, tuple(hood.pairs.T)).value_of_factor(found.V)
    np.testing.assert_allclose(z, hood.squared, rtol=1e-7)
    soft = nm.colored_mvu(X, y, n_neighbors=3, C=1e5).solve("interior")
    assert soft.objective == pytest.approx(found.objective, rel=1e-3)
    with pytest.raises(nm.ProblemError, match="C must be finite if trace_bound is given, since"):
        nm.colored_mvu(X, y, C=np.inf, trace_bound=1.0)
    with pytest.raises(nm.ProblemError, match="C must be finite if penalty is given, since"):
        nm.colored_mvu(X, y, C=np.inf, penalty=1.0)


def test_labels_and_their_kernels():
    y = np.array([1, -1, 2, 1])
    np.testing.assert_array_equal(
        label_kernel(y, 4), [[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]
    )
    signs = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
    X = np.random.default_rng(0).normal(size=(6, 2))
    by_signs = nm.colored_mvu(X, np.outer(signs, signs), n_neighbors=3, trace_bound=1.0)
    by_class = nm.colored_mvu(X, (signs > 0).astype(int), n_neighbors=3, trace_bound=1.0)
    np.testing.assert_allclose(by_signs.cost.toarray(), 2 * by_class.cost.toarray(), atol=1e-14)
    with pytest.raises(nm.ProblemError, match=r"two classes or more, got 1 .*np.outer"):
        nm.colored_mvu(X, signs, n_neighbors=3, trace_bound=1.0)
    ragged, hidden = [[1], [1, 2], 3, 4, 5, 6], np.ma.array([1, 1, 2, 2, 3, 3], mask=[1, 0, 0, 0, 0, 0])
    for wrong in (np.ones(5), np.ones((6, 2)), np.full(6, -1), ragged, hidden, [{}, 1, 2, 3, 4, 5]):
        with pytest.raises(nm.ProblemError, match="labels must"):
            nm.colored_mvu(X, wrong, n_neighbors=3, trace_bound=1.0)
    for wrong in (np.triu(np.ones((6, 6))), np.full((6, 6), np.nan)):
        with pytest.raises(nm.ProblemError, match="labels must"):
            nm.colored_mvu(X, wrong, n_neighbors=3, trace_bound=1.0)


def test_parts_are_joined_by_the_shortest_edges():
    """The edges that are added are those of a spanning tree of all points that run between the parts."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(8, 2)) + 20 * np.array(c) for c in ((0, 0), (1, 0), (3, 1), (0, 2))])
    with pytest.raises(nm.ProblemError, match=r"got 4 components .*components='connect'"):
        nm.mvu(X, 3)
    hood = neighborhood(X, 3, "euclidean", "connect")
    assert hood.joined == 3
    assert components(32, hood.pairs)[0] == 1
    apart = hood.pairs[np.ptp(hood.pairs // 8, axis=1) > 0]
    D = cdist(X, X)
    between = {(a, b): D[8 * a : 8 * a + 8, 8 * b : 8 * b + 8].min() for a in range(4) for b in range(a)}
    lengths, parent = [], list(range(4))  # Kruskal

    def root(a):
        return a if parent[a] == a else root(parent[a])

    for (a, b), d in sorted(between.items(), key=lambda item: item[1]):
        if root(a) != root(b):
            parent[root(a)] = root(b)
            lengths.append(d)
    np.testing.assert_allclose(np.sort(D[tuple(apart.T)]), lengths, rtol=1e-14)
    problem = nm.mvu(X, 3, components="connect")
    assert problem.name == "mvu, 4 parts of the graph joined"
    found = problem.solve("interior")
    assert found.certificate.certifies(1e-6)
    z = nm.SquaredDistances(32, tuple(hood.pairs.T)).value_of_factor(found.V)
    np.testing.assert_allclose(z, hood.squared, rtol=1e-6)
    with pytest.raises(nm.UnsupportedError, match="unknown components"):
        nm.mvu(X, 3, components="join")


def test_parts_of_equal_points_are_joined_by_an_edge_of_length_zero():
    X = np.repeat([[0.0], [0.0], [5.0]], 3, axis=0)
    hood = neighborhood(X, 2, "euclidean", "connect")
    assert components(9, hood.pairs)[0] == 1
    assert nm.mvu(X[[0, 1, 6]], 1, components="connect").name.startswith("mvu")
