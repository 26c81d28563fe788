"""Equalities that contradict each other linearly are called INFEASIBLE, whatever solver is asked."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.certificates.rays import infeasible

N = 4
DIFFERENCES = (
    [0, 2, 1],
    [1, 0, 0],
    [2, 1, 2],
)  # d_01 - d_02, d_02 - d_12, d_01 - d_12: the third is their sum


def problem(values, basis=None, regularizer=None):
    equality = nm.Constraint(nm.DistanceDifferences(N, DIFFERENCES), equal=values)
    term = nm.LossTerm(nm.Entries(N, ([0, 2], [2, 0])), "hinge", [1.0, -1.0])
    R = nm.NoRegularizer() if regularizer is None else regularizer
    return nm.Problem(np.eye(N), (term, equality), R, basis)


def test_a_value_that_is_not_the_sum_of_two_others_contradicts_them():
    assert not infeasible(problem([0.5, 0.25, 0.75]))
    assert infeasible(problem([0.5, 0.25, 0.75 + 1e-6]))


@pytest.mark.parametrize("R", [None, nm.TracePower(1.5, penalty=1.0), nm.RowNormBound(10.0)])
def test_it_is_infeasible_for_every_regulariser(R):
    found = problem([-1.8, -1.3, -2.1], regularizer=R).solve()
    assert found.status is nm.Status.INFEASIBLE


def test_the_other_sign_of_a_difference_is_the_same_equality():
    twice = nm.Constraint(nm.DistanceDifferences(N, ([0, 0], [1, 2], [2, 1])), equal=[0.5, -0.5])
    other = nm.Constraint(nm.DistanceDifferences(N, ([0, 0], [1, 2], [2, 1])), equal=[0.5, 0.5])
    assert not infeasible(nm.Problem(np.eye(N), twice))
    assert nm.Problem(np.eye(N), other).solve().status is nm.Status.INFEASIBLE
    basis = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 3)))[0])
    assert nm.Problem(np.eye(N), twice, basis=basis).solve().status is nm.Status.OPTIMAL


def test_a_basis_of_one_column_fixes_the_ratio_of_entries():
    q = np.array([0.5, 0.5, 0.5, 0.5])
    basis = nm.Basis(q[:, None])
    equal = nm.Constraint(nm.Entries(N, ([0, 1], [1, 2])), equal=[1.0, 1.0])
    apart = nm.Constraint(nm.Entries(N, ([0, 1], [1, 2])), equal=[1.0, 2.0])
    assert not infeasible(nm.Problem(np.eye(N), equal, basis=basis))
    assert infeasible(nm.Problem(np.eye(N), apart, basis=basis))
    assert not infeasible(nm.Problem(np.eye(N), apart))


@pytest.mark.parametrize("seed", range(20))
def test_values_of_a_kernel_never_contradict_each_other(seed):
    rng = np.random.default_rng(seed)
    W = rng.integers(-3, 4, size=(6, 2)).astype(float)  # whose values are exact
    indices = rng.integers(0, 6, size=(3, 12))
    functional = nm.DistanceDifferences(6, tuple(indices))
    equality = nm.Constraint(functional, equal=functional.value(W @ W.T))
    assert not infeasible(nm.Problem(np.eye(6), equality))


def test_dependent_equalities_hide_no_feasible_kernel():
    """That a kernel meets all of them is proved by those that are independent."""
    functional = nm.DistanceDifferences(3, ([0, 1, 2], [1, 2, 1], [2, 0, 0]))
    problem = nm.Problem(np.eye(3), nm.Constraint(functional, equal=[1.0, 2.0, 3.0]))
    solution = problem.solve()
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
