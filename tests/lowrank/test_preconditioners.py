"""Soft unfolding by a factor: the graph of the distances as a preconditioner, over sparse centred vectors."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.model.basis import centred_wavelets


@pytest.mark.parametrize("n", [2, 3, 7, 16, 100])
def test_wavelets_span_the_centred_vectors(n):
    order = np.random.default_rng(n).permutation(n)
    basis = centred_wavelets(order)
    Q = basis.dense
    np.testing.assert_allclose(Q.T @ Q, np.eye(n - 1), atol=1e-14)
    np.testing.assert_allclose(Q @ Q.T, np.eye(n) - 1 / n, atol=1e-14)
    assert basis.Q.nnz <= n * (np.ceil(np.log2(n)) + 1)


def test_soft_unfolding_comes_near_the_hard_one():
    """Distances that give a little: no less variance, and nearer and nearer as they stiffen."""
    angle = np.linspace(0, 4, 20)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    hard = nm.mvu(X, 2).solve("interior").objective
    soft = [nm.mvu(X, 2, weight=nu).solve("interior").objective for nu in (1e3, 1e4, 1e5)]
    assert soft[0] < soft[1] < soft[2] < hard + 1e-6 * abs(hard)
    assert soft[2] == pytest.approx(hard, rel=1e-2)
    printed = nm.mvu(X, 2, weight=1e3, reduce=False)
    assert printed.solve("interior").objective == pytest.approx(soft[0], rel=1e-5)
