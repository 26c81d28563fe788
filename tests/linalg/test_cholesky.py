"""Sparse factors of one pattern: CHOLMOD beside SuperLU, and what happens without it."""

import builtins

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models.linalg import cholesky

N = 300


@pytest.fixture(params=["cholmod", "superlu"])
def library(request, monkeypatch):
    """The library that factorises."""
    monkeypatch.setattr(cholesky, "WORTH", 0 if request.param == "cholmod" else N + 1)
    assert cholesky.installed() is not None
    return request.param


def matrix(shift=0.0, seed=0):
    """A Laplacian on a random graph plus the identity, and ``shift`` at every diagonal entry."""
    rng = np.random.default_rng(seed)
    i, j = np.random.default_rng(0).integers(N, size=(2, 4 * N))
    W = sp.coo_array((rng.uniform(1, 2, i.size), (i, j)), shape=(N, N)).tocsr()
    W = W + W.T
    W.setdiag(0)
    return sp.csr_array(sp.diags_array(W.sum(axis=1) + 1 + shift) - W)


def upper(A):
    out = sp.csr_array(sp.triu(A, format="csr"))
    out.sort_indices()
    return out


def test_solutions_are_those_of_the_matrix(library):
    U = upper(matrix())
    factors = cholesky.SymmetricFactors(U.indptr, U.indices)
    rng = np.random.default_rng(1)
    for seed in range(3):  # the pattern is analysed once
        A = matrix(seed=seed)
        for right in (rng.normal(size=N), rng.normal(size=(N, 3))):
            x = factors.at(upper(A).data).solve(right)
            assert x.shape == right.shape
            np.testing.assert_allclose(A @ x, right, atol=1e-11)
    assert factors.turn == (3 * 2 if library == "cholmod" else 0)


def test_entries_below_the_diagonal_are_ignored(library):
    A = matrix()
    left = sp.csr_array(sp.tril(A, -1) * 7.0) * (np.arange(N) % 2 == 0)
    stored = sp.csr_array(sp.triu(A) + left)
    stored.sort_indices()
    right = np.ones(N)
    x = cholesky.SymmetricFactors(stored.indptr, stored.indices).at(stored.data).solve(right)
    np.testing.assert_allclose(A @ x, right, atol=1e-11)


def test_an_indefinite_matrix_is_refused_or_factorised_by_superlu(library):
    A = matrix(-2.0)  # the eigenvalue of the constant vector is -1
    U = upper(A)
    factors = cholesky.SymmetricFactors(U.indptr, U.indices)
    right = np.random.default_rng(0).normal(size=N)
    np.testing.assert_allclose(A @ factors.at(U.data).solve(right), right, atol=1e-9)
    if library == "cholmod":
        with pytest.raises(RuntimeError, match="not positive definite"):
            factors.at(U.data, retry=False)
    good = upper(matrix()).data  # a failure leaves nothing behind
    np.testing.assert_allclose(matrix() @ factors.at(good, retry=False).solve(right), right, atol=1e-11)


def test_numbers_out_of_range_are_refused(library):
    U = upper(matrix())
    factors = cholesky.SymmetricFactors(U.indptr, U.indices)
    for wrong in (np.nan, np.inf):
        data = U.data.copy()
        data[5] = wrong
        with pytest.raises(RuntimeError, match="not finite"):
            factors.at(data)


def test_factors_that_were_overwritten_refuse_to_solve(monkeypatch):
    monkeypatch.setattr(cholesky, "WORTH", 0)
    U = upper(matrix())
    factors = cholesky.SymmetricFactors(U.indptr, U.indices)
    first = factors.at(U.data)
    factors.at(2 * U.data)
    with pytest.raises(RuntimeError, match="overwritten"):
        first.solve(np.ones(N))


def test_the_options_of_cvxopt_are_left_as_they_were(monkeypatch):
    monkeypatch.setattr(cholesky, "WORTH", 0)
    options = cholesky.installed().cholmod.options
    monkeypatch.setitem(options, "print", 0)
    before = dict(options)
    U = upper(matrix())
    factor = cholesky.SymmetricFactors(U.indptr, U.indices).at(U.data)
    assert options == before
    factor.solve(np.ones(N))
    assert options == before


def test_without_cvxopt_superlu_does_the_work(monkeypatch):
    real = builtins.__import__

    def missing(name, *arguments, **named):
        if name.split(".")[0] == "cvxopt":
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(cholesky, "WORTH", 0)
    monkeypatch.setattr(builtins, "__import__", missing)
    cholesky.installed.cache_clear()
    try:
        assert cholesky.installed() is None
        A, right = matrix(), np.ones(N)
        U = upper(A)
        factors = cholesky.SymmetricFactors(U.indptr, U.indices)
        np.testing.assert_allclose(A @ factors.at(U.data).solve(right), right, atol=1e-11)
        assert factors.turn == 0
    finally:
        cholesky.installed.cache_clear()
