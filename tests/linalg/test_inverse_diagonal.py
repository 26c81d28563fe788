"""The diagonal of a sparse inverse, beside the dense one."""

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models.linalg import cholesky
from npkl_models.linalg.inverse_diagonal import inverse_diagonal


def matrix(n, edges, seed):
    """A weighted Laplacian of a random graph plus a small positive diagonal."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(n, size=(2, edges))
    W = sp.coo_array((rng.uniform(0.1, 2, edges), (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    W.setdiag(0)
    return sp.csr_array(sp.diags_array(W.sum(axis=1) + rng.uniform(0.01, 1, n)) - W)


@pytest.mark.parametrize("library", ["cholmod", "superlu"])
@pytest.mark.parametrize("edges", [0, 60, 300, 3_000])  # unconnected points, trees, loops, a full matrix
def test_it_is_the_diagonal_of_the_inverse(library, edges, monkeypatch):
    monkeypatch.setattr(cholesky, "WORTH", 0 if library == "cholmod" else np.inf)
    for seed in range(3):
        A = matrix(120, edges, seed)
        upper = sp.csr_array(sp.triu(A, format="csr"))
        upper.sort_indices()
        factors = cholesky.SymmetricFactors(upper.indptr, upper.indices)
        L, order = factors.triangle(upper.data)
        assert sorted(order) == list(range(120))
        np.testing.assert_allclose((L @ L.T).toarray(), A.toarray()[np.ix_(order, order)], atol=1e-12)
        wanted = np.diag(np.linalg.inv(A.toarray()))
        np.testing.assert_allclose(inverse_diagonal(L), wanted[order], rtol=1e-10)
        x = factors.at(upper.data).solve(np.ones(120))  # the factors can be made again
        np.testing.assert_allclose(A @ x, 1.0, atol=1e-9)


def test_entries_that_are_zero_by_chance_may_be_missing():
    """The factor of this matrix has a zero where elimination fills in, and its CSC form may leave it out."""
    L = np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [2, 0, 1, 0], [0, 1, 3, 1]])
    A = L @ L.T
    np.testing.assert_allclose(inverse_diagonal(sp.csc_array(L)), np.diag(np.linalg.inv(A)), rtol=1e-12)


@pytest.mark.parametrize("library", ["cholmod", "superlu"])
def test_an_indefinite_matrix_has_no_triangle(library, monkeypatch):
    monkeypatch.setattr(cholesky, "WORTH", 0 if library == "cholmod" else np.inf)
    A = sp.csr_array(sp.triu(matrix(50, 200, 0) - 3 * sp.eye_array(50), format="csr"))
    A.sort_indices()
    factors = cholesky.SymmetricFactors(A.indptr, A.indices)
    for call in (factors.triangle, lambda data: factors.at(data, definite=True)):
        with pytest.raises(RuntimeError, match="not positive definite"):
            call(A.data)
