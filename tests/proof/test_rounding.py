"""What rounding costs a randomised bound: little enough that large graphs can pay, and never too little."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from problems import weak_groups

from npkl_models.certificates import bounds as certificate
from npkl_models.linalg import LowRankUpdate, longest_row, norm_bound, orthonormal_range
from npkl_models.proof import bounds, localised
from npkl_models.proof.eigenbound import Query
from npkl_models.proof.elimination import Elimination
from npkl_models.proof.lanczos import search, smallest_component
from npkl_models.proof.recurrence import Deflation


def sunk(n, depth=1e-3):
    """Groups of points on weak edges, two of them below zero by ``depth``, and the null vector of the rest."""
    S, V, members = weak_groups(n, weak=1e-3)
    low = np.isin(np.arange(n), np.concatenate(members[:2])).astype(float)
    return sp.csr_array(S - depth * sp.diags_array(low)), V, members


@pytest.mark.slow
def test_chances_of_a_large_graph_are_within_reach_of_a_raise(monkeypatch):
    for module, name in (
        (bounds, "DENSE_CHOLESKY"),
        (certificate, "DENSE_CHOLESKY"),
        (certificate, "DENSE_EIGH"),
    ):
        monkeypatch.setattr(module, name, 100)
    monkeypatch.setattr(bounds, "can_factorise", lambda S: False)
    monkeypatch.setattr(localised, "ELIMINATED", 0.03)
    S, V, _ = sunk(2_500)
    price = np.ones(S.shape[0])
    asked = {"accuracy": 1e-9, "price": price, "allowance": 0.1, "random_state": 0}
    for chance in (1e-6, 1e-8):  # the latter as little of a start as a million points and a tenth look
        found = bounds.min_eigenvalue(S, V, Query(failure_probability=chance, **asked))
        assert found.raised is not None
        assert price @ found.raised - found.lower * price.sum() <= 0.1
        assert found.lower <= np.linalg.eigvalsh((S + sp.diags_array(found.raised)).toarray())[0]


def test_an_eliminated_matrix_has_rows_as_short_as_its_own():
    S, _, members = weak_groups(400)
    assert longest_row(Elimination(S, np.concatenate(members))) == longest_row(S) < 60


def exact(S, held, q):
    """T q in long double, from an exact inverse of the block."""
    D, A = S.toarray() + np.diag(held.raised), held.points
    block = D[np.ix_(A, A)]
    X = np.linalg.inv(block).astype(np.longdouble)
    for _ in range(3):  # Newton's iteration for an inverse
        X = X @ (2 * np.eye(A.size) - block.astype(np.longdouble) @ X)
    wide = D.astype(np.longdouble)
    out = wide @ q.astype(np.longdouble)
    out = out - wide[:, A] @ (X @ out[A])
    out[A] = 0
    return out


@pytest.mark.parametrize("raise_by", [2e-3, 1e-1])
def test_what_a_product_loses_is_evaluated(raise_by):
    S, _, members = sunk(300)
    held = Elimination(S, np.concatenate(members))
    raised = np.zeros(300)
    raised[held.points] = raise_by
    held.raise_to(raised)
    T = exact(S, held, np.eye(300)).astype(float)
    values, vectors = np.linalg.eigh(0.5 * (T + T.T))
    low = held.within(vectors[:, np.argsort(values)[:40]])
    assert 0 < held.floor <= np.linalg.eigvalsh(held.block.toarray() + raise_by * np.eye(held.points.size))[0]
    for seed in range(20):
        q = held.within(np.random.default_rng(seed).normal(size=300))
        q /= np.linalg.norm(q)
        product, inside, lost = held.measured(q)
        np.testing.assert_allclose(product, held @ q, atol=1e-13)
        off = np.abs(low.T.astype(np.longdouble) @ (product - exact(S, held, q)))
        allowed = 2**-53 * norm_bound(S) * (8 + longest_row(S)) * (1 + inside) + lost
        assert float(off.max()) <= allowed < 1e-11


def test_nothing_of_a_deflated_basis_is_left_on_eliminated_points():
    S, V, members = weak_groups(600)
    held = Elimination(S, np.concatenate(members))
    raised = np.zeros(600)
    raised[held.points] = 1e-3
    held.raise_to(raised)
    Q = localised._orthonormal(held, np.hstack([V, np.random.default_rng(0).normal(size=(600, 4))]))
    assert not Q[held.points].any()
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-14)
    deflated = Deflation(held, Q, np.inf)
    start = deflated.remove(held.within(np.random.default_rng(1).normal(size=600)))
    _, run = search(deflated, start, 60, 1e-9, lambda *_: False, 1, 4.0)
    assert not run.current[held.points].any()
    assert max(run.lost) < 1e-11


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_below_at_every_look(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.sort(rng.choice([0.0, 1e-9, 1e-3, 0.5, 1.0], n) - 0.3 * (rng.random(n) < 0.1))
    S = (basis * values) @ basis.T
    S = 0.5 * (S + S.T)
    nothing, seen = Deflation(S, np.zeros((n, 0)), np.inf), []
    found, _ = search(
        nothing, rng.normal(size=n), n, smallest_component(n, 1e-6),
        lambda found, _: seen.append(found.lower), 1, norm_bound(S),
    )  # fmt: skip
    true = float(np.linalg.eigvalsh(S)[0])
    assert all(lower <= true + 1e-14 for lower in (*seen, found.lower))


def test_a_run_that_sees_nothing_leaves_the_norm(monkeypatch):
    """A bound of -1e22 would scale the multipliers, and with them a bound on the optimum, down to nothing."""
    S, V, _ = sunk(600)
    true = float(np.linalg.eigvalsh(S.toarray())[0])
    monkeypatch.setattr(bounds, "DENSE_CHOLESKY", 100)
    monkeypatch.setattr(bounds, "can_factorise", lambda S: False)
    found = bounds.min_eigenvalue(S, V, Query(accuracy=1e-9, failure_probability=1e-200))
    assert -1.001 * norm_bound(S) <= found.lower <= true
    assert found.rigour == "proved"


@pytest.mark.parametrize("n", [300_007, 3_000_017])
def test_a_low_rank_update_sums_over_all_points_with_little_rounding(n):
    """S = ww' - I has the eigenvector w; sums of n equal terms err the same way again and again."""
    w = np.full((n, 1), n**-0.5)
    S = LowRankUpdate(-sp.eye_array(n, format="csr"), w, np.ones(1))
    exact = n * Fraction(float(w[0, 0])) ** 2 - 1
    held = Deflation(S, w, np.inf)
    assert abs(held.inner[0] - float(exact)) <= held.rounding(norm_bound(S)) < 1e-11


def test_the_allowance_for_rounding_covers_a_basis_of_many_columns():
    rng = np.random.default_rng(0)
    A = sp.random_array((600, 600), density=0.01, rng=rng, format="csr")
    S = sp.csr_array(A @ A.T)
    V = np.linalg.eigh(S.toarray())[1][:, :80] * 10.0 ** rng.uniform(-5, 0, 80)
    held = Deflation(S, orthonormal_range(V), np.inf)
    q = held.Q.astype(np.longdouble)
    off = q.T @ (S.toarray().astype(np.longdouble) @ q) - np.diag(held.inner)
    assert np.linalg.norm(off.astype(float), 2) <= held.rounding(norm_bound(S)) < 1e-10
