"""Coordinates and scores of embeddings, against scikit-learn and by hand."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications import embedding


def test_coordinates_of_a_kernel_and_its_factors_are_the_same():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(30, 4)) * [5.0, 3.0, 2.0, 1.0] + 7.0
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    Z = embedding.coordinates(V, 4)
    np.testing.assert_allclose(embedding.coordinates(V @ turn + 3.0, 4), Z, atol=1e-10)
    np.testing.assert_allclose(embedding.coordinates(V @ V.T, 4), Z, atol=1e-6)
    centred = V - V.mean(axis=0)
    np.testing.assert_allclose(Z @ Z.T, centred @ centred.T, atol=1e-9)
    np.testing.assert_allclose(Z.T @ Z, np.diag(embedding.scree(V)), atol=1e-9)
    assert np.all(Z[np.abs(Z).argmax(axis=0), range(4)] > 0)
    np.testing.assert_array_equal(embedding.coordinates(V, 6)[:, 4:], 0)
    assert embedding.held(V, 4) == pytest.approx(1)
    assert embedding.held(V, 1) == pytest.approx(embedding.scree(V)[0] / np.trace(centred @ centred.T))


def test_the_sign_does_not_hang_on_rounding():
    """Two entries of one size and opposite signs: the first decides."""
    z = np.array([[1.0], [-1.0], [0.5], [-0.5]])
    for turned in (z, -z, z * (1 + 1e-15), z[::-1][::-1]):
        assert embedding.coordinates(np.hstack([turned, 0 * z]), 1)[0, 0] > 0


def test_what_is_no_kernel_is_refused():
    for wrong in (np.triu(np.ones((3, 3))), np.ones((2, 3)), np.full((3, 1), np.nan), np.ones(3)):
        with pytest.raises(nm.ProblemError, match="a kernel must"):
            embedding.coordinates(wrong)
    with pytest.raises(nm.ProblemError, match="size must"):
        embedding.coordinates(np.eye(3), 0)


@pytest.mark.parametrize("size", [1.5, -1, 0])
def test_sizes_are_counts(size):
    with pytest.raises(nm.NPKLError, match="size must be an integer"):
        embedding.held(np.random.default_rng(0).standard_normal((4, 2)), size)
