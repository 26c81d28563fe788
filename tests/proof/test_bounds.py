"""Bounds on the smallest eigenvalue, each as rigorous as it says."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import npkl_models as nm
from npkl_models.kernel import cost_floor
from npkl_models.proof import bounds, factorisation, perron
from npkl_models.proof.eigenbound import Query
from npkl_models.proof.factorisation import ROUGH
from npkl_models.proof.perron import perron_interval

METHODS = {"eigh": "proved", "cholesky": "proved", "lanczos": "probable", "ritz": "estimated"}


def matrix_with_null_factor(n, r, margin, seed):
    """A sparse-ish symmetric S with S V = 0 and spectrum in [margin, 1] on the complement."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.concatenate([np.zeros(r), rng.uniform(margin, 1, n - r)])
    return (Q * values) @ Q.T, Q[:, :r] @ rng.normal(size=(r, r))


@pytest.mark.parametrize("method", METHODS)
@given(n=st.integers(2, 60), r=st.integers(0, 5), margin=st.floats(-0.5, 0.9), seed=st.integers(0, 999))
@settings(max_examples=25)
def test_bounds_are_below_and_say_how_they_are_known(method, n, r, margin, seed):
    r = min(r, n - 1)
    S, V = matrix_with_null_factor(n, r, margin, seed)
    true = float(np.linalg.eigvalsh(S)[0])
    found = bounds.min_eigenvalue(S, V, Query(method, random_state=seed))
    if method == "lanczos":
        assert found.rigour in ("probable", "proved")
    else:
        assert found.rigour == METHODS[method]
    assert found.estimate >= true - 1e-10
    if method == "ritz":
        assert found.lower >= true - 1e-10  # the wrong side: that is why it proves nothing
    else:
        assert found.lower <= true + 1e-12
        # an estimate that is too high by e fails the shifts below e, and the next one is four times as long at most
        longest = 4 * max(ROUGH * found.estimate, found.estimate - true)
        reach = {"lanczos": min(true, 0.0), "cholesky": min(true, found.estimate - longest)}
        reach["cholesky"] = true if true <= 0 else reach["cholesky"]
        assert found.lower >= reach.get(method, true) - 1e-6
    rayleigh = float(found.vector @ S @ found.vector)
    assert rayleigh == pytest.approx(found.estimate, abs=1e-8)
    assert np.linalg.norm(found.vector) == pytest.approx(1)


def test_lanczos_needs_few_steps_for_a_margin_and_tells_when_it_has_too_few(monkeypatch):
    n, r = 3000, 6
    rng = np.random.default_rng(0)
    d = np.concatenate([np.zeros(r), np.linspace(0.05, 1, n - r)])
    S, V = sp.diags_array(d).tocsr(), np.eye(n)[:, :r] @ rng.normal(size=(r, r))
    found = bounds.min_eigenvalue(S, V, Query("lanczos", accuracy=1e-9))
    assert found.rigour == "probable"
    assert found.failure_probability == 1e-6
    assert found.lower >= -1e-9
    monkeypatch.setattr(bounds, "LANCZOS_STEPS", 8)
    early = bounds.min_eigenvalue(S, V, Query("lanczos"))
    assert early.rigour == "probable"  # true all the same, and of no use
    assert -100 < early.lower < -0.1


def test_lanczos_fails_no_more_often_than_it_says():
    """With a failure probability of 0.2 the bound must be wrong in at most about a fifth of the runs."""
    n = 400
    d = np.concatenate([[-0.2], np.linspace(0, 1, n - 1)])
    S = sp.diags_array(d).tocsr()
    wrong = 0
    for seed in range(60):
        query = Query("lanczos", accuracy=0.5, failure_probability=0.2, random_state=seed)
        found = bounds.min_eigenvalue(S, query=query)
        wrong += found.lower > -0.2
    assert wrong <= 20


def test_cholesky_proof_pays_for_rounding():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(300, 5))
    S = np.eye(300) - V @ np.linalg.inv(V.T @ V) @ V.T
    found = bounds.min_eigenvalue(S, V, Query("cholesky"))
    assert found.rigour == "proved"
    assert -1e-9 < found.lower <= np.linalg.eigvalsh(S)[0]


@pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # a strip on purpose
def test_a_sparse_factorisation_proves_where_fill_is_small():
    """A long strip of points: far beyond dense orders, and Lanczos is defeated by its clustered spectrum."""
    n = 12_000
    rng = np.random.default_rng(0)
    L = nm.laplacian(np.column_stack([np.linspace(0, 600, n), rng.random(n)]), 4)
    assert factorisation.can_factorise(L)
    found = bounds.min_eigenvalue(L, np.ones((n, 1)), Query(accuracy=1e-9))
    assert found.rigour == "proved"
    assert -3e-9 <= found.lower <= 0
    indefinite = (L - 0.01 * sp.eye_array(n)).tocsr()
    held = bounds.min_eigenvalue(indefinite, query=Query("cholesky", accuracy=1e-9))
    assert held.rigour == "proved"
    assert -0.0101 <= held.lower <= -0.01
    web = nm.laplacian(rng.normal(size=(n, 8)), 10)  # fills up
    assert not factorisation.can_factorise(web)


@given(n=st.integers(2, 40), band=st.integers(1, 4), shift=st.floats(-1, 3), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_sparse_floors_are_below(n, band, shift, seed):
    rng = np.random.default_rng(seed)
    A = sp.diags_array(
        [rng.normal(size=n - abs(k)) for k in range(min(band, n))], offsets=range(min(band, n))
    )
    S = sp.csc_array(A + A.T)
    true = float(np.linalg.eigvalsh(S.toarray())[0]) + shift
    for floor in (factorisation._sparse_floor(S, shift), factorisation._dense_floor(S, shift)):
        if floor is None:
            assert true <= 1e-12
        else:
            assert -1e-10 <= floor <= max(true, 0.0)
            assert floor <= true


def test_unknown_method():
    with pytest.raises(nm.UnsupportedError, match="unknown eigenvalue method 'magic'"):
        bounds.min_eigenvalue(np.eye(3), query=Query("magic"))


@pytest.mark.parametrize("shift", [0.05, 0.5])
def test_perron_floor_is_a_tight_bound_on_laplacians(shift):
    rng = np.random.default_rng(0)
    for n in (30, 500):
        L = nm.laplacian(rng.normal(size=(n, 2)), 4, shift=shift)
        true = float(np.linalg.eigvalsh(L.toarray())[0])
        floor = perron_interval(L)[0]
        assert 0.98 * true <= floor <= true + 1e-14
    assert perron_interval(-L)[0] == -np.inf


def test_a_singular_laplacian_has_a_proved_floor_after_three_systems(monkeypatch):
    monkeypatch.setattr(perron, "PERRON_STEPS", 4)
    for seed in range(6):
        L = nm.laplacian(np.random.default_rng(seed).normal(size=(500, 2)), 6)
        assert 0 <= perron_interval(L)[0] <= 1e-14


def test_large_costs_have_a_proved_floor():
    """Beyond a full eigendecomposition the scale repair still has its delta."""
    rng = np.random.default_rng(0)
    pairs = nm.Pairs.from_labels(np.arange(900) % 3, 400, 400, 0)
    signed = sp.diags_array(np.full(900, 2.0)) + 0.5 * sp.diags_array(np.ones(899), offsets=1)
    for cost in (nm.laplacian(rng.normal(size=(900, 3)), 5, shift=0.1), (signed + signed.T) * 0.5):
        floor = cost_floor(nm.npkl(cost, pairs))
        assert 0 < floor <= np.linalg.eigvalsh(cost.toarray())[0]
    data = nm.datasets.load("two_gaussians", n=900)
    pairs = nm.Pairs.from_labels(data.y, 540, 540, 0)
    found = nm.npkl(nm.laplacian(data.X, 5, shift=0.1), pairs, loss="hinge").solve(tol=1e-4)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.repair in ("scale", "none needed")


def test_the_floor_of_a_long_path_is_that_of_a_factorisation():
    """Conjugate gradients do not reach its lowest vector, and the bound of ones is rounding."""
    n = 600
    L = sp.diags_array(
        [np.full(n - 1, -1.0), [2.0] * (n - 1) + [1.0], np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
    )
    P = nm.npkl(L, nm.Pairs(n, [(0, 1)], None))
    true = 2 - 2 * np.cos(np.pi / (2 * n + 1))
    assert 0.9 * true < cost_floor(P) <= true


@pytest.mark.parametrize("n", [450, 700])
def test_a_wrong_guess_is_mended_by_the_factorisation(n):
    """Lanczos sees a cluster at zero and misses an eigenvalue below it; a factorisation must not hide that."""
    from npkl_models.proof.eigenbound import EigenBound
    from npkl_models.proof.factorisation import by_cholesky

    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.concatenate([[-6e-5], np.zeros(15), np.linspace(1e-3, 2, n - 16)])
    S = (Q * values) @ Q.T
    S = 0.5 * (S + S.T)
    guess = EigenBound(-np.inf, -1e-15, "estimated", Q[:, 3])
    found = by_cholesky(S, guess, 1e-9)
    assert found.rigour == "proved"
    assert -6.1e-5 <= found.lower <= -6e-5 * (1 - 1e-9)
    assert found.estimate == pytest.approx(-6e-5, rel=1e-3)
    assert abs(found.vector @ Q[:, 0]) > 0.99


@pytest.mark.parametrize("low", [1e-9, 1e-4, 0.3])
def test_a_floor_of_a_positive_definite_matrix(low):
    from npkl_models.proof.factorisation import eigenvalue_floor

    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    G = (Q * np.concatenate([[low], np.linspace(0.5, 2, 59)])) @ Q.T
    assert 0.4 * low <= eigenvalue_floor(0.5 * (G + G.T)) <= low
    assert eigenvalue_floor(np.diag([1.0, -1.0])) == 0.0


def test_a_run_that_is_cut_has_a_bound_that_holds():
    """Every step has one: at a deadline that has passed the first look ends the run."""
    n = 800
    path = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=(-1, 0, 1))
    least = 2 - 2 * np.cos(np.pi / (n + 1))
    whole, cut = (
        bounds.min_eigenvalue(
            sp.csr_array(path), query=Query("lanczos", 1e-9, random_state=0, deadline=deadline)
        )
        for deadline in (np.inf, 0.0)
    )
    assert cut.rigour == "probable"
    assert cut.lower <= whole.lower <= least
    assert cut.lower < -0.01


def test_a_quick_search_for_a_direction_looks_beyond_a_factor_that_is_not_stationary():
    n = 600
    diagonal = 1.0 + np.arange(n) / n
    diagonal[:3] = -1e-3, -1e-3, -1.0  # along both columns of V, and beyond them
    S, V, query = sp.diags_array(diagonal).tocsr(), np.eye(n)[:, :2], Query(accuracy=1e-6, quick=True)
    assert bounds.min_eigenvalue(S, V, query).estimate == pytest.approx(-1e-3)
    found = bounds.min_eigenvalue(S, V, replace(query, method="ritz"))
    assert found.estimate == pytest.approx(-1.0, rel=1e-3)
    assert abs(found.vector[2]) > 0.99


def test_a_factor_that_spans_more_than_half_of_the_space_is_not_deflated():
    deflated = [bounds.Case(sp.eye_array(9), np.eye(9)[:, :r], Query()).basis.shape[1] for r in (4, 5)]
    assert deflated == [4, 0]
