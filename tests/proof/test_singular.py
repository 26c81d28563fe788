"""Floors of singular values: below the true one, near it, and far below the root of the roundoff."""

import numpy as np
import pytest

from npkl_models.linalg import gamma
from npkl_models.proof.singular import independent_by_gram, independent_rows


def rows(smallest, m=12, k=60):
    rng = np.random.default_rng(1)
    U = np.linalg.qr(rng.normal(size=(m, m)))[0]
    V = np.linalg.qr(rng.normal(size=(k, m)))[0]
    return (U * np.geomspace(1.0, smallest, m)) @ V.T


@pytest.mark.parametrize("smallest", [1e-2, 1e-6, 1e-9])
def test_the_floor_by_an_orthogonal_factorisation_holds_and_is_near(smallest):
    found = independent_rows(rows(smallest))
    assert 0.2 * smallest <= found.floor <= smallest * (1 + 1e-6)
    right = np.ones(12)
    left = np.abs(rows(smallest) @ found.shortest(right) - right).max()
    assert left <= 1e-15 / smallest**2  # of T, through X; repeated steps do the rest


def test_dependent_rows_and_a_large_doubt_are_refused():
    J = rows(1e-3)
    J[1] = J[0]
    assert independent_rows(J) is None
    assert independent_rows(rows(1e-6), doubt=1e-6) is None
    assert independent_rows(rows(1e-3).T) is None


def test_the_floor_by_the_gram_matrix_holds():
    J = rows(1e-3)
    J /= np.linalg.norm(J, axis=1)[:, None]
    floor, X = independent_by_gram(J @ J.T, gamma(80))
    smallest = np.linalg.svd(J, compute_uv=False)[-1]
    assert 0.2 * smallest <= floor <= smallest
    np.testing.assert_allclose(X.T @ J @ J.T @ X, np.eye(12), atol=1e-6)
    assert independent_by_gram(J @ J.T, 1e-6) is None
