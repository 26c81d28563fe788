"""Points from distances of neighbours: exact where they can be, weights as defined, routes that agree."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.formulations.rigid import placing
from npkl_models.model.neighbors import nearest_neighbors


def points(n=40, d=2, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, d))
    return np.column_stack([X, noise * rng.uniform(size=(n, 2))]) if noise else X


@pytest.mark.parametrize("backend", ["interior", "mfpc"])
@pytest.mark.parametrize(("d", "k", "s"), [(2, 6, 2), (2, 6, 5), (3, 8, 6)])
def test_exact_distances_give_the_points(backend, d, k, s):
    X = points(50, d)
    X -= X.mean(axis=0)
    problem = nm.locally_rigid(X, k, s, dimension=d)
    assert problem.objective(X @ X.T) < 1e-18 * problem.least_loss
    assert problem.violation(X) < 1e-9  # the coordinates are in the range of Q
    found = problem.solve(backend, tol=1e-7)
    assert found.objective < 1e-7 * problem.least_loss
    np.testing.assert_allclose(found.K, X @ X.T, atol=2e-3)
    assert found.is_optimal(1e-6)


def test_weights_are_the_smallest_that_place_the_point():
    X, k = points(30, 2), 6
    W = placing(X, k, 2).toarray()
    np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(W @ X, X, atol=1e-10)
    near = nearest_neighbors(X, k)[1]
    for i in range(30):
        A = np.vstack([(X[near[i]] - X[i]).T, np.ones(k)])
        np.testing.assert_allclose(W[i, near[i]], np.linalg.pinv(A) @ [0, 0, 1], atol=1e-9)


def test_weights_do_not_depend_on_where_the_points_are():
    """They are made of distances alone: turned, moved and mirrored points, in more dimensions, have the same."""
    X = points(30, 2)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0][:2]
    moved = X @ turn + 7.0
    np.testing.assert_allclose(placing(moved, 6, 2).toarray(), placing(X, 6, 2).toarray(), atol=1e-9)


def test_a_point_beside_its_neighbours_takes_what_a_ridge_leaves():
    """On a line, the last point of 0, 1, 1, 1 sees its three neighbours at one place: the mean of them."""
    X = np.array([[0.0], [1.0], [1.0], [1.0]])
    W = placing(X, 3, 1).toarray()
    assert np.isfinite(W).all()
    np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(W[0], [0, 1 / 3, 1 / 3, 1 / 3], atol=1e-12)
    same = placing(np.zeros((4, 2)), 3, 2).toarray()
    np.testing.assert_allclose(same, (1 - np.eye(4)) / 3)


def test_another_metric_is_taken_at_its_word():
    X = np.abs(points(30, 1))
    by_line = nm.locally_rigid(X, 4, 3, dimension=1, metric="manhattan")
    assert by_line.objective(np.outer(X - X.mean(), X - X.mean())) < 1e-18
    with pytest.raises(nm.NPKLError, match="metric"):
        nm.locally_rigid(X, 4, 3, metric="none such")


def test_what_does_not_place_a_point_is_refused():
    X = points(20)
    with pytest.raises(nm.ProblemError, match="n_neighbors must be more than the dimension, 2, .* got 2"):
        nm.locally_rigid(X, 2, 5)
    with pytest.raises(
        nm.ProblemError, match="n_basis must be between the dimension, 3, and n - 1 = 19, got 2"
    ):
        nm.locally_rigid(X, 5, 2, dimension=3)
    with pytest.raises(
        nm.ProblemError, match="n_basis must be between the dimension, 2, and n - 1 = 19, got 20"
    ):
        nm.locally_rigid(X, 5, 20)
    with pytest.raises(nm.ProblemError, match="dimension must be an integer >= 1, got 1.5"):
        nm.locally_rigid(X, 5, 5, dimension=1.5)
    with pytest.raises(nm.ProblemError, match=r"must be connected, got 2 components .* raise n_neighbors"):
        nm.locally_rigid(np.concatenate([X, X + 50.0]), 5, 5)
    joined = nm.locally_rigid(np.concatenate([X, X + 50.0]), 5, 5, components="connect")
    assert joined.name == "locally_rigid, 2 parts of the graph joined"
    assert joined.solve("interior").objective < 1e-6  # of squares of distances near 5,000
