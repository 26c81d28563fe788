"""Random starts of certificates: no two matrices share one; how often the bound then fails, counted."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certificates.bounds import generator_of
from npkl_models.proof.bounds import min_eigenvalue
from npkl_models.proof.eigenbound import Query


def draw(*tested):
    return generator_of(0, *tested).standard_normal(4)


def test_everything_that_is_tested_makes_the_start():
    W = np.ones((4, 1))
    A = sp.csr_array(np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0.0]]))
    B = sp.csr_array(np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0.0]]))
    np.testing.assert_array_equal(A.data, B.data)
    np.testing.assert_array_equal(A.indptr, B.indptr)  # the same degrees, another graph
    starts = [draw(A, W), draw(B, W), draw(2 * A, W), draw(A, 2 * W), draw(A, np.ones((2, 2)))]
    starts.append(draw(A.toarray(), W))
    starts.append(generator_of(1, A, W).standard_normal(4))
    for k, one in enumerate(starts):
        assert all(not np.array_equal(one, other) for other in starts[:k])
    np.testing.assert_array_equal(draw(A, W), draw(A.copy(), W.copy()))
    assert not np.array_equal(
        generator_of(None, A).standard_normal(4), generator_of(None, A).standard_normal(4)
    )


def hidden(kind, n, seed):
    """A sparse matrix that is PSD but for one eigenvalue, hidden from the starts of its relatives."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    i = order[np.arange(n)]
    j = order[(np.arange(n) + 1) % n]
    ring = sp.coo_array((np.ones(n), (i, j)), shape=(n, n)).tocsr()
    ring = ring + ring.T
    C = (2.0 + 1e-3) * sp.eye_array(n, format="csr") - ring
    low = {"one": -0.02, "tiny": -1e-4, "deep": -1.0}[kind]
    x = np.zeros(n)
    x[order[: n // 3]] = rng.choice([-1.0, 1.0], n // 3)
    where = np.flatnonzero(x)[:2]
    bump = np.zeros(n)
    bump[where[0]] = 1.0
    return sp.csr_array(C + sp.diags_array((low - 2.0) * bump)), low


@pytest.mark.parametrize("kind", ["one", "tiny", "deep"])
def test_bounds_hold_at_a_fixed_seed(kind):
    """A slice of ``python tests/certificates/chance.py``."""
    from certificates.chance import count

    assert count(kind, 20, seed=0)["false"] == 0


def test_a_component_orthogonal_to_the_old_start():
    """Found by a reviewer: equal degrees shared one start, and a component could be made orthogonal to it."""
    n = 480
    S, _ = hidden("one", n, 3)
    found = min_eigenvalue(S, None, Query("lanczos", 1e-6, 1e-6, generator_of(0, S)))
    assert found.lower <= np.linalg.eigvalsh(S.toarray())[0] + 1e-12
    assert (
        nm.certify(
            nm.Problem(S, nm.LossTerm(nm.Entries(n, ([0], [1])), "square", 0.0)), np.zeros((n, 1))
        ).bound
        <= 0
    )
