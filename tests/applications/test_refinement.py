"""Refinement in the plane and its uncertainty, beside dense least squares and a dense inverse."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from npkl_models.applications import located
from npkl_models.applications.located import Measured, refined, rigid_motions, uncertainty
from npkl_models.formulations.known_distances import radio_network
from npkl_models.linalg import cholesky


@pytest.fixture(params=["cholmod", "superlu"])
def library(request, monkeypatch):
    monkeypatch.setattr(cholesky, "WORTH", 0 if request.param == "cholmod" else np.inf)


def network(seed, anchors=5, d=2):
    """A network of 40 sensors with noise, their number, and a start near the truth."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(40 + anchors, d))
    i, j = np.triu_indices(len(X), 1)
    length = np.linalg.norm(X[i] - X[j], axis=1)
    own = (length < 0.4 * d / 2 + 0.1) & (i < 40)
    measured = length[own] * (1 + 0.03 * rng.standard_normal(own.sum()))
    start = X + np.where(np.arange(len(X)) < 40, 0.01, 0.0)[:, None] * rng.standard_normal(X.shape)
    return Measured.of(i[own], j[own], measured, ("relative", "absolute")[seed % 2]), start


def jacobian(X, known, n):
    """The derivative of the residuals in the first n points, dense."""
    unit = (X[known.i] - X[known.j]) / np.linalg.norm(X[known.i] - X[known.j], axis=1)[:, None]
    J = np.zeros((known.d.size, len(X), X.shape[1]))
    every = np.arange(known.d.size)
    J[every, known.i] += unit / known.sigma[:, None]
    J[every, known.j] -= unit / known.sigma[:, None]
    return J[:, :n].reshape(known.d.size, -1)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_end_is_that_of_dense_least_squares(seed, d):
    known, start = network(seed, d=d)

    def moved(x):
        X = start.copy()
        X[:40] = x.reshape(40, d)
        return X

    dense = least_squares(
        lambda x: known.residuals(moved(x))[0], start[:40].ravel(),
        jac=lambda x: jacobian(moved(x), known, 40), method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    end = refined(start, known, np.arange(40))
    np.testing.assert_array_equal(end[40:], start[40:])
    assert np.sum(known.residuals(end)[0] ** 2) == pytest.approx(2 * dense.cost, rel=1e-12)
    np.testing.assert_allclose(end[:40], dense.x.reshape(40, d), atol=1e-6)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_uncertainty_is_that_of_the_dense_inverse(seed, d):
    for anchors in (5, 0):
        known, X = network(seed, anchors, d)
        r = known.residuals(X)[0]
        J, loose = jacobian(X, known, 40), 0 if anchors else d * (d + 1) // 2
        values, vectors = np.linalg.eigh(J.T @ J)
        assert values[loose] > 1e-6 * values[-1]  # all is fixed but rigid motions
        covariance = (vectors[:, loose:] / values[loose:]) @ vectors[:, loose:].T
        squares = np.diag(covariance).reshape(40, d).sum(axis=1) * (r @ r) / (r.size - 40 * d + loose)
        found = uncertainty(X, known, np.arange(40))
        np.testing.assert_allclose(found[:40], np.sqrt(squares), rtol=1e-8)
        assert not found[40:].any()


@pytest.mark.usefixtures("library")
def test_what_is_not_fixed_is_unknown_and_nothing_else():
    known, X = network(0)
    two = np.flatnonzero((known.i == 0) | (known.j == 0))[1:]  # sensor 0 keeps one distance
    kept = np.setdiff1d(np.arange(known.d.size), two)
    few = Measured(known.i[kept], known.j[kept], known.d[kept], known.sigma[kept])
    found = uncertainty(X, few, np.arange(40))
    assert np.flatnonzero(np.isnan(found)).tolist() == [0]
    alone = Measured(*(part[(few.i != 0) & (few.j != 0)] for part in (few.i, few.j, few.d, few.sigma)))
    without = uncertainty(X[1:], Measured(alone.i - 1, alone.j - 1, alone.d, alone.sigma), np.arange(39))
    scale = np.sqrt(  # the sensor adds one residual, and one to the rank, to the estimate of the noise
        (few.residuals(X)[0] @ few.residuals(X)[0]) / (few.d.size - 79)
        / ((alone.residuals(X)[0] @ alone.residuals(X)[0]) / (alone.d.size - 78))
    )  # fmt: skip
    np.testing.assert_allclose(found[1:40], scale * without[:39], rtol=1e-7)


def test_without_anchors_a_loose_sensor_makes_all_positions_unknown():
    known, X = network(1, anchors=0)
    two = np.flatnonzero((known.i == 0) | (known.j == 0))[1:]
    kept = np.setdiff1d(np.arange(known.d.size), two)
    few = Measured(known.i[kept], known.j[kept], known.d[kept], known.sigma[kept])
    assert np.isnan(uncertainty(X, few, np.arange(40))).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_rigid_motions_change_no_distance(d):
    known, X = network(2, anchors=0, d=d)
    basis = rigid_motions(X).reshape(40 * d, -1)
    assert basis.shape[1] == d * (d + 1) // 2
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    assert np.abs(jacobian(X, known, 40) @ basis).max() < 1e-10 * np.abs(jacobian(X, known, 40)).max()


def test_a_network_of_some_size_has_an_uncertainty_without_anchors():
    (i, j, d), X = radio_network(500, 0, 0.17, noise=0.02, random_state=0)
    known = Measured.of(i, j, d, "relative")
    found = uncertainty(X, known, np.arange(500))
    some = np.array([0, 250, 499])
    values, vectors = np.linalg.eigh(jacobian(X, known, 500).T @ jacobian(X, known, 500))
    squares = ((vectors[:, 3:] ** 2) / values[3:]).sum(axis=1).reshape(-1, 2).sum(axis=1)
    r = known.residuals(X)[0]
    np.testing.assert_allclose(found[some] ** 2, squares[some] * (r @ r) / (r.size - 997), rtol=1e-6)


def test_a_variance_that_rounding_makes_negative_is_unknown(monkeypatch):
    """It means a matrix that is singular to rounding; no warning of numpy reaches the user."""
    X = np.random.default_rng(0).normal(size=(6, 2))
    i, j = np.triu_indices(6, 1)
    known = Measured(i, j, 1.01 * np.linalg.norm(X[i] - X[j], axis=1), np.ones(i.size))
    monkeypatch.setattr(located, "inverse_variances", lambda factors, *_: (-np.ones(factors.size), 0))
    with np.errstate(invalid="raise"):
        found = uncertainty(X, known, np.arange(3, 6))
    assert np.isnan(found[3:]).all()
    assert not found[:3].any()


@pytest.mark.usefixtures("library")
def test_sensors_that_are_not_fixed_leave_the_others_their_uncertainty():
    """Two hundred sensors with one distance each: more unknowns than distances, but not a larger rank."""
    known, X = network(1)
    leaves, angle = np.arange(45, 245), np.arange(200.0)
    X = np.vstack([X, X[0] + 0.3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)])
    i, j = np.r_[known.i, leaves], np.r_[known.j, np.zeros(200, dtype=np.intp)]
    more = Measured(i, j, np.r_[known.d, np.full(200, 0.3)], np.ones(i.size))
    found = uncertainty(X, more, np.r_[0:40, leaves])
    np.testing.assert_allclose(found[:40], uncertainty(X[:45], known, np.arange(40))[:40], rtol=1e-8)
    assert np.isnan(found[leaves]).all()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("factor", [1e3, 1e5, 1e7])
def test_a_sensor_with_large_errors_is_not_one_that_is_not_fixed(factor):
    known, X = network(1)
    sigma = known.sigma * np.where((known.i == 3) | (known.j == 3), factor, 1.0)
    found = uncertainty(X, Measured(known.i, known.j, known.d, sigma), np.arange(40))
    assert np.isfinite(found).all()
    J = jacobian(X, Measured(known.i, known.j, known.d, sigma), 40)
    scale = np.repeat(np.where(np.arange(40) == 3, factor, 1.0), 2)  # units in which the inverse is exact
    inner = np.diag(np.linalg.inv((J * scale).T @ (J * scale))) * scale**2
    r = (known.residuals(X)[0] * known.sigma) / sigma
    wanted = np.sqrt(inner.reshape(40, 2).sum(axis=1) * (r @ r) / (r.size - 80))
    np.testing.assert_allclose(found[:40], wanted, rtol=1e-7)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("anchors", [0, 4])
def test_points_on_a_line_or_at_one_place_leave_it_for_a_minimum(anchors, d):
    """No gradient leads away from either start, because it has no component across the line."""
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(16 + anchors, d))
    X[:, 1:] = 0.0
    i, j = np.triu_indices(len(X), 1)
    own = i < 16
    i, j = i[own], j[own]
    length = np.linalg.norm(X[i] - X[j], axis=1) * (1 + 0.1 * rng.standard_normal(i.size))
    known = Measured.of(i, j, length, "relative")
    for start in (X, np.vstack([np.tile(X[0], (16, 1)), X[16:]])):
        end = refined(start, known, np.arange(16))
        J = jacobian(end, known, 16)
        unit = (end[i] - end[j]) / np.linalg.norm(end[i] - end[j], axis=1)[:, None]
        H = J.T @ J + across(end, known, unit, 16)
        assert np.linalg.eigvalsh(H)[0] > -1e-5 * np.trace(H) / len(H)


def across(X, known, unit, n):
    """The part of the Hessian of half the sum of squares that the second derivatives of lengths add."""
    d, length = X.shape[1], np.linalg.norm(X[known.i] - X[known.j], axis=1)
    bend = (length - known.d) / known.sigma**2 / length
    H = np.zeros((len(X), d, len(X), d))
    for a, b, share, u in zip(known.i, known.j, bend, unit, strict=True):
        block = share * (np.eye(d) - np.outer(u, u))
        for one, other, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            H[one, :, other, :] += sign * block
    return H[:n, :, :n].reshape(n * d, n * d)
