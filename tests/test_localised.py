"""Low eigenvectors on few points: eliminated, deflated, raised, and corrected for."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import npkl_models as nm
from npkl_models import linalg
from npkl_models.certify import bounds as certificate
from npkl_models.certify import repairs
from npkl_models.linalg import threads
from npkl_models.lowrank.factor import correction
from npkl_models.proof import bounds, lanczos, localised
from npkl_models.proof.deflation import Deflation
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.elimination import Elimination, raise_block, raise_diagonal
from npkl_models.proof.query import Query


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


@pytest.fixture
def beyond_cholesky(monkeypatch):
    """Let 1,200 points be as far beyond dense proofs as a million are."""
    for module in (bounds, certificate):
        monkeypatch.setattr(module, "DENSE_CHOLESKY", 100)
    monkeypatch.setattr(bounds, "can_factorise", lambda S: False)
    monkeypatch.setattr(localised, "ELIMINATED", 0.06)


def test_elimination_is_the_schur_complement():
    S, _, members = weak_groups(200, 3, 6)
    S = S + 0.1 * sp.eye_array(200, format="csr")
    points = np.concatenate(members)
    held = Elimination(S, points)
    held.raise_to(np.zeros(200))
    rest = np.setdiff1d(np.arange(200), points)
    D = S.toarray()
    schur = D[np.ix_(rest, rest)] - D[np.ix_(rest, points)] @ np.linalg.solve(
        D[np.ix_(points, points)], D[np.ix_(points, rest)]
    )
    X = held.within(np.random.default_rng(0).normal(size=(200, 3)))
    np.testing.assert_allclose((held @ X)[rest], schur @ X[rest], atol=1e-12)
    assert not (held @ X)[points].any()
    Y = held.extend(X)
    np.testing.assert_allclose((S @ Y)[points], 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(Y, axis=0), 1)


@given(
    n=st.integers(4, 30), k=st.integers(1, 3), noise=st.floats(0, 0.3), low=st.floats(-0.1, 0.5),
    seed=st.integers(0, 999),
)  # fmt: skip
@settings(max_examples=60)
def test_what_a_deflation_says_of_the_whole_is_below(n, k, noise, low, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    S = (basis * np.concatenate([rng.uniform(-0.01, 0.01, k), rng.uniform(low, 1, n - k)])) @ basis.T
    Q = np.linalg.qr(basis[:, :k] + noise * rng.normal(size=(n, k)) / np.sqrt(n))[0]
    held = Deflation(S, Q, np.inf)
    P = np.linalg.svd(np.eye(n) - Q @ Q.T)[0][:, : n - k]
    c = float(np.linalg.eigvalsh(P.T @ S @ P)[0])
    bound, true = held.whole(c), float(np.linalg.eigvalsh(S)[0])
    assert bound <= true + 1e-12
    by_norm = 0.5 * (held.inner[0] + c - np.hypot(held.inner[0] - c, 2 * held.coupling))
    assert bound >= by_norm - 1e-12
    assert held.whole(-np.inf) == -np.inf


def test_weak_groups_are_seen_sooner_than_by_plain_lanczos(beyond_cholesky, monkeypatch):
    S, V, _ = weak_groups()
    values = np.linalg.eigvalsh(S.toarray())
    assert 0 < values[1] < 1e-4  # a gap that by the Lanczos bound alone asks for thousands of steps
    found = bounds.min_eigenvalue(S, V, Query(accuracy=1e-8))
    assert found.rigour == "probable"
    assert found.failure_probability == 1e-6
    assert -1e-8 <= found.lower <= 0
    assert found.raised is None
    steps = []
    monkeypatch.setattr(lanczos.Recurrence, "step", counted(lanczos.Recurrence.step, steps))
    bounds.min_eigenvalue(S, V, Query(accuracy=1e-8))
    eliminated = len(steps)
    monkeypatch.setattr(
        bounds, "by_elimination", lambda *given: EigenBound(-np.inf, 0.0, "estimated", V[:, 0])
    )
    bounds.min_eigenvalue(S, V, Query(accuracy=1e-8))
    assert len(steps) - eliminated > eliminated


def counted(step, calls):
    """The method, its calls noted."""

    def noted(self):
        calls.append(1)
        return step(self)

    return noted


@pytest.mark.parametrize("depth", [1e-5, 3e-4, 1e-3])
def test_negative_groups_are_raised_as_far_as_allowed(beyond_cholesky, depth):
    S, V, members = weak_groups(weak=1e-3)
    for own in members[:2]:
        S = S - depth * sp.diags_array(np.isin(np.arange(S.shape[0]), own).astype(float))
    S = sp.csr_array(S)
    true = float(np.linalg.eigvalsh(S.toarray())[0])
    price, allowance = np.linspace(0.5, 1.5, S.shape[0]), 0.1
    found = bounds.min_eigenvalue(S, V, Query(accuracy=1e-9, price=price, allowance=allowance))
    raised = np.zeros(S.shape[0]) if found.raised is None else found.raised
    assert (raised >= 0).all()
    assert price @ raised + max(0.0, -found.lower) * price.sum() <= 1.001 * allowance
    after = float(np.linalg.eigvalsh((S + sp.diags_array(raised)).toarray())[0])
    assert found.lower <= after + 1e-12
    assert raised.any() or -true * price.sum() < allowance
    held = bounds.min_eigenvalue(S, V, Query(accuracy=1e-9, price=price, allowance=1e-9, quick=True))
    assert held.raised is None
    assert held.lower <= true + 1e-12
    assert held.estimate < 0
    assert float(held.vector @ (S @ held.vector)) == pytest.approx(held.estimate, abs=1e-9)


def test_an_indefinite_block_is_raised_or_named(beyond_cholesky):
    S, V, members = weak_groups(weak=1e-3)
    S = sp.csr_array(S - 0.05 * sp.diags_array(np.isin(np.arange(S.shape[0]), members[0]).astype(float)))
    price = np.ones(S.shape[0])
    held = Elimination(S, np.concatenate(members))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        held.raise_to(np.zeros(S.shape[0]))
    assert raise_block(held, 1e-3, price, 10.0)
    block = S.toarray()[np.ix_(held.points, held.points)] + np.diag(held.raised[held.points])
    assert np.linalg.eigvalsh(block)[0] > 0
    assert not raise_block(Elimination(S, np.concatenate(members)), 1e-3, price, 1e-6)
    named = bounds.min_eigenvalue(S, V, Query(accuracy=1e-9, quick=True))
    assert named.lower <= np.linalg.eigvalsh(S.toarray())[0]
    assert named.estimate < 0
    assert float(named.vector @ (S @ named.vector)) == pytest.approx(named.estimate, abs=1e-9)


def test_a_singular_block_is_no_crash_and_rounding_is_paid_for(beyond_cholesky):
    S, V, members = weak_groups(groups=3, weak=0.0)  # cut off: the block has a null vector of its own
    held = Elimination(S, np.concatenate(members))
    with pytest.raises(np.linalg.LinAlgError):
        held.raise_to(np.full(S.shape[0], -1e-13))
    low = np.zeros(S.shape[0])
    low[held.points] = 1e-9
    held.raise_to(low)
    near = held.rounding(4.0)
    held.raise_to(1e6 * low)
    assert near > 1e-7 > held.rounding(4.0) > 0
    found = bounds.min_eigenvalue(S, V, Query(accuracy=1e-9))
    assert found.lower <= 1e-12


def test_raising_reaches_its_floor_or_leaves_all_as_it_was():
    S, _, members = weak_groups(300, 4, 6, 1e-3)
    points = np.concatenate(members)
    held = Elimination(sp.csr_array(S + 1e-6 * sp.eye_array(300)), points)
    held.raise_to(np.zeros(300))
    rest = held.within(np.eye(300))[:, : 300 - points.size]
    values, vectors = np.linalg.eigh(rest.T @ (held @ rest))
    W, floor, price = rest @ vectors[:, :2], 2 * values[0], np.ones(300)
    assert values[0] > 0
    assert not raise_diagonal(held, W, floor, price, 1e-12)
    assert not held.raised.any()
    assert raise_diagonal(held, W, floor, price, 10.0)
    assert held.raised.any()
    assert np.linalg.eigvalsh(W.T @ (held @ W))[0] >= 0.9 * floor


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


def outlying(n=900, seed=0):
    """Pcp on two Gaussians with far groups of a few points."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 3)) + 3 * rng.integers(0, 2, (n, 1)), np.zeros((0, 3))])
    for g in range(8):
        X = np.vstack([X, rng.normal(size=(6, 3)) * 0.2 + 9 * np.array([np.cos(g), np.sin(g), g % 2])])
    y = (X[:, 0] > 1.5).astype(int)
    m = X.shape[0]
    return nm.pcp(nm.laplacian(X, 6), nm.Pairs.from_labels(y, m // 2, m // 2, 0))


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


def test_a_factor_of_the_wrong_length_costs_the_bound_nothing_to_first_order(beyond_cholesky):
    P = outlying()
    V = 1.001 * P.solve("burer_monteiro", tol=1e-8).V
    y = P.derivatives(V)
    S = P.slack(y)
    leaning = float(np.sum(V * (S @ V)))
    assert leaning > 0
    z, T = repairs.balanced(P, y, V, S)
    assert abs(float(np.sum(V * (T @ V)))) < 1e-9 * leaning * P.n
    assert abs(P.slack(z) - T).max() < 1e-12
    assert -P.conjugate_sum(z) > -P.conjugate_sum(y) + 0.9 * leaning


def test_corrections_minimise_over_the_span(monkeypatch):
    """With every value exact the correction is the minimum over B, which any other method finds as well."""
    from scipy.optimize import minimize

    P = outlying(120)
    V = P.solve("bcd", max_iter=3, rank=4).V
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(P.n, 3)))[0]
    monkeypatch.setattr(correction, "SUPPORT", -1.0)
    W = correction.correct(P, V, X)
    assert W is not None
    assert np.linalg.matrix_rank(np.hstack([W - V, X]), tol=1e-8) == 3
    other = minimize(
        lambda b: P.objective_of_factor(V + X @ b.reshape(3, -1)), 1e-3 * np.ones(12), method="BFGS"
    )
    assert P.objective_of_factor(W) == pytest.approx(other.fun, rel=1e-7)


def test_corrections_with_local_vectors_descend_and_stop_at_an_optimum():
    P = outlying()
    V = P.solve("bcd", kernel="numpy", max_iter=4, rank=6).V
    values, vectors = np.linalg.eigh(P.slack(P.derivatives(V)).toarray())
    W = correction.correct(P, V, vectors[:, :5])
    assert values[0] < 0
    assert W is not None
    assert P.objective_of_factor(W) < P.objective_of_factor(V)
    best = P.solve("burer_monteiro", tol=1e-8).V
    again = correction.correct(P, best, vectors[:, :5])
    assert again is None or P.objective_of_factor(again) == pytest.approx(
        P.objective_of_factor(best), abs=1e-7
    )
    kinked = nm.npkl(P.cost + 0.1 * sp.eye_array(P.n), nm.Pairs(P.n, [[0, 1]], [[2, 3]]), loss="hinge")
    assert correction.correct(kinked, V, vectors[:, :2]) is None
