"""Bases of eigenvectors."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.model.basis import centred_wavelets


def test_eigenbasis_is_orthonormal_sorted_and_reproducible():
    X = np.random.default_rng(0).normal(size=(60, 3))
    L = nm.laplacian(X, 5)
    basis = nm.eigenbasis(L, 6, skip=1)
    np.testing.assert_allclose(basis.Q.T @ basis.Q, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(L @ basis.Q, basis.Q * basis.eigenvalues, atol=1e-8)
    assert np.all(np.diff(basis.eigenvalues) >= 0)
    np.testing.assert_array_equal(basis.Q, nm.eigenbasis(L, 6, skip=1).Q)


def test_bad_bases():
    for make, words in (
        (lambda: nm.Basis(np.ones((2, 3))), r"1 <= s <= n, got \(2, 3\)"),
        (lambda: nm.Basis(np.ones((3, 2))), "orthonormal columns"),
        (lambda: nm.eigenbasis(sp.eye_array(4).tocsr(), 5), "at most n = 4"),
        (lambda: nm.eigenbasis([[1.0, -1.0], [0.0, 1.0]], 1), "Laplacian must be symmetric"),
    ):
        with pytest.raises(nm.ProblemError, match=words):
            make()


def test_a_sparse_basis_stays_sparse_and_means_the_same(tmp_path):
    from dataclasses import replace

    data = nm.datasets.load("iris")
    L, pairs = nm.laplacian(data.X, 5), nm.Pairs.from_labels(data.y, 60, 40, 3)
    problem = nm.hard_pcp(L, pairs)
    dense = replace(problem, basis=nm.Basis(problem.basis.Q.toarray()))
    assert sp.issparse(problem.restrict(problem.cost))
    np.testing.assert_allclose(
        problem.restrict(problem.cost).toarray(), dense.restrict(problem.cost), atol=1e-14
    )
    assert problem.basis.shared is not None
    assert dense.basis.shared is None
    for backend in ("interior", "burer_monteiro", "sdp"):
        first, second = problem.solve(backend), dense.solve(backend)
        assert (
            abs(first.objective - second.objective) <= first.certificate.gap + second.certificate.gap + 1e-9
        )
    again = nm.Problem.load(problem.save(tmp_path / "hard"))
    assert sp.issparse(again.basis.Q)
    assert abs(again.basis.Q - problem.basis.Q).max() == 0
    np.testing.assert_allclose(problem.Q, dense.Q)


def test_a_sparse_basis_is_orthonormal_like_any_other():
    with pytest.raises(nm.ProblemError, match="orthonormal"):
        nm.Basis(sp.csr_array(np.ones((4, 1))))
    with pytest.raises(nm.ProblemError, match="got 2.0e-10"):
        nm.Basis(sp.csr_array(np.array([[1 + 1e-10], [0.0]])))


def exact_integers(A, bits):
    """A times a power of two, as exact integers."""
    return np.array([[int(x) for x in row] for row in np.ldexp(A, bits).tolist()], dtype=object)


@pytest.mark.parametrize("dense", [False, True])
def test_the_rounding_of_a_product_in_a_basis_is_within_its_bound(dense):
    rng = np.random.default_rng(3)
    n = 24
    Q = centred_wavelets(rng.permutation(n).astype(np.intp)).dense
    Q = np.linalg.qr(rng.normal(size=(n, 9)))[0] if dense else Q
    basis = nm.Basis(Q if dense else sp.csr_array(Q))
    S = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-3, 4, size=(n, n))
    S = np.tril(S) + np.tril(S, -1).T
    found = nm.Problem(S, nm.Constraint(nm.Entries(n, ([0], [0])), equal=1.0), basis=basis).restrict(
        sp.csr_array(S)
    )
    found = found.toarray() if sp.issparse(found) else found
    left, middle = exact_integers(Q, 80), exact_integers(S, 80)
    exact = left.T.dot(middle).dot(left) - exact_integers(found, 240)
    off = np.array([[float(x) for x in row] for row in exact / 2**100]) * 2.0**-140
    bound = basis.of_product(np.abs(S), (n + 2) * 2.0**-53)
    assert np.linalg.norm(off, 2) <= bound <= 1e3 * np.linalg.norm(off, 2)
    gap = left.T.dot(left) - exact_integers(np.eye(basis.size), 160)
    defect = np.array([[float(x) for x in row] for row in gap / 2**60]) * 2.0**-100
    assert np.linalg.norm(defect, 2) <= basis.defect <= 1e-13
    size = np.linalg.norm(np.abs(Q), 2) ** 2
    assert size <= basis.magnitude <= 1.01 * size


def test_wavelets_of_many_points_are_as_good_as_those_of_few():
    few, many = (centred_wavelets(np.arange(n)) for n in (100, 3000))
    assert many.magnitude < 2 * few.magnitude
    assert many.defect < 100 * few.defect < 1e-11
