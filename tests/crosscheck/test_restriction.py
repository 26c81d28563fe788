"""What restricting a kernel to a basis costs."""

import sys

import pytest

import npkl_models as nm


def test_the_cost_of_the_basis_is_reported(small):
    L = small("pcp").cost
    errors = []
    for size in (6, 12, 24):
        problem = small("pcp").with_basis(nm.eigenbasis(L, size))
        table = nm.crosscheck(problem, ["burer_monteiro", "sqlp"], without_basis=True)
        assert "the basis costs at most" in str(table)
        errors.append(table.restriction_error)
    assert errors[0] > errors[1] > errors[2] >= -1e-6
    assert errors[2] == pytest.approx(0, abs=1e-4)
    free = small("pcp").solve()
    again = nm.crosscheck(problem, ["sqlp"], without_basis=free)
    assert again.restriction_error == pytest.approx(errors[2], abs=1e-4)


def test_a_basis_that_has_no_cost_is_refused_before_anything_is_solved(small, monkeypatch):
    problem = small("pcp").with_basis(nm.eigenbasis(small("pcp").cost, 6))
    other = problem.solve()
    monkeypatch.setattr(sys.modules["npkl_models.crosscheck.run"], "_solve", lambda *a: pytest.fail("solved"))
    with pytest.raises(nm.ProblemError, match="got a problem without a basis"):
        nm.crosscheck(small("pcp"), ["bcd"], without_basis=True)
    with pytest.raises(nm.ProblemError, match="must be a solution of the same problem"):
        nm.crosscheck(problem, ["sqlp"], without_basis=other)
