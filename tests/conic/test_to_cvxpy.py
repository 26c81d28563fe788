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


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # what it left is judged below
def test_names_and_signs_of_what_a_solver_leaves():
    """Losses, bounds on both sides and equalities, over a basis and without: the bound is the optimum."""
    L, pairs = side_information("iris", 24)
    n = 24
    sides = nm.Constraint(nm.Entries(n, ([0, 3], [1, 9])), lower=0.1, upper=0.4, name="sides")
    whole = nm.Constraint(nm.Trace(n), equal=20.0, name="whole")
    for basis in (None, nm.eigenbasis(L, 12)):
        problem = nm.Problem(L, [*nm.npkl(L, pairs).terms, sides, whole], basis=basis)
        program = problem.to_cvxpy()
        assert {"z of " + term.name for term in problem.losses} <= set(program.var_dict)
        with pytest.raises(nm.ProblemError, match="must be solved"):
            problem.read_cvxpy(program)
        program.solve(solver="CLARABEL")
        K, y = problem.read_cvxpy(program)
        labels = [constraint.label for constraint in program.constraints]
        assert "whole" in labels
        judged = nm.certify(problem, K, y, kind="kernel")
        assert judged.violation <= 1e-6
        assert abs(judged.gap) <= 1e-5 * (1 + abs(program.value))
        with pytest.raises(nm.ProblemError, match="what to_cvxpy"):
            nm.pcp(L, pairs).read_cvxpy(program)
