"""Perron vectors, deflations, recurrences, floors: each against dense algebra or a closed form."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from adversary.exact import is_psd

from npkl_models.linalg import UNIT, LowRankUpdate
from npkl_models.proof import bounds, eigenbound, factorisation, lanczos, perron, positive
from npkl_models.proof.recurrence import Deflation, Recurrence


def graph(n, seed=0, shift=0.0):
    """A connected Laplacian plus a shift."""
    rng = np.random.default_rng(seed)
    A = np.diag(rng.uniform(0.5, 1, n - 1), 1) + np.triu(rng.uniform(size=(n, n)) < 0.2, 2)
    A = A + A.T
    return sp.csr_array(np.diag(A.sum(axis=1) + shift) - A)


def symmetric(n, low, high, seed=0):
    rng = np.random.default_rng(seed)
    Q, values = np.linalg.qr(rng.normal(size=(n, n)))[0], np.linspace(low, high, n)
    S = (Q * values) @ Q.T
    return 0.5 * (S + S.T), Q, values


@pytest.mark.parametrize("n", [2, 5, 30])
def test_a_perron_vector_is_the_lowest_eigenvector(n):
    uneven = sp.csr_array(
        sp.diags_array(np.arange(1.0, n + 1)) @ graph(n) @ sp.diags_array(np.arange(1.0, n + 1))
    )
    for C in (graph(n), uneven, graph(n, 1, 0.3)):
        x = perron.perron_vector(C)
        lowest = np.linalg.eigh(C.toarray())[1][:, 0]
        assert np.linalg.norm(x) == pytest.approx(1)
        assert (x > 0).all()
        np.testing.assert_allclose(x, np.abs(lowest), atol=1e-6)
        low = np.linalg.eigvalsh(C.toarray())[0]
        found = perron.collatz(C, x)
        assert found <= low + 1e-12
        assert found >= low - 1e-9 * n**2


def test_no_perron_vector_where_the_signs_do_not_fit():
    np.testing.assert_array_equal(perron.perron_vector(sp.csr_array([[0.0]])), [1.0])
    assert perron.perron_vector(sp.csr_array([[1.0, 0.5], [0.5, 1.0]])) is None
    assert perron.perron_vector(sp.csr_array([[0.0, -1.0], [-1.0, 1.0]])) is None
    assert perron.perron_interval(sp.csr_array([[1.0, 0.5], [0.5, 1.0]]))[0] == -np.inf
    assert perron.collatz(sp.csr_array([[1.0, 0.5], [0.5, 1.0]]), np.ones(2)) == -np.inf
    assert perron.collatz(sp.csr_array([[1.0, -0.5], [-0.5, 1.0]]), np.array([1.0, 0.0])) == -np.inf


def test_collatz_is_the_least_quotient_but_for_rounding():
    rng = np.random.default_rng(0)
    for seed in range(10):
        C, x = graph(12, seed, rng.normal()), rng.uniform(0.1, 2, 12)
        exact = np.min((C.toarray().astype(np.longdouble) @ x.astype(np.longdouble)) / x)
        found = perron.collatz(C, x)
        assert exact - 50 * UNIT * np.max((abs(C) @ x) / x) <= found <= exact
        assert found <= np.linalg.eigvalsh(C.toarray())[0]


@pytest.mark.parametrize("n", [7, 999, 1_000, 1_001, 60_123])
def test_a_deflation_knows_what_it_leaves_in_its_range(n):
    """The bound grows with the root of n: n units of roundoff lose certificates at a million points."""
    from npkl_models.linalg import summed

    rng = np.random.default_rng(n)
    Q, x = np.linalg.qr(rng.normal(size=(n, 3)))[0], rng.normal(size=n)
    held = Deflation(sp.eye_array(n, format="csr"), Q, np.inf)
    wide = held.Q.astype(np.longdouble)
    np.testing.assert_allclose(summed(held.Q, x), (wide.T @ x).astype(float), rtol=0, atol=1e-13 * n**0.5)
    left = np.linalg.norm((wide.T @ held.remove(x)).astype(float)) / np.linalg.norm(x)
    assert left <= held.left <= 4 * (64 + 2 * n**0.5 + 30) * UNIT
    bent = Deflation(sp.eye_array(n, format="csr"), Q * (1 + 1e-9), np.inf)
    assert np.linalg.norm(bent.Q.T @ bent.remove(x)) / np.linalg.norm(x) <= bent.left
    assert bent.left > 1e-9


@pytest.mark.parametrize("n", [40, 500])
def test_the_rounding_of_a_sparse_product_is_bounded(n):
    from npkl_models.proof.recurrence import _of_product

    rng = np.random.default_rng(n)
    S = sp.random_array((n, n), density=8 / n, rng=rng, data_sampler=rng.standard_normal)
    S = sp.csr_array(S + S.T)
    q = rng.normal(size=n)
    wide = S.astype(np.longdouble) @ q.astype(np.longdouble)
    error = float(np.linalg.norm((S @ q - wide).astype(float)) / np.linalg.norm(q))
    bound, upper = _of_product(S, np.inf), float(abs(S).sum(axis=1).max())
    longest = int(np.diff(S.indptr).max())
    assert _of_product(S * 1e-200, np.inf) == pytest.approx(1e-200 * bound)
    assert _of_product(S * 1e200, np.inf) == pytest.approx(1e200 * bound)
    assert _of_product(S * 0.0, 1.0) == 0.0
    assert 0 < error <= bound <= 1.02 * (longest + 2) * UNIT * upper
    assert bound >= UNIT * float(np.linalg.norm(abs(S).toarray(), 2))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_the_recurrence_is_a_tridiagonal_matrix_of_the_complement(exact, kept, monkeypatch):
    from npkl_models.proof import recurrence

    if not exact:
        monkeypatch.setattr(recurrence, "REORTHOGONALISED", 0)
    if not kept:
        monkeypatch.setattr(recurrence, "KEPT", 0)
    n, steps = 60, 20
    S, _, _ = symmetric(n, 0.0, 1.0)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(n, 3)))[0]
    held = Deflation(S, Q, np.inf)
    start = held.remove(np.random.default_rng(2).normal(size=n))
    run = Recurrence(held, start, steps, 1.5)
    left = [run.step() for _ in range(steps)]
    assert (run.blocks is not None) == (kept and not exact)
    assert left == run.beta
    X = run.combine(np.eye(steps))
    tolerance = 1e-10 if exact or not kept else 1e-6
    np.testing.assert_allclose(X.T @ X, np.eye(steps), atol=max(tolerance, 1e-6 if not exact else 0))
    np.testing.assert_allclose(Q.T @ X, 0, atol=tolerance)
    np.testing.assert_allclose(X[:, 0], start / np.linalg.norm(start), atol=tolerance)
    T = np.diag(run.alpha) + np.diag(run.beta[:-1], 1) + np.diag(run.beta[:-1], -1)
    P = np.eye(n) - Q @ Q.T
    np.testing.assert_allclose(X.T @ P @ S @ P @ X, T, atol=max(tolerance, 1e-6))
    for j in range(steps):
        following = run.beta[j] * X[:, j + 1] if j + 1 < steps else 0.0 * X[:, j]
        error = P @ (S @ X[:, j]) - X[:, : j + 1] @ T[: j + 1, j] - following
        assert j + 1 == steps or np.linalg.norm(error) <= max(run.lost[j], 0 if exact or not kept else 1e-6)
        assert run.lost[j] <= (8 + n + 60 + (100 if exact else 0)) * UNIT * 1.5


@pytest.mark.parametrize("exponent", [-300, -150, 150, 300])
@pytest.mark.parametrize("method", ["eigh", "cholesky", "lanczos", "auto"])
def test_numbers_near_the_end_of_the_range_have_the_same_bounds(exponent, method):
    S, _, _ = symmetric(20, -0.5, 1.0)
    wide = LowRankUpdate(sp.csr_array(S), np.eye(20)[:, :1], np.array([0.25]))
    for A, scaled in (
        (S, S * 2.0**exponent),
        (wide, LowRankUpdate(wide.S * 2.0**exponent, wide.W, wide.mu * 2.0**exponent)),
    ):
        own = bounds.min_eigenvalue(A, None, eigenbound.Query(method, random_state=0))
        found = bounds.min_eigenvalue(scaled, None, eigenbound.Query(method, random_state=0))
        assert found.lower == pytest.approx(own.lower * 2.0**exponent, rel=1e-9, abs=0)
        assert found.estimate == pytest.approx(own.estimate * 2.0**exponent, rel=1e-9, abs=0)


@pytest.mark.parametrize("low", [-2.0, 0.0, 1e-3, 1.0])
def test_a_proof_is_below_and_no_further_than_rounding(low):
    S, _, _ = symmetric(50, low, 3.0)
    true = np.linalg.eigvalsh(S)[0]
    found = factorisation.by_eigh(S)
    assert true - 1e-11 <= found.lower <= true
    assert found.estimate == pytest.approx(true, abs=1e-12)
    assert abs(found.vector @ S @ found.vector - true) < 1e-12
    for shift in (0.5 - low, 1e-9 - low):
        for floor in (
            factorisation._dense_floor(S, shift),
            factorisation._sparse_floor(sp.csc_array(S), shift),
        ):
            assert -1e-10 <= floor <= 0
    assert factorisation._dense_floor(S, -low - 1e-9) is None
    assert factorisation._sparse_floor(sp.csc_array(S), -low - 1e-9) is None


def test_rows_with_many_entries_come_last():
    """Two rows that touch all others would make the envelope of any order that begins with them full."""
    n = 20_000
    banded = sp.diags_array([-np.ones(n - 1), 3 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    full = sp.csr_array(np.full((2, n), 1e-3))
    S = sp.csr_array(sp.block_array([[sp.eye_array(2) * 100, full], [full.T, banded]]))
    order = factorisation.sparse_order(S)
    assert set(order[-2:].tolist()) == {0, 1}
    assert sorted(order) == list(range(n + 2))
    found = factorisation.by_cholesky(
        S, eigenbound.EigenBound(-np.inf, 1.0, "estimated", np.zeros(n + 2)), 1e-6
    )
    assert found.rigour == "proved"
    assert 0.9 < found.lower <= 1.0 + 1e-6


def test_the_component_of_a_random_start_is_as_rare_as_is_said():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 100):
        X = rng.normal(size=(20_000, n))
        component = np.abs(X[:, 0]) / np.linalg.norm(X, axis=1)
        share = np.mean(component <= lanczos.smallest_component(n, 0.2))
        assert share <= 0.22
        assert n == 1 or share >= 0.1


@pytest.mark.parametrize("lost", [0.0, 1e-6])
def test_the_bound_of_a_run_is_where_the_start_would_have_too_small_a_component(lost):
    rng = np.random.default_rng(0)
    alpha, beta = list(rng.uniform(1, 2, 12)), list(rng.uniform(0.2, 0.4, 12))
    component = 1e-3
    lam = lanczos._lowest(alpha, beta, lost, component)
    T = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
    theta = np.linalg.eigvalsh(T)
    assert lam < theta[0]

    def shown(at):
        return np.prod(beta) / np.prod(theta - at) + lost * np.linalg.norm(
            np.linalg.solve(T - at * np.eye(12), np.eye(12)[0])
        )

    assert shown(lam) <= component * (1 + 1e-6)
    assert shown(lam + 1e-6 * (theta[0] - lam)) >= component * (1 - 1e-4)


@pytest.mark.parametrize("count", [1, 5, 30])
def test_the_positive_part_is_the_whole_of_it(count, monkeypatch):
    S, _, values = symmetric(80, -1.0, 1.0)
    S = S - np.sort(values)[-count - 1] * np.eye(80) if count < 80 else S
    w, X = np.linalg.eigh(S)
    wanted = (X * np.maximum(w, 0)) @ X.T
    for given in ({}, {"lanczos": True}, {"lanczos": True, "guess": count}):
        part = positive.positive_part(S, **given)
        np.testing.assert_allclose((part.vectors * part.values) @ part.vectors.T, wanted, atol=1e-9)
        assert part.complete
        assert part.tail == 0.0
        assert (np.diff(part.values) <= 0).all()
    few = positive.positive_part(S, most=11, lanczos=True)
    if count > 11:
        assert not few.complete
        assert few.values.size == 11
        assert few.tail == pytest.approx(few.values[-1])
        assert few.tail >= w[-12] - 1e-9


@pytest.mark.parametrize("kind", ["trace", "rows", "sparse"])
def test_floors_of_pairs_that_are_nearly_singular_hold_in_rational_numbers(kind, monkeypatch):
    """Also of pairs that are indefinite, and whose factorisation succeeds."""
    monkeypatch.setattr(factorisation, "LARGE", 1 if kind == "rows" else 400)
    indefinite = 0
    for a, b in np.random.default_rng(0).uniform(0.5, 2, (300, 2)):
        S = np.array([[a, b], [b, np.nextafter(b * b / a, 9.0)]])
        sparse = kind == "sparse"
        found = (
            factorisation._sparse_floor(sp.csc_array(S), 0.0)
            if sparse
            else factorisation._dense_floor(S, 0.0)
        )
        if found is not None:
            for low in (found, 0.0):
                psd = is_psd([[Fraction(S[i, j]) - (i == j) * Fraction(low) for j in (0, 1)] for i in (0, 1)])
                assert psd or low == 0.0
            indefinite += not psd
    assert indefinite


def test_a_sparse_floor_is_that_of_the_factors_whatever_they_are(monkeypatch):
    own, one = factorisation.definite_lu, sp.eye_array(3, format="csc")
    assert factorisation._sparse_floor(one, 0.0) <= -4 * UNIT  # the product of the factors is rounded, too
    monkeypatch.setattr(factorisation, "definite_lu", lambda A, order: own(sp.csc_array(2 * A), order))
    assert factorisation._sparse_floor(one, 0.0) <= -1
