"""The CVXPY problem and its parameters."""

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
    doubled = nm.simple_npkl(L, pairs, loss="hinge", C=2.0, bound=24.0).solve("sdp")
    assert program.value == pytest.approx(doubled.objective, rel=1e-5)
