"""Angles kept: the scales are the best ones, exact routes agree, flat points cost nothing."""

import numpy as np
import pytest
from scipy.optimize import nnls

import npkl_models as nm
from npkl_models.formulations.conformal import scales
from npkl_models.model.neighbors import nearest_neighbors


def cap(n=60, seed=0):
    """Points of the upper half of a sphere."""
    Z = np.random.default_rng(seed).normal(size=(n, 3)) + [0, 0, 2]
    return Z / np.linalg.norm(Z, axis=1)[:, None]


def by_hand(X, V, k):
    """The sum of the docstring with its scales found one by one, by non-negative least squares."""
    near = nearest_neighbors(X, k)[1]
    total, found = 0.0, []
    for i in range(len(X)):
        members = [i, *near[i]]
        pairs = [(a, b) for m, a in enumerate(members) for b in members[:m]]
        d = np.array([np.sum((X[a] - X[b]) ** 2) for a, b in pairs])
        z = np.array([np.sum((V[a] - V[b]) ** 2) for a, b in pairs])
        s, miss = nnls(d[:, None], z)
        total += miss**2
        found.append(s[0])
    return total, np.array(found)


def test_the_objective_is_the_sum_over_the_best_scales():
    X = cap(25)
    problem = nm.conformal_eigenmaps(X, 4, 6)
    V = np.random.default_rng(1).normal(size=(25, 3))
    total, s = by_hand(X, V, 4)
    assert problem.objective_of_factor(V) == pytest.approx(total)
    np.testing.assert_allclose(scales(X, V, 4), s)


def test_no_kernel_is_below_the_bound():
    problem = nm.conformal_eigenmaps(cap(), 5, 8)
    bound = problem.solve("interior").certificate.bound
    rng = np.random.default_rng(0)
    for _ in range(50):
        V = problem.lift(rng.normal(size=(8, 3)))
        assert problem.objective_of_factor(V / np.linalg.norm(V)) >= bound


def test_similar_points_have_the_same_problem():
    """Turned, moved and blown up: angles are what they were."""
    X, rng = cap(30), np.random.default_rng(2)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    V = rng.normal(size=(30, 2))
    one, other = nm.conformal_eigenmaps(X, 4, 6), nm.conformal_eigenmaps(7 * X @ turn + 3, 4, 6)
    assert other.objective_of_factor(V) == pytest.approx(one.objective_of_factor(V))


@pytest.mark.parametrize(("backend", "limit"), [("burer_monteiro", {"max_iter": 500}), ("scsdp", {})])
def test_flat_points_cost_nothing_over_all_centred_vectors(backend, limit):
    """A plane, shrunk to the trace one, has the loss zero; and each point the same scale."""
    X = np.random.default_rng(0).uniform(size=(12, 2))
    X -= X.mean(axis=0)
    problem = nm.conformal_eigenmaps(X, 5, 11)
    V = X / np.linalg.norm(X)
    assert problem.objective_of_factor(V) < 1e-30
    assert problem.violation(V) < 1e-12
    np.testing.assert_allclose(scales(X, V, 5), 1 / np.sum(X**2))
    found = problem.solve(backend, **limit)
    assert found.objective < 1e-12
    assert found.certificate.bound <= 0


def test_a_conformal_map_costs_less_than_one_that_shears():
    """z -> z^2 keeps angles where points are dense; stretching one axis does not."""
    side = np.linspace(1.0, 2.0, 12)
    z = (side[:, None] + 1j * (side - 1.5)).ravel()
    X = np.column_stack([z.real, z.imag])
    problem = nm.conformal_eigenmaps(X, 8, 5)
    squared, sheared = np.column_stack([(z**2).real, (z**2).imag]), X * [1.0, 3.0]
    centred = [Y - Y.mean(axis=0) for Y in (squared, sheared)]
    kept, lost = (problem.objective_of_factor(Y / np.linalg.norm(Y)) for Y in centred)
    assert kept < 0.02 * lost


def test_what_has_no_angles_is_refused():
    X = cap(20)
    with pytest.raises(
        nm.ProblemError, match="n_neighbors must be at least 2, since angles need triangles, got 1"
    ):
        nm.conformal_eigenmaps([[0.0], [1.0], [1.5]], 1, 2)
    same = np.concatenate([np.zeros((4, 3)), X])
    with pytest.raises(nm.ProblemError, match=r"coincide with all .* got 4 such points: \[0, 1, 2, 3\]"):
        nm.conformal_eigenmaps(same, 3, 4, components="connect")
    with pytest.raises(nm.ProblemError, match="must be connected, got 2 components"):
        nm.conformal_eigenmaps(np.concatenate([X, X + 50.0]), 5, 4)
    joined = nm.conformal_eigenmaps(np.concatenate([X, X + 50.0]), 5, 4, components="connect")
    assert joined.name == "conformal_eigenmaps, 2 parts of the graph joined"
    with pytest.raises(nm.ProblemError, match=r"size \+ skip must be at most n"):
        nm.conformal_eigenmaps(X, 4, 20)


@pytest.mark.parametrize("unit", [2.0**-270, 2.0**270])
def test_angles_have_no_unit(unit):
    """The squares of squared distances were out of range, and then nothing was scaled."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    one, other = (nm.conformal_eigenmaps(scale * X, 5, 4, components="connect") for scale in (1.0, unit))
    A, B = (problem.terms[0].functional.combination.toarray() for problem in (one, other))
    np.testing.assert_allclose(A, B, atol=1e-12)
    np.testing.assert_allclose(scales(unit * X, unit * X, 5), 1.0)
