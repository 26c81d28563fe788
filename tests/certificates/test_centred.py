"""Distances over a cost that does not see the place of the points are proved over centred kernels."""

import numpy as np
import pytest

import npkl_models as nm


def weights(seed, n=6):
    """A graph Laplacian whose rows sum to zero exactly: its weights are small integers."""
    A = np.triu(np.random.default_rng(seed).integers(0, 3, size=(n, n)), 1)
    A = (A + A.T).astype(float)
    return np.diag(A.sum(axis=1)) - A


def chain(L):
    n = len(L)
    functional = nm.SquaredDistances(n, (np.arange(n - 1), np.arange(1, n)))
    sign = np.where(np.arange(n - 1) % 2 == 0, 1.0, -1.0)
    return nm.Problem(L, nm.LossTerm(functional, "squared_hinge", sign, 3.0))


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_over_centred_kernels_is_that_of_all(seed):
    problem = chain(weights(seed))
    found = problem.solve()
    assert found.status is nm.Status.OPTIMAL
    basis = nm.Basis(np.linalg.qr(np.eye(6) - 1 / 6)[0][:, :5])
    centred = problem.with_basis(basis).solve()
    assert found.objective == pytest.approx(centred.objective, rel=2e-6)


def test_points_that_nothing_touches_do_not_spoil_the_bound():
    problem = nm.Problem(
        np.zeros((8, 8)),
        nm.LossTerm(nm.SquaredDistances(8, ([4, 2, 2], [2, 7, 1])), "squared_hinge", [1, -1, 1]),
    )
    found = problem.solve()
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(1.0, rel=2e-6)  # the loss of a distance that must be zero


def test_a_cost_that_sees_the_place_is_left_alone():
    """With 1'C1 < 0 by next to nothing the objective falls without limit, and no bound may be given."""
    L = weights(0)
    L[0, 0] = np.nextafter(L[0, 0], 0)
    found = nm.certify(chain(L), np.ones((6, 1)))
    assert found.bound == -np.inf


def test_the_optimum_of_nothing_is_zero():
    """Neither cost nor loss: gaps have nothing to be relative to, and the bound must be met exactly."""
    apart = nm.Constraint(nm.SquaredDistances(4, ([2, 3], [1, 1])), equal=[0.25, 1.0])
    for R in (nm.NoRegularizer(), nm.RowNormBound(0.8)):
        found = nm.Problem(np.zeros((4, 4)), apart, R).solve()
        assert found.status is nm.Status.OPTIMAL
        assert found.objective == 0.0


def test_where_zero_is_the_only_kernel_it_is_the_answer():
    basis = nm.Basis(np.array([[0.5], [0.5], [0.5], [0.5]]))
    centring = nm.Constraint(nm.TotalSum(4), equal=0.0)
    term = nm.LossTerm(nm.Entries(4, ([0], [1])), "square", 1.0)
    found = nm.Problem(np.eye(4), (term, centring), basis=basis).solve()
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == term.value(np.zeros(1))


def test_a_ray_that_leaves_held_values_alone_is_found():
    """K_11 may grow at a gain; the distances and the difference that are held do not touch point 1."""
    held = nm.LossTerm(nm.SquaredDistances(5, ([0, 0, 4], [2, 4, 2])), "squared_hinge", 1.0)
    gain = nm.LossTerm(nm.Entries(5, ([1, 3], [1, 3])), "linear", [1.0, -1.0])
    difference = nm.Constraint(nm.DistanceDifferences(5, ([0], [4], [2])), equal=-6.0)
    found = nm.Problem(np.zeros((5, 5)), (held, gain, difference)).solve()
    assert found.status is nm.Status.UNBOUNDED


def test_a_dominant_diagonal_is_positive_semidefinite_exactly():
    from npkl_models.proof.perron import dominant

    L = nm.Problem(weights(1), nm.LossTerm(nm.Entries(6, ([0], [0])), "hinge", 1.0)).cost
    assert dominant(L)
    lower = L.copy()
    lower.data = np.where(lower.data == L.diagonal().max(), np.nextafter(lower.data, 0), lower.data)
    assert not dominant(lower)
