"""Problems that the adversary has found to raise, kept."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_a_slack_whose_low_eigenvalues_lapack_cannot_separate(columns):
    n = 9
    C = 1e-6 * np.eye(n) - 1.2500000000000002e-07 * (np.ones((n, n)) - np.eye(n))
    problem = nm.Problem(
        sp.csr_array(C),
        (
            nm.LossTerm(nm.Entries(n, ([2], [0])), "squared_hinge", 1.0),
            nm.LossTerm(nm.Entries(n, ([5, 8], [5, 8])), "hinge", [-1.0, 1.0]),
            nm.LossTerm(nm.Entries(n, ([0], [0])), "linear", -1.0, 3e-7),
        ),
    )
    V = np.random.default_rng(0).normal(size=(n, columns)) if columns else np.zeros((n, 1))
    found = nm.certify(problem, V)
    assert found.bound <= found.upper
    assert np.isfinite(found.upper)
