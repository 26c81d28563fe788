"""Low eigenvectors on few points: eliminated, deflated and raised."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import weak_groups

from npkl_models.proof import bounds, lanczos
from npkl_models.proof.eigenbound import EigenBound, Query
from npkl_models.proof.elimination import Elimination, raise_block, raise_diagonal
from npkl_models.proof.recurrence import Deflation


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


def test_a_quick_run_raises_a_low_vector_of_the_factor_if_that_can_be_paid(beyond_cholesky):
    """The range of the factor holds a negative vector on few points, mixed with a vector on all points."""
    S, V, members = weak_groups()
    own = np.zeros(S.shape[0])
    own[members[0]] = 1 / np.sqrt(members[0].size)
    S = S - 3e-5 * sp.diags_array((own > 0).astype(float), format="csr")
    mixed = np.column_stack([V[:, 0] / np.sqrt(V.size) + own, V[:, 0] / np.sqrt(V.size) - own])
    least = float(np.linalg.eigvalsh(S.toarray())[0])
    assert least < -1e-5
    price = np.ones(S.shape[0])
    query = Query(accuracy=1e-8, quick=True, price=price, allowance=0.1, random_state=0)
    found = bounds.min_eigenvalue(S, mixed, query)
    assert found.rigour == "probable"
    assert found.raised is not None
    assert 0 < price @ found.raised <= 0.1
    true = float(np.linalg.eigvalsh((S + sp.diags_array(found.raised)).toarray())[0])
    assert -1e-6 <= found.lower <= true + 1e-12
    poor = bounds.min_eigenvalue(S, mixed, replace(query, allowance=1e-6))
    assert (poor.lower, poor.rigour) == (-np.inf, "estimated")
    assert poor.estimate == pytest.approx(least, rel=0.3)
