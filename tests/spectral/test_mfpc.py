"""Fixed-point continuation: its stages and starts."""

import numpy as np
import pytest

import npkl_models as nm


def digits(per_class=200, seed=0):
    data = nm.datasets.load("digits")
    chosen = np.concatenate([np.flatnonzero(data.y == c)[:per_class] for c in range(10)])
    return data.X[chosen], data.y[chosen]


def class_pairs(y, per_class=20, per_couple=20, seed=0):
    """So many must-links in each class and cannot-links between every two (thesis, section 3.4)."""
    rng = np.random.default_rng(seed)
    must, cannot = [], []
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    for a, own in enumerate(members):
        couples = np.stack(np.triu_indices(own.size, 1), axis=1)
        must.append(own[couples[rng.choice(len(couples), per_class, replace=False)]])
        for other in members[a + 1 :]:
            codes = rng.choice(own.size * other.size, per_couple, replace=False)
            cannot.append(np.stack([own[codes // other.size], other[codes % other.size]], axis=1))
    return nm.Pairs(y.size, np.concatenate(must), np.concatenate(cannot))


@pytest.fixture(scope="module")
def small_reg_pcp():
    X, y = digits(12)
    return nm.reg_pcp(nm.eigenbasis(nm.laplacian(X, 10), 8), class_pairs(y, 4, 2))


def test_mfpc_stages_and_starts(small_reg_pcp):
    plain = small_reg_pcp.solve("mfpc", continuation=False)
    staged = small_reg_pcp.solve("mfpc")
    assert plain.objective == pytest.approx(staged.objective, rel=1e-6)
    warm = small_reg_pcp.solve("mfpc", start=staged)
    assert warm.iterations < staged.iterations
