"""The papers' rank rule gives the papers' ranks."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.lowrank.factor.rank import starting_factor
from npkl_models.solve.options import FactorOptions


@pytest.mark.parametrize(("n", "rank"), [(100, 25), (150, 31), (1605, 103), (2265, 123)])
def test_table_1_of_hu_and_kwok_2013(n, rank):
    """Chessboard and double spiral, iris, a1a and a2a: 0.6 n + 0.6 n pairs, both orders, and the diagonal."""
    rng = np.random.default_rng(0)
    L = nm.laplacian(rng.normal(size=(n, 2)), 5)
    pairs = nm.Pairs.from_labels(rng.integers(0, 2, n), round(0.6 * n), round(0.6 * n), 0)
    V = starting_factor(nm.pcp(L, pairs), FactorOptions(rank="pataki"))
    assert V.shape == (n, rank)


def test_without_a_diagonal_pairs_count_once():
    """Pataki's bound for so many equations; Zhuang, Tsang & Hoi (2011). Row norms are no values."""
    L = nm.laplacian(np.random.default_rng(0).normal(size=(50, 2)), 5, shift=0.1)
    pairs = nm.Pairs.from_labels(np.arange(50) % 2, 10, 11, 0)
    for problem in (nm.npkl(L, pairs), nm.npkl(L, pairs, row_norm=1.0)):
        assert starting_factor(problem, FactorOptions(rank="pataki")).shape == (50, 6)
