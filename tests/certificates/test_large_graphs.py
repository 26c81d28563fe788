"""Certificates beyond the order of a dense factorisation."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm


def loosely_tied(bulk=1_100, groups=12, size=8, weak=1e-3):
    """Pcp on two clusters, and groups of points that hang on them by weak edges and have no pairs."""
    data = nm.datasets.load("two_gaussians", n=bulk)
    clique = 0.2 * (size * np.eye(size) - np.ones((size, size)))
    L = sp.block_diag([nm.laplacian(data.X, 10), *[clique] * groups], format="csr")
    n = L.shape[0]
    ends = np.column_stack([bulk + size * np.arange(groups), 37 * np.arange(groups)])
    B = sp.csr_array((np.tile([1.0, -1.0], groups), ends.ravel(), 2 * np.arange(groups + 1)), (groups, n))
    pairs = nm.Pairs.from_labels(data.y, bulk // 2, bulk // 2, 0)
    return nm.pcp(L + weak * (B.T @ B), nm.Pairs(n, pairs.must_link, pairs.cannot_link))


@pytest.mark.parametrize("depth", [1e-5, 3e-4])
def test_a_certificate_that_raises_holds(request, depth):
    """Optimal multipliers spoilt on one group: the certificate raises it again, and nothing else."""
    P = loosely_tied()
    best = P.solve("burer_monteiro", tol=1e-8)
    request.getfixturevalue("beyond_cholesky")
    y = P.derivatives(best.V)
    group = np.arange(P.n - 8, P.n)
    y.terms[1][group] -= depth
    assert (P.terms[1].functional.indices[0][group] == group).all()
    spoilt = float(np.linalg.eigvalsh(P.slack(y).toarray())[0])
    found = nm.certify(P, best.V, y, tol=1e-4)
    assert found.rigour == "probable"
    assert found.bound <= best.objective
    assert found.relative_gap <= 1e-4
    assert P.dual_bound(found.multipliers) >= found.bound - 1e-9 * abs(found.bound)
    shifted = P.conjugate_sum(found.multipliers) - P.conjugate_sum(y)
    uniform = -spoilt * P.n  # what the same shift at all points would have cost
    assert spoilt < 0
    assert shifted < 0.5 * uniform or depth < 1e-4
