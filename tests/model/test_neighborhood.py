"""Which distances an embedding keeps: of neighbours, of neighbours of one point, of bridges."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import npkl_models as nm
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.model.neighbors import distances_of


def by_definition(X, k, metric):
    """eta_ij = 1 or (eta' eta)_ij = 1 of Weinberger, Sha & Saul, point by point."""
    D = cdist(X, X, metric)
    near = np.argsort(D + np.diag(np.full(len(X), np.inf)), axis=1)[:, :k]
    kept = set()
    for i, row in enumerate(near.tolist()):
        kept |= {tuple(sorted(pair)) for pair in combinations([i, *row], 2)}
    pairs = np.array(sorted(kept))
    return pairs, D[pairs[:, 0], pairs[:, 1]] ** 2


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("sparse", [False, True])
def test_pairs_and_distances_with_angles(metric, sparse):
    X = np.random.default_rng(3).normal(size=(60, 3))
    found = neighborhood(sp.csr_array(X) if sparse else X, 4, metric, "connect", angles=True)
    pairs, squared = by_definition(X, 4, metric)
    np.testing.assert_array_equal(found.pairs, pairs)
    np.testing.assert_allclose(found.squared, squared, rtol=1e-12)


def test_parts_are_joined_whatever_else_is_kept():
    X = np.concatenate([np.random.default_rng(0).normal(size=(12, 2)) + shift for shift in (0, 50, 100)])
    plain = neighborhood(X, 3, "euclidean", "connect")
    more = neighborhood(X, 3, "euclidean", "connect", angles=True)
    assert plain.joined == more.joined == 2
    assert {tuple(pair) for pair in plain.pairs.tolist()} < {tuple(pair) for pair in more.pairs.tolist()}
    np.testing.assert_array_equal(more.pairs, np.unique(more.pairs, axis=0))


@pytest.mark.parametrize("k", [1, 6])
def test_angles_may_add_nothing(k):
    X = np.random.default_rng(0).normal(size=(7, 3))
    plain, more = (neighborhood(X, k, "euclidean", "connect", angles) for angles in (False, True))
    np.testing.assert_array_equal(plain.pairs, more.pairs)
    np.testing.assert_array_equal(plain.squared, more.squared)


def test_what_cannot_be_is_said():
    X = np.random.default_rng(0).normal(size=(7, 3))
    with pytest.raises(nm.ProblemError, match="must be connected"):
        neighborhood(np.concatenate([X, X + 99]), 2, "euclidean", "refuse", angles=True)
    for count in (0, 7, 2.0, "3"):
        with pytest.raises(nm.ProblemError, match="n_neighbors must be"):
            neighborhood(X, count, "euclidean")
    with pytest.raises(nm.UnsupportedError, match="infinity"):
        neighborhood(X, 2, "infinity", angles=True)


def test_distances_come_in_the_order_that_was_asked():
    X = np.random.default_rng(1).normal(size=(40, 5))
    pairs = np.random.default_rng(2).integers(0, 40, size=(100, 2))
    np.testing.assert_allclose(
        distances_of(X, pairs), np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1), atol=1e-7
    )
