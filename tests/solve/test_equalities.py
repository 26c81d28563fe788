"""Equalities and distances, solved and certified."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm


def test_equalities_are_solved_and_certified():
    L, pairs = side_information("iris", 20)
    n = np.arange(20)
    diagonal = nm.Equality(nm.Entries(20, (n, n)), 1.0, "unit diagonal")
    term = nm.LossTerm(nm.Entries(20, (pairs.i, pairs.j)), "hinge", pairs.sign)
    problem = nm.Problem(L, (term,), (diagonal,), name="max-cut-like")
    primal = problem.solve("sdp", eps=1e-9)
    dual = problem.solve("sdp_dual", eps=1e-9)
    assert primal.status is nm.Status.OPTIMAL
    assert dual.objective == pytest.approx(primal.objective, rel=1e-6)
    np.testing.assert_allclose(np.diag(primal.K), 1.0, atol=1e-6)
    recovered = nm.certify(problem, primal.K)
    assert recovered.bound == pytest.approx(primal.objective, rel=1e-4)
    assert recovered.repair in ("equality shift", "scale", "none needed", "trace bound")
