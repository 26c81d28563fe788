"""Equalities that say that points share a row, and multipliers of the original on the face."""

from fractions import Fraction

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.feasibility.faces import face_of
from tests.certificates.test_units import rewritten


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


WAYS = {
    "entries": (0, 0),
    "matrices": (0, 0),
    "constraints times c_e": (0, 20),
    "in units D": (20, 0),
    "both": (20, 20),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_face_is_read_off_what_is_said_however_it_is_written(problem, way):
    """A right point is certified, with its multipliers and without."""
    rng, sizes = np.random.default_rng(0), [part.functional.size for part in problem.constraints]
    d, c = (
        np.ldexp(1.0, rng.integers(-k, k + 1, m)) for k, m in zip(WAYS[way], (40, sum(sizes)), strict=True)
    )
    other = problem if way == "entries" else rewritten(problem, d, c)
    face, known = face_of(other), face_of(problem)
    assert face.problem.order == known.problem.order < 40
    assert [mask.tolist() for mask in face.kept] == [mask.tolist() for mask in known.kept]
    best = problem.solve("interior", tol=1e-10)
    nus = np.split(np.concatenate(best.multipliers.constraints) / c, np.cumsum(sizes)[:-1])
    found = nm.certify(other, best.V * d[:, None], nm.Multipliers((), tuple(nus)), kind="factor")
    assert found.bound == pytest.approx(best.certificate.bound, rel=1e-9)
    assert found.certifies(1e-9)
    assert nm.certify(other, best.V * d[:, None], kind="factor").certifies(1e-6)
    assert other.solve("interior").is_optimal(1e-6)


@pytest.mark.parametrize("apart", [0, 1])
@pytest.mark.parametrize(("own", "ratio"), [(0.3, 1.0), (0.3, -1.0), (7.0, -0.25), (1e-200, 2.0**90)])
def test_rows_that_are_multiples_share_a_column_and_others_do_not(own, ratio, apart):
    """K_01 = ratio K_11 and K_00 = ratio^2 K_11 exactly; a unit of the last place apart there is no face."""
    between = np.nextafter(own * ratio, np.inf) if apart else own * ratio
    entries = nm.Entries(3, ([0, 1, 2, 0, 1], [0, 1, 2, 1, 2]))
    C = np.diag([1.0, 1.0, ratio**2]) / own
    held = nm.Constraint(entries, equal=[own * ratio**2, own, own, between, own / 2])
    face = face_of(nm.Problem(C, held))
    assert face.problem.order == 3 - (not apart)
    if not apart:
        first, second = face.problem.basis.dense[:2]
        np.testing.assert_array_equal(first, ratio * second)


def test_links_that_contradict_each_other():
    """x_0 = x_1 = x_2 = -x_0 leaves rows of zeros, and K_00 = 1 is then impossible."""
    M = [np.outer(v, v) for v in ([1.0, -1, 0, 0], [0, 1.0, -1, 0], [1.0, 0, 1, 0])]
    squares = nm.Constraint(nm.SparseMatrices(4, M), equal=0.0)
    for at, status in ((3, nm.Status.OPTIMAL), (0, nm.Status.INFEASIBLE)):
        problem = nm.Problem(np.eye(4), (squares, nm.Constraint(nm.Entries(4, ([at], [at])), equal=1.0)))
        assert face_of(problem).problem.order == 1
        assert problem.solve().status is status


@pytest.mark.parametrize("backend", ["interior", "burer_monteiro", "sdp"])
def test_what_the_face_meets_is_missed_by_rounding_in_memory(backend):
    """1'K1 = 0 is met by the basis; the sum of V's rows in memory is not exactly zero."""
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(5, 1)
    near = nm.LossTerm(nm.SquaredDistances(5, (i, j)), "square", rng.random(i.size))
    problem = nm.Problem(np.eye(5), (near, nm.Constraint(nm.TotalSum(5), equal=0.0)))
    found = problem.solve(backend)
    exact = sum(sum(map(Fraction, column), Fraction(0)) ** 2 for column in found.V.T.tolist())
    assert exact > 0
    size = float(np.sum(np.linalg.norm(found.V, axis=1)) ** 2)
    assert float(exact) / size <= found.certificate.violation <= 1e-12
