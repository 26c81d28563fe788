"""Dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models import linalg
from npkl_models.model.incidence import INNER, Incidence


def test_low_rank_update_is_what_it_says():
    rng = np.random.default_rng(0)
    W = np.linalg.qr(rng.normal(size=(9, 2)))[0]
    S = sp.random_array((9, 9), density=0.4, rng=rng)
    S = (S + S.T).tocsr()
    update = linalg.LowRankUpdate(S, W, np.array([2.0, 3.0]))
    full = S.toarray() + (W * [2.0, 3.0]) @ W.T
    np.testing.assert_allclose(linalg.dense(update), full)
    np.testing.assert_allclose(update @ W, full @ W)
    assert linalg.norm_bound(update) >= np.linalg.norm(full, 2)


def test_psd_factor_cuts_the_negative_part():
    A = np.random.default_rng(0).normal(size=(6, 6))
    A = A + A.T
    V = linalg.psd_factor(A)
    values, vectors = np.linalg.eigh(A)
    np.testing.assert_allclose(V @ V.T, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-10)
    assert linalg.numerical_rank(V) == int(np.sum(values > 0))


def test_long_factors_have_the_orthonormal_basis_of_short_ones(monkeypatch):
    """A basis of mixed directions would hide from a deflation which of them the slack maps to zero."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    V = np.linalg.qr(rng.normal(size=(500, 6)))[0] * np.array([1, 0.3, 1e-2, 1e-4, 1e-5, 1e-9]) @ turn
    short = linalg.orthonormal_range(V)
    monkeypatch.setattr(linalg, "LONG", 1_000)
    found = linalg.orthonormal_range(V)
    assert found.shape == short.shape == (500, 5)
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-14)
    np.testing.assert_allclose(np.abs(found.T @ short), np.eye(5), atol=1e-6)
    assert linalg.orthonormal_range(np.zeros((500, 3))).shape == (500, 0)


@pytest.mark.parametrize("values", [np.array([3.0, 4.0]), np.array([1e200, 1e200])])
def test_schatten_norm_does_not_overflow(values):
    assert linalg.schatten_norm(values, 2) == pytest.approx(float(np.hypot(*values)))
    assert linalg.schatten_norm(values, np.inf) == values.max()


def test_eigenvalues_of_wide_factors_come_from_the_gram_matrix(monkeypatch):
    V = np.random.default_rng(0).normal(size=(30, 12)) * np.geomspace(1, 1e-3, 12)
    exact = linalg.gram_eigenvalues(V)
    monkeypatch.setattr(linalg, "WIDE", 5)
    for A in (V, V.T):
        np.testing.assert_allclose(linalg.gram_eigenvalues(A), exact, atol=1e-13 * exact[0])


def test_lowest_pairs_where_lapack_gives_up_on_a_few():
    """A Laplacian of a complete graph at a scale of 1e-6, a little of it changed: found by the adversary."""
    n = 9
    S = 1e-6 * (np.eye(n) - 0.125 * (np.ones((n, n)) - np.eye(n)))
    for change in (0.0, 1e-22, 3e-7, 1.0):
        A = S.copy()
        A[0, 0] += change
        values, vectors = linalg.lowest_pairs(A, 4)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[:4], atol=1e-15 * (1e-6 + change))
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-14 * (1e-6 + change))


def test_lowest_pairs_go_on_by_the_whole_spectrum(monkeypatch):
    A = np.random.default_rng(0).normal(size=(6, 6))
    wanted = linalg.lowest_pairs(A + A.T, 2)

    def fails(*_arguments, **_options):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(linalg.scipy.linalg, "eigh", fails)
    found = linalg.lowest_pairs(A + A.T, 2)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(found[1] * wanted[1], axis=0)), 1.0, atol=1e-9)


@pytest.mark.parametrize("form", ["csr", "coo", "dense"])
def test_absolute_row_sums(form):
    """Of rows without entries, the first and the last among them, and with weights of the columns."""
    A = np.array([[0, 0, 0, 0], [1.0, -2, 0, 4], [0, 0, 0, 0], [0, 0, -8, 0], [0, 0, 0, 0]])
    S = A if form == "dense" else sp.csr_array(A).asformat(form)
    x = np.array([1.0, 10, 100, 1000])
    np.testing.assert_array_equal(linalg.absolute_row_sums(S), [0, 7, 0, 8, 0])
    np.testing.assert_array_equal(linalg.absolute_row_sums(S, x), [0, 4021, 0, 800, 0])
    empty = np.zeros((3, 3)) if form == "dense" else sp.csr_array((3, 3)).asformat(form)
    np.testing.assert_array_equal(linalg.absolute_row_sums(empty), np.zeros(3))


@pytest.mark.parametrize("size", [1, 7, 60])
def test_the_norm_of_a_matrix_without_negative_entries(size):
    rng = np.random.default_rng(size)
    A = np.exp(4 * rng.normal(size=(size, size))) * (rng.random((size, size)) < 0.3)
    A = A + A.T
    exact = np.linalg.norm(A, 2)
    assert exact * (1 - 1e-12) <= linalg.nonnegative_norm(lambda d: A @ d, size) <= 1.2 * exact
    assert linalg.nonnegative_norm(lambda d: 0 * d, size) == 0.0
    assert linalg.nonnegative_norm(lambda d: d * np.inf, size) == np.inf


def test_compiled_inner_products_read_nothing_beyond_their_arrays():
    rng = np.random.default_rng(0)
    row, column = rng.integers(0, 9_000, (2, 20_000))
    values = Incidence.entries(row, column, 9_000)
    V, U = rng.normal(size=(2, 9_000, 5))
    expected = np.einsum("er,er->e", V[row], U[column])
    INNER.load()
    for given in (V, np.asfortranarray(V), np.repeat(V, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(values.of_product(given, U), expected, atol=1e-12)
    with pytest.raises(ValueError, match="operand"):
        values.of_product(V, U[:, :3])
    with pytest.raises(IndexError):
        values.of_product(V[:100], U[:100])
