"""Corrections of a factor in the span of a few vectors."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import outlying

import npkl_models as nm
from npkl_models.lowrank.factor import correction


def test_corrections_minimise_over_the_span(monkeypatch):
    """With every value exact the correction is the minimum over B, which any other method finds as well."""
    from scipy.optimize import minimize

    P = outlying(120)
    V = P.solve("bcd", max_iter=3, rank=4).V
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(P.n, 3)))[0]
    monkeypatch.setattr(correction, "SUPPORT", -1.0)
    W = correction.correct(P, V, X)
    assert W is not None
    assert np.linalg.matrix_rank(np.hstack([W - V, X]), tol=1e-8) == 3
    other = minimize(
        lambda b: P.objective_of_factor(V + X @ b.reshape(3, -1)), 1e-3 * np.ones(12), method="BFGS"
    )
    assert P.objective_of_factor(W) == pytest.approx(other.fun, rel=1e-7)


def test_corrections_with_local_vectors_descend_and_stop_at_an_optimum():
    P = outlying()
    V = P.solve("bcd", kernel="numpy", max_iter=4, rank=6).V
    values, vectors = np.linalg.eigh(P.slack(P.derivatives(V)).toarray())
    W = correction.correct(P, V, vectors[:, :5])
    assert values[0] < 0
    assert W is not None
    assert P.objective_of_factor(W) < P.objective_of_factor(V)
    best = P.solve("burer_monteiro", tol=1e-8).V
    again = correction.correct(P, best, vectors[:, :5])
    assert again is None or P.objective_of_factor(again) == pytest.approx(
        P.objective_of_factor(best), abs=1e-7
    )
    kinked = nm.npkl(P.cost + 0.1 * sp.eye_array(P.n), nm.Pairs(P.n, [[0, 1]], [[2, 3]]), loss="hinge")
    assert correction.correct(kinked, V, vectors[:, :2]) is None
