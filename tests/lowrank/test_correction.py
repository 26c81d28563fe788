"""Corrections of a factor in the span of a few vectors."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import outlying

import npkl_models as nm
from npkl_models.lowrank.factor import correction


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
