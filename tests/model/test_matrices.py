"""Values of any sparse matrices: two ways to state them, errors, and every door."""

import pickle

import numpy as np
import pytest

import npkl_models as nm

M = [np.diag([1.0, 0.0, 2.0]), np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -3.0], [0.0, -3.0, 0.5]])]


def test_values_adjoint_and_triplets_agree():
    rng = np.random.default_rng(0)
    F, V, y = nm.SparseMatrices(3, M), rng.standard_normal((3, 2)), rng.standard_normal(2)
    K = V @ V.T
    expected = [np.sum(A * K) for A in M]
    np.testing.assert_allclose(F.value(K), expected, rtol=1e-13)
    np.testing.assert_allclose(F.value_of_factor(V), expected, rtol=1e-13)
    np.testing.assert_allclose(F.adjoint(y).toarray(), y[0] * M[0] + y[1] * M[1], rtol=1e-13)
    np.testing.assert_allclose(F.incidence.symmetric_operator() @ K.ravel(), expected, rtol=1e-13)
    again = nm.SparseMatrices(3, (F.owner, F.column, F.row, F.entry))
    assert np.array_equal(again.matrix(1).toarray(), M[1])


def test_a_matrix_of_zeros_keeps_its_place():
    F = nm.SparseMatrices(3, ([2], [0], [1], [1.0]), size=4)
    assert F.size == 4
    assert F.value(np.ones((3, 3))).tolist() == [0.0, 0.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([0], [0], [3], [1.0]), "column of sparse matrices must lie in 0..2"),
        (([0, 0], [0, 1], [1, 0], [1.0, 1.0]), "each entry once"),
        (([0], [0], [1], [np.nan]), "finite"),
        (([0, 1], [0], [1], [1.0]), "one length"),
        ([np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])], "symmetric"),
        ([np.eye(2)], "shape"),
        ("words", "sequence of matrices"),
    ],
)
def test_what_is_no_list_of_matrices_is_refused(given, words):
    with pytest.raises(nm.ProblemError, match=words):
        nm.SparseMatrices(3, given)


def made():
    return nm.Problem(np.eye(3), (nm.Constraint(nm.SparseMatrices(3, M), equal=[1.0, 0.5]),))


def test_files_pickles_and_workers_keep_the_numbers(tmp_path):
    problem = made()
    problem.save(tmp_path / "p.npz")
    for again in (nm.Problem.load(tmp_path / "p.npz"), pickle.loads(pickle.dumps(problem))):
        assert np.array_equal(again.constraints[0].functional.entry, problem.constraints[0].functional.entry)
        assert again.solve("interior").objective == pytest.approx(problem.solve("interior").objective)
    combined = nm.DistanceCombinations(3, ([0, 1], [1, 2]), np.array([[1.0, 2.0]]))
    assert np.array_equal(pickle.loads(pickle.dumps(combined)).value(np.eye(3)), combined.value(np.eye(3)))


@pytest.mark.parametrize("backend", ["interior", "sdp", "sdp_dual", "burer_monteiro", "hybrid"])
def test_backends_that_take_equalities_take_matrices(backend):
    found = made().solve(backend)
    assert found.status is nm.Status.OPTIMAL, found.message
    assert found.objective == pytest.approx(made().solve("sdp").objective, rel=1e-5)
