"""Out of sample as BCDKL prints it."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.answer.extension import extend_points
from npkl_models.model.graph import graph_width


@pytest.fixture(scope="module")
def halves():
    """Half of iris with a kernel learned on it, and the other half."""
    X, y = nm.datasets.load("iris").X, nm.datasets.load("iris").y
    inside = np.sort(np.random.default_rng(0).permutation(150)[:75])
    outside = np.setdiff1d(np.arange(150), inside)
    pairs = nm.Pairs.from_labels(y[inside], 40, 40, 0)
    problem = nm.npkl(nm.laplacian(X[inside], 5, shift=0.1), pairs)
    return problem.solve(), X[inside], X[outside]


def whole_laplacian(X, X_new, shift=0.1, **how):
    S = nm.knn_affinity(np.concatenate([X, X_new]), 5, sigma=graph_width(X, 5, "auto"), **how)
    return nm.laplacian(S, shift=shift).toarray()


def test_it_minimises_the_cost_with_the_old_rows_held(halves):
    solution, X, X_new = halves
    V_O = solution.extend_points(X, X_new, shift=0.1)
    L, V = whole_laplacian(X, X_new), np.concatenate([solution.V, V_O])
    np.testing.assert_allclose((L @ V)[75:], 0, atol=1e-10)
    np.testing.assert_allclose(V_O, -np.linalg.solve(L[75:, 75:], L[75:, :75] @ solution.V), atol=1e-10)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0):
        other = V.copy()
        other[75:] += size * rng.normal(size=V_O.shape)
        assert np.sum(other * (L @ other)) > np.sum(V * (L @ V))


def test_steps_of_equation_17_contract_to_it(halves):
    """Proposition 1: the spectral radius is at most 1 / (1 + delta)."""
    solution, X, X_new = halves
    exact = solution.extend_points(X, X_new, shift=0.1)
    first = np.linalg.norm(exact)
    for steps in (1, 5, 20, 100):
        found = solution.extend_points(X, X_new, shift=0.1, steps=steps)
        assert np.linalg.norm(found - exact) <= first / 1.1**steps * (1 + 1e-9)
    assert np.linalg.norm(found - exact) > 0


def test_the_width_is_that_of_the_old_points(halves):
    solution, X, X_new = halves
    far = X_new + 100.0 * np.arange(75)[:, None]  # would widen a width of all points
    own = graph_width(X, 5, "auto")
    given = solution.extend_points(X, far, shift=0.1, sigma=own)
    np.testing.assert_array_equal(solution.extend_points(X, far, shift=0.1), given)


def test_new_points_join_the_clusters_of_their_neighbours(halves):
    solution, X, X_new = halves
    V_O = solution.extend_points(X, X_new, shift=0.1)
    near = np.argmin(np.sum((X_new[:, None] - X[None]) ** 2, axis=2), axis=1)
    cosine = np.sum(V_O * solution.V[near], axis=1)
    cosine /= np.linalg.norm(V_O, axis=1) * np.linalg.norm(solution.V[near], axis=1)
    assert np.median(cosine) > 0.95


def test_a_point_far_from_all_gets_zero_or_says_so(halves):
    solution, X, _ = halves
    lost = np.full((6, 4), 1e6) + np.arange(6)[:, None]
    assert not solution.extend_points(X, lost, shift=0.1).any()
    with pytest.raises(
        nm.ProblemError, match="every new point must be joined to an old point, got no edges for"
    ):
        solution.extend_points(X, lost)


@pytest.mark.parametrize("sigma", ["auto", "last", "binary", 0.5])
def test_sparse_points_one_point_and_other_widths(sigma):
    rng = np.random.default_rng(0)
    V, X, x = rng.normal(size=(40, 2)), rng.normal(size=(40, 3)), rng.normal(size=(1, 3))
    dense = extend_points(V, X, x, shift=0.1, sigma=sigma)
    assert dense.shape == (1, 2)
    thin = extend_points(V, sp.csr_array(X), sp.csr_array(x), shift=0.1, sigma=sigma)
    np.testing.assert_allclose(thin, dense, atol=1e-7)


@pytest.mark.parametrize(
    ("X", "X_new", "how", "message"),
    [
        (np.ones((3, 2)), np.ones((2, 2)), {}, "X must have 4 rows like V"),
        (np.ones((4, 2)), np.ones((2, 3)), {}, "as many columns as X"),
        (np.ones((4, 2)), np.full((1, 2), np.nan), {}, "X must be finite"),
        (np.ones((4, 2)), np.ones((1, 2)), {"steps": 0}, "steps must be an integer >= 1"),
        (np.ones((4, 2)), np.ones((1, 2)), {"sigma": "wide"}, "sigma must be positive"),
    ],
)
def test_bad_input(X, X_new, how, message):
    with pytest.raises(nm.ProblemError, match=message):
        extend_points(np.ones((4, 1)), X, X_new, 2, **how)
