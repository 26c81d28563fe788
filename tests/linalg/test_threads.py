"""Products by blocks of rows, and aligned copies."""

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models import linalg
from npkl_models.linalg import threads


def weak_groups(n=1_200, groups=6, size=8, weak=1e-4, seed=0):
    """Laplacian of a random graph with groups of points on weak edges; its null vector; and the groups."""
    rng = np.random.default_rng(seed)
    bulk = n - groups * size
    ends = rng.integers(0, bulk, (2, 8 * bulk))
    A = sp.coo_array((np.full(8 * bulk, 0.1), ends), shape=(n, n)).tolil()
    members = []
    for g in range(groups):
        own = bulk + g * size + np.arange(size)
        A[np.ix_(own, own)] = 0.2
        A[own[0], rng.integers(bulk)] = weak
        members.append(own)
    A = sp.csr_array(A)
    A = A + A.T
    A.setdiag(0)
    return sp.csr_array(sp.diags_array(A.sum(axis=1)) - A), np.ones((n, 1)), members


@pytest.mark.parametrize("columns", [(), (1,), (5,)])
def test_products_by_blocks_of_rows_are_the_same(columns, monkeypatch):
    S, _, _ = weak_groups(500)
    X = np.random.default_rng(0).normal(size=(500, *columns))
    for count in (1, 2, 3, 7):
        np.testing.assert_array_equal(threads.RowBlocks(S, count) @ X, S @ X)
    monkeypatch.setattr(threads, "WORTHWHILE", 10)
    monkeypatch.setattr(threads, "available", lambda: 2)
    assert isinstance(threads.shared(S), threads.RowBlocks)
    dense = S.toarray()
    assert threads.shared(dense) is dense
    monkeypatch.setattr(threads, "available", lambda: 1)
    assert threads.shared(S) is S


def test_aligned_copies_begin_on_a_line():
    A = np.random.default_rng(0).normal(size=(37, 5))
    B = linalg.aligned(A)
    np.testing.assert_array_equal(A, B)
    assert B.ctypes.data % linalg.LINE == 0
    assert B.flags.c_contiguous
    assert not np.shares_memory(A, B)
