"""Eigenvectors of a Laplacian as a basis."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm


def test_multiple_eigenvalues_get_a_basis_that_depends_on_the_space_alone():
    ring = sp.diags_array([np.ones(39), np.ones(39), [1.0], [1.0]], offsets=[1, -1, 39, -39])
    L = nm.laplacian(ring.tocsr(), normalized=False)
    basis = nm.eigenbasis(L, 5)  # on a ring all eigenvalues but the first are double
    np.testing.assert_allclose(basis.eigenvalues[[1, 3]], basis.eigenvalues[[2, 4]], atol=1e-12)
    vectors = np.linalg.eigh(L.toarray())[1]
    from npkl_models.model.eigenbasis import _canonical

    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(2, 2)))[0]
    np.testing.assert_allclose(_canonical(vectors[:, 1:3] @ turn), basis.Q[:, 1:3], atol=1e-10)
    cut = nm.eigenbasis(L, 2)  # through a double eigenvalue: still the same first columns
    np.testing.assert_allclose(cut.Q, basis.Q[:, :2], atol=1e-10)


def test_a_disconnected_graph_is_explained():
    two = sp.block_diag([np.ones((4, 4)), np.ones((3, 3))]).tocsr()
    L = nm.laplacian(two, normalized=False)
    with pytest.raises(nm.ProblemError, match=r"got 2 components .*\[4, 3\] points.* raise n_neighbors"):
        nm.eigenbasis(L, 2, skip=1)
    assert nm.eigenbasis(L, 2, skip=2).size == 2
    assert nm.eigenbasis(L, 2).size == 2
    X = np.concatenate([np.zeros((5, 2)), 100 + np.zeros((5, 2))]) + np.arange(10)[:, None] % 5 * 0.01
    for build in (nm.mvu, nm.reg_mvu):
        with pytest.raises(nm.ProblemError, match="must be connected, got 2 components"):
            build(X, 2)


def test_shift_invert_agrees_with_all_eigenvalues(monkeypatch):
    from npkl_models.model import eigenbasis

    L = nm.laplacian(np.random.default_rng(0).normal(size=(300, 2)), 5)
    full = nm.eigenbasis(L, 6)
    monkeypatch.setattr(eigenbasis, "DENSE_SPECTRUM", 10)
    sparse = nm.eigenbasis(L, 6)
    np.testing.assert_allclose(sparse.eigenvalues, full.eigenvalues, atol=1e-10)
    np.testing.assert_allclose(sparse.Q, full.Q, atol=1e-7)


@pytest.mark.parametrize("kind", ["coo", "csc", "bsr", "dia", "dok", "lil"])
def test_a_laplacian_may_be_stored_in_any_way(kind):
    L = nm.laplacian(np.random.default_rng(0).normal(size=(20, 2)), 4)
    for skip in (0, 1):
        wanted, found = nm.eigenbasis(L, 3, skip), nm.eigenbasis(L.asformat(kind), 3, skip)
        np.testing.assert_allclose(found.dense, wanted.dense, atol=1e-12)


def test_bad_bases():
    with pytest.raises(nm.ProblemError, match="orthonormal"):
        nm.Basis(np.ones((4, 2)))
    L = nm.laplacian(np.random.default_rng(0).normal(size=(20, 2)), 4)
    with pytest.raises(nm.ProblemError, match="at most n = 20"):
        nm.eigenbasis(L, 21)
    basis = nm.eigenbasis(L, 3)
    with pytest.raises(nm.ProblemError, match="over the same points, got 20 and 10"):
        nm.reg_pcp(basis, nm.Pairs(10, [(0, 1)], []))
    with pytest.raises(nm.ProblemError, match="nu must be positive"):
        nm.reg_mvu(np.random.default_rng(0).normal(size=(20, 2)), 5, nu=0)
