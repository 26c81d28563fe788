"""Equalities that say that points share a row, and multipliers of the original on the face."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.feasibility.faces import face_of


@pytest.fixture
def problem():
    iris = nm.datasets.load("iris").subset(40)
    pairs = nm.Pairs.from_labels(iris.y, 24, 24, random_state=0)
    return nm.hard_pcp(nm.laplacian(iris.X, n_neighbors=5, shift=0.1), pairs, reduce=False)


def test_multipliers_of_equal_values_are_added(problem):
    """The slack and the price of any multipliers are the same on the face."""
    rng = np.random.default_rng(0)
    face = face_of(problem)
    assert not face.whole
    y = nm.Multipliers((), tuple(rng.normal(size=part.functional.size) for part in problem.constraints))
    inside = face.fold(y)
    whole = face.problem.restrict(problem.slack(y)).toarray()
    np.testing.assert_allclose(face.problem.restrict(face.problem.slack(inside)).toarray(), whole, atol=1e-12)
    assert face.problem.conjugate_sum(inside) == pytest.approx(problem.conjugate_sum(y), abs=1e-12)
    again = face.fold(face.unfold(inside))
    for part, other in zip(inside.constraints, again.constraints, strict=True):
        np.testing.assert_array_equal(part, other)


def test_multipliers_from_the_original_prove_what_they_do_on_the_face(problem):
    """The dual of the problem as stated is not attained; good multipliers of it must not lose their bound."""
    answer = problem.solve("interior", tol=1e-9)
    y = answer.certificate.multipliers
    shares = np.random.default_rng(1).dirichlet(np.ones(2), size=y.constraints[1].size)
    diagonal, must = y.constraints[0].copy(), 3 * shares[:, 0]
    np.subtract.at(diagonal, problem.constraints[1].functional.indices[0], must)  # the same on the face
    other = nm.Multipliers((), (diagonal, y.constraints[1] + must, *y.constraints[2:]))
    found = nm.certify(problem, answer.V, other, kind="factor")
    assert found.bound == pytest.approx(answer.certificate.bound, abs=1e-6)


def test_a_centred_sum_cuts_a_basis_down_to_its_centred_part():
    """Of the basis e_0, e_1 the face of 1'K1 = 0 is (e_0 - e_1) / 2^0.5; a centred basis meets it as it is."""
    centring = nm.Constraint(nm.TotalSum(3), equal=0.0)
    first = nm.LossTerm(nm.Entries(3, ([0], [0])), "square", 1.0)
    face = face_of(nm.Problem(np.eye(3), (first, centring), basis=nm.Basis(np.eye(3)[:, :2])))
    assert not face.whole
    assert face.problem.constraints == ()
    np.testing.assert_allclose(np.abs(face.problem.basis.dense), np.array([[1], [1], [0]]) / 2**0.5)
    assert face.problem.basis.dense.sum() == pytest.approx(0, abs=1e-15)
    own = nm.Basis(np.array([[1.0], [-1.0], [0.0]]) / 2**0.5)
    met = face_of(nm.Problem(np.eye(3), (first, centring), basis=own))
    assert met.problem.constraints == ()
    assert met.problem.order == 1


@pytest.mark.parametrize("unit", [1.0, 0.5, -7.0])
def test_a_square_that_must_be_zero_is_met_by_a_basis(unit):
    """<vv', K> = 0 for a sparse v with entries of both signs; a matrix that is not vv' exactly gives no face."""
    v = np.array([1.0, 0.0, -2.0, 1.0, 3.0])
    M = unit * np.outer(v, v)
    others = np.diag([0.0, 1.0, 0, 0, 0]), np.diag([1.0, 1.0, 2.0, 2.0, 1.0])
    functional = nm.SparseMatrices(5, [M, *others])
    problem = nm.Problem(-np.ones((5, 5)), nm.Constraint(functional, equal=[0.0, 1.0, 4.0]))
    face = face_of(problem)
    assert face.problem.order == 4
    assert face.problem.constraints[0].functional.size == 2
    np.testing.assert_allclose(face.problem.basis.dense.T @ v, 0, atol=1e-15)
    found = problem.solve("interior")
    assert found.is_optimal(1e-6)
    assert found.certificate.violation <= 1e-12
    assert found.objective == pytest.approx(problem.solve("sdp").objective, rel=1e-4)
    M[0, 2] += 1e-9
    M[2, 0] += 1e-9
    near = nm.Constraint(nm.SparseMatrices(5, [M, *others]), equal=[0.0, 1.0, 4.0])
    assert face_of(nm.Problem(-np.ones((5, 5)), near)).whole
