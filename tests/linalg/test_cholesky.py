"""CHOLMOD's factorisations beside scipy's, and localisation with and without CHOLMOD."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.linalg import cholesky
from npkl_models.lowrank.factor import centred_system

pytest.importorskip("cvxopt", reason="needs the optional package cvxopt")


def matrix(n, seed, shift):
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=0.1, rng=rng)
    return sp.csr_array(A + A.T + shift * sp.eye_array(n))


def numbered(A):
    return sp.csr_array((np.arange(A.nnz, dtype=float), A.indices, A.indptr), shape=A.shape)


@pytest.mark.parametrize("n", [1, 7, 300])
def test_solutions_are_those_of_scipy_for_several_values_on_one_pattern(n):
    first = matrix(n, 0, 0.0 if n > 1 else 1.0)
    first = sp.csr_array(first + n * sp.eye_array(n))
    found = cholesky.Cholesky(numbered(first))
    for turn in (1.0, 2.0):
        A = sp.csr_array((first.data * turn, first.indices, first.indptr), shape=first.shape)
        solve = found.factorise(A.data)
        for right in (np.ones(n), np.eye(n)[:, : min(n, 3)]):
            np.testing.assert_allclose(A @ solve(right), right, atol=1e-10)


def test_an_indefinite_matrix_has_no_factor_and_the_next_definite_one_has():
    A = matrix(50, 1, 100.0)
    found = cholesky.Cholesky(numbered(A))
    assert found.factorise(-A.data) is None
    np.testing.assert_allclose(A @ found.factorise(A.data)(np.ones(50)), np.ones(50), atol=1e-10)


def test_the_options_of_the_process_stay_as_they_were():
    from cvxopt import cholmod

    before = dict(cholmod.options)
    cholesky.Cholesky(numbered(matrix(20, 2, 50.0)))
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
    solutions = []
    used = []
    for there in (True, False):
        monkeypatch.setattr(centred_system, "available", lambda there=there: there)
        monkeypatch.setattr(
            centred_system, "Cholesky", lambda pattern: used.append(1) or cholesky.Cholesky(pattern)
        )
        solutions.append(question.solve("burer_monteiro", tol=1e-6, random_state=0))
    assert used
    assert [s.status for s in solutions] == [nm.Status.OPTIMAL] * 2
    scale = abs(solutions[1].objective)
    assert solutions[0].objective == pytest.approx(solutions[1].objective, abs=3e-6 * scale)


def test_without_the_package_nothing_is_asked_of_it(monkeypatch):
    monkeypatch.setattr(cholesky.importlib, "import_module", _missing)
    cholesky._package.cache_clear()
    try:
        assert not cholesky.available()
    finally:
        cholesky._package.cache_clear()


def _missing(name):
    raise ImportError(name)
