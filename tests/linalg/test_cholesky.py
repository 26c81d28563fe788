"""CHOLMOD's factorisations beside scipy's, and localisation with and without CHOLMOD."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.linalg import cholesky

pytest.importorskip("cvxopt", reason="needs the optional package cvxopt")


def matrix(n, seed, shift):
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=0.1, rng=rng)
    return sp.csr_array(A + A.T + shift * sp.eye_array(n))


def upper(A):
    return sp.csr_array(sp.triu(A, format="csr"))


@pytest.fixture(autouse=True)
def small_matrices_too(monkeypatch):
    monkeypatch.setattr(cholesky, "WORTH", 1)


@pytest.mark.parametrize("n", [1, 7, 300])
def test_solutions_are_right_for_several_values_on_one_pattern(n):
    A = upper(matrix(n, 0, 2.0 * n))
    factors = cholesky.SymmetricFactors(A.indptr, A.indices)
    for turn in (1.0, 2.0):
        whole = turn * (A + sp.triu(A, 1).T)
        factor, definite = factors.at(turn * A.data)
        assert definite
        for right in (np.ones(n), np.eye(n)[:, : min(n, 3)]):
            np.testing.assert_allclose(whole @ factor.solve(right), right, atol=1e-10)


def test_an_indefinite_matrix_is_left_to_superlu_and_the_next_definite_one_is_not():
    A = upper(matrix(50, 1, 100.0))
    factors = cholesky.SymmetricFactors(A.indptr, A.indices)
    whole = A + sp.triu(A, 1).T
    for sign in (-1.0, 1.0):
        factor, definite = factors.at(sign * A.data)
        assert definite == (sign > 0)
        np.testing.assert_allclose(sign * whole @ factor.solve(np.ones(50)), np.ones(50), atol=1e-10)


def test_factors_that_were_overwritten_are_refused():
    A = upper(matrix(20, 2, 50.0))
    factors = cholesky.SymmetricFactors(A.indptr, A.indices)
    first, _ = factors.at(A.data)
    factors.at(2 * A.data)
    with pytest.raises(RuntimeError, match="overwritten"):
        first.solve(np.ones(20))


def test_numbers_out_of_range_are_no_factor():
    A = upper(matrix(20, 2, 50.0))
    factors = cholesky.SymmetricFactors(A.indptr, A.indices)
    assert factors._cholesky(np.full(A.nnz, np.nan)) is None


def test_the_options_of_the_process_stay_as_they_were():
    from cvxopt import cholmod

    before = dict(cholmod.options)
    A = upper(matrix(20, 2, 50.0))
    cholesky.SymmetricFactors(A.indptr, A.indices).at(A.data)
    assert dict(cholmod.options) == before


@pytest.mark.parametrize("anchors", [0, 4])
def test_localisation_is_the_same_with_cholmod_and_without(anchors, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.random((80, 2))
    i, j = np.triu_indices(80, 1)
    d = np.linalg.norm(X[i] - X[j], axis=1)
    near = d < 0.3
    known = (i[near], j[near], d[near] * (1 + 0.02 * rng.normal(size=near.sum())))
    held = {"anchors": (np.arange(anchors), X[:anchors])} if anchors else {}
    question = nm.distances(known, 80, **held, penalty=-0.01)
    solutions, found = [], cholesky.SymmetricFactors._cholesky
    used = []
    monkeypatch.setattr(
        cholesky.SymmetricFactors, "_cholesky", lambda self, data: used.append(1) or found(self, data)
    )
    for least in (1, 10**9):
        monkeypatch.setattr(cholesky, "WORTH", least)
        solutions.append(question.solve("burer_monteiro", tol=1e-6, random_state=0))
    assert used
    assert [s.status for s in solutions] == [nm.Status.OPTIMAL] * 2
    scale = abs(solutions[1].objective)
    assert solutions[0].objective == pytest.approx(solutions[1].objective, abs=3e-6 * scale)


def test_without_the_package_superlu_factorises(monkeypatch):
    monkeypatch.setattr(cholesky, "import_module", _missing)
    cholesky.cvxopt.cache_clear()
    A = upper(matrix(20, 2, 50.0))
    try:
        factor, definite = cholesky.SymmetricFactors(A.indptr, A.indices).at(A.data)
    finally:
        cholesky.cvxopt.cache_clear()
    assert not definite
    np.testing.assert_allclose((A + sp.triu(A, 1).T) @ factor.solve(np.ones(20)), np.ones(20), atol=1e-10)


def _missing(name):
    raise ImportError(name)
