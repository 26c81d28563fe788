"""Unfolding with distances kept exactly: optimal with proof where distances nearly, or wholly, depend on others."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models import kernel
from npkl_models.data.synthetic import swiss_roll


@pytest.mark.parametrize("draw", [0, 1, 2])
def test_the_printed_problem_is_optimal_where_no_kernel_could_be_shown(draw):
    """Of 200 points: draws whose points have hidden semidefinite stresses, and singular values of 1e-5."""
    X = swiss_roll(200, random_state=draw, even=True)[0]
    problem = nm.mvu(X, 4, components="connect")
    solution = problem.solve("interior")
    found = solution.certificate
    assert solution.status is nm.Status.OPTIMAL
    assert found.feasible
    assert found.rigour == "proved"
    assert found.relative_gap <= 1e-6
    own = problem.violation(solution.V)
    assert own <= 1e-8
    assert nm.mvu(X, 4, components="connect", reduce=False).violation(solution.V) <= own + 1e-11
    flat = X - X.mean(axis=0)
    assert found.bound <= found.objective <= -np.sum(flat**2)  # the points themselves have these distances


def test_a_slack_is_proved_definite_far_below_its_rounding():
    """S = -I + y e e' + ... of norm 1e9 with an eigenvalue of 1e-8; and one with -1e-8 is not."""
    basis = nm.Basis(np.linalg.qr(np.random.default_rng(2).normal(size=(6, 3)))[0])
    Q = basis.dense
    i, j = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])
    equal = nm.Constraint(nm.SquaredDistances(6, (i, j)), equal=np.ones(4), name="distances")
    problem = nm.Problem(-np.eye(6), (equal,), basis=basis)
    y = nm.Multipliers((), (np.array([1e9, 1e9, 1e9, 2e9]),))
    S = problem.restrict(problem.slack(y))
    least = np.linalg.eigvalsh(S)[0]
    assert least > 0
    own = kernel.slack(problem, y)
    assert kernel.proved_in_coordinates(problem, kernel.floor_of(y, own), own).proved
    low = nm.Multipliers((), (np.array([1e9, 0.0, 0.0, 0.0]),))  # two directions are left to -I
    assert Q.shape[1] == 3
    own = kernel.slack(problem, low)
    assert not kernel.proved_in_coordinates(problem, kernel.floor_of(low, own), own).proved
