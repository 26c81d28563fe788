"""The CVXPY problem and its parameters."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm


def test_to_cvxpy_has_parameters_and_is_dpp(small):
    program = small("B2:hinge").to_cvxpy()
    assert program.is_dcp(dpp=True)
    parameters = {p.name(): p for p in program.parameters()}
    assert set(parameters) == {"gamma", "B"}
    program.solve(solver="CLARABEL")
    before = program.value
    parameters["gamma"].value *= 2
    program.solve(solver="CLARABEL")
    assert program.value > before
    L, pairs = side_information("iris", 24)
    doubled = nm.simple_npkl(L, pairs, loss="hinge", C=2.0, trace_bound=24.0).solve("sdp")
    assert program.value == pytest.approx(doubled.objective, rel=1e-5)


def test_the_dual_of_a_link_is_minus_the_multipliers():
    L, pairs = side_information("iris", 24)
    problem = nm.npkl(L, pairs, loss="squared_hinge")
    program = problem.to_cvxpy()
    program.solve(solver="CLARABEL")
    y = problem.solve("interior", tol=1e-9).certificate.multipliers.terms[0]
    assert np.abs(y).max() > 0.1
    np.testing.assert_allclose(-program.constraints[1].dual_value, y, atol=1e-4)
