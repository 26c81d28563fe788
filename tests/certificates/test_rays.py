"""Bounds that contradict each other are INFEASIBLE; the same bounds that only just meet are not."""

import numpy as np
import pytest

import npkl_models as nm

N = 4
FUNCTIONALS = {
    "entries": nm.Entries(N, ([0], [1])),
    "distances": nm.SquaredDistances(N, ([0], [2])),
    "differences": nm.DistanceDifferences(N, ([0], [1], [2])),
    "trace": nm.Trace(N),
    "matrices": nm.SparseMatrices(N, [np.eye(N) + np.eye(N, k=1) + np.eye(N, k=-1)]),
    "thirds": nm.SparseMatrices(N, [(np.eye(N, k=2) + np.eye(N, k=-2)) / 3]),
}


def between(functional, low, high):
    cost = np.eye(N) + 0.1
    sides = (
        nm.Constraint(functional, lower=low, name="low"),
        nm.Constraint(functional, upper=high, name="high"),
    )
    return nm.Problem(cost, sides)


@pytest.mark.parametrize("kind", FUNCTIONALS)
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e5])
def test_a_lower_bound_above_an_upper_one(kind, unit):
    problem = between(FUNCTIONALS[kind], 2.0 * unit, 1.0 * unit)
    assert problem.solve("interior").status is nm.Status.INFEASIBLE
    for near in (1.0, 1.0 - 1e-12):
        assert (
            between(FUNCTIONALS[kind], near * unit, unit).solve("interior").status is not nm.Status.INFEASIBLE
        )


def test_a_sum_that_exceeds_its_parts():
    i = np.arange(N)
    parts = nm.Constraint(nm.Entries(N, (i, i)), upper=[1.0, 2.0, 3.0, 4.0])
    least = [
        nm.Constraint(nm.Trace(N), lower=bound, name="whole")
        for bound in (10.0 * (1 + 1e-3), 10.0 * (1 - 1e-3))
    ]
    cost = -np.ones((N, N))
    assert nm.Problem(cost, [parts, least[0]]).solve().status is nm.Status.INFEASIBLE
    assert nm.Problem(cost, [parts, least[1]]).solve().is_optimal(1e-6)


@pytest.mark.parametrize("backend", ["interior", "burer_monteiro", "hybrid", "sdp"])
@pytest.mark.parametrize("value", [0.0, 1.0, -1.0])
def test_a_value_that_is_zero_over_the_basis(backend, value):
    """Found by a review: an exception in the held rows, and no proof that one is asked of zero."""
    known = nm.Constraint(nm.Entries(3, ([0], [1])), equal=value)
    near = nm.LossTerm(nm.Entries(3, ([1], [2])), "square", 1.0)
    found = nm.Problem(np.eye(3), [near, known], basis=nm.Basis(np.eye(3)[:, 1:])).solve(backend)
    assert found.status is (nm.Status.INFEASIBLE if value else nm.Status.OPTIMAL)


def test_where_kernels_only_nearly_meet_the_constraints_unbounded_says_so():
    """The fixed block has the determinant -1e-9: no kernel meets it exactly."""
    fixed = [([0], [0], 1.0), ([0], [1], 1.0), ([1], [1], 1 - 1e-9)]
    held = [nm.Constraint(nm.Entries(3, (i, j)), equal=value) for i, j, value in fixed]
    found = nm.Problem(np.diag([0.0, 0.0, -1.0]), held).solve("interior")
    assert found.status is nm.Status.UNBOUNDED
    assert "meets the constraints to 1e-07" in found.message
