"""Bases of eigenvectors."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm


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
