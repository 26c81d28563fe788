"""Unfolding with distances kept exactly: optimal with proof where distances nearly, or wholly, depend on others."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certify import congruence
from npkl_models.data.synthetic import swiss_roll
from npkl_models.feasibility import refinement
from npkl_models.feasibility.equality_map import EqualityMap
from npkl_models.presolve.cliques import Flat
from npkl_models.presolve.faces import complement
from npkl_models.presolve.stresses import unstressed


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
    assert own <= 1e-8  # a kernel without any is proved to exist nearby
    assert nm.mvu(X, 4, components="connect", reduce=False).violation(solution.V) <= own + 1e-11
    flat = X - X.mean(axis=0)
    assert found.upper <= -np.sum(flat**2)  # the points themselves have these distances


def test_a_refined_factor_is_near_an_exact_one():
    """Four points on a circle of which five distances are kept: the exact one is known."""
    angle = np.array([0.0, 1.0, 2.0, 3.5])
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    i, j = np.array([0, 0, 1, 1, 2]), np.array([1, 2, 2, 3, 3])
    b = np.sum((X[i] - X[j]) ** 2, axis=1)
    equal = nm.Equality(nm.SquaredDistances(4, (i, j)), b, "distances")
    problem = nm.Problem(-np.eye(4), (), (equal,), basis=complement(4))
    V = problem.lift(problem.drop(X)) * (1 + 1e-9)
    found = refinement.refined(problem, V)
    assert found is not None
    assert found.reach <= 1e-14
    assert np.abs(EqualityMap(problem).residual(found.V)).max() <= 1e-14
    assert refinement.refined(problem, V[:, :1]) is None  # more equalities than numbers in a line


def test_semidefinite_stresses_leave_a_face_that_holds_the_points():
    """A triangle with a fourth point inside, in the plane: its only stress is semidefinite, of rank one."""
    X = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0], [1.5, 1.0]])
    pairs = np.array([(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)])
    squared = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    whole = Flat(complement(4), np.ones(6, dtype=bool), 0, 0.0, 0.0)
    flat = unstressed(X, pairs, squared, whole)
    assert flat.basis.size == 2
    assert flat.kept.sum() == 3
    assert flat.missed <= 1e-13
    centred = X - X.mean(axis=0)
    Q = flat.basis.dense
    np.testing.assert_allclose(Q @ (Q.T @ centred), centred, atol=1e-13)


def test_a_slack_is_proved_definite_far_below_its_rounding():
    """S = -I + y e e' + ... of norm 1e9 with an eigenvalue of 1e-8; and one with -1e-8 is not."""
    basis = nm.Basis(np.linalg.qr(np.random.default_rng(2).normal(size=(6, 3)))[0])
    Q = basis.dense
    i, j = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])
    equal = nm.Equality(nm.SquaredDistances(6, (i, j)), np.ones(4), "distances")
    problem = nm.Problem(-np.eye(6), (), (equal,), basis=basis)
    y = nm.Multipliers((), (np.array([1e9, 1e9, 1e9, 2e9]),))
    S = problem.restrict(problem.slack(y))
    least = np.linalg.eigvalsh(S)[0]
    assert least > 0
    assert congruence.positive_definite(problem, y, S)
    low = nm.Multipliers((), (np.array([1e9, 0.0, 0.0, 0.0]),))  # two directions are left to -I
    assert Q.shape[1] == 3
    assert not congruence.positive_definite(problem, low, problem.restrict(problem.slack(low)))
