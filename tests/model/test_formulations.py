"""Hard constraints and unfolding: solved exactly, contradictions named."""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from problems import side_information

import npkl_models as nm


def test_hard_pcp_is_solved_exactly():
    L, pairs = side_information("iris", 40)
    found = nm.hard_pcp(L, pairs).solve()
    assert found.status is nm.Status.OPTIMAL
    K = found.K
    np.testing.assert_allclose(np.diag(K), 1, atol=1e-6)
    np.testing.assert_allclose(K[tuple(pairs.must_link.T)], 1, atol=1e-6)
    np.testing.assert_allclose(K[tuple(pairs.cannot_link.T)], 0, atol=2e-6)
    printed = nm.hard_pcp(L, pairs, reduce=False)  # the same problem, as it stands in the thesis
    assert printed.basis is None
    assert printed.violation(found.V) <= 2e-6
    assert printed.objective_of_factor(found.V) == pytest.approx(found.objective)


@pytest.mark.parametrize("k", [2, 5])
def test_simplex_targets_are_met_by_a_simplex(k):
    """With little cost, k directions with inner products -1 / (k - 1) meet the pairs; smaller ones do not exist."""
    n, y = 4 * k, np.arange(4 * k) % k
    i, j = np.triu_indices(n, 1)
    ends, same = np.stack([i, j], axis=1), y[i] == y[j]
    pairs = nm.Pairs(n, ends[same], ends[~same])
    little = 1e-2 * sp.eye_array(n).tocsr()
    found = nm.pcp(little, pairs, cannot=-1 / (k - 1)).solve()
    assert found.status is nm.Status.OPTIMAL
    np.testing.assert_allclose(found.K, np.where(y[:, None] == y, 1.0, -1 / (k - 1)), atol=0.01)
    if k > 2:  # the mean of all entries of K is at least 0: sum K >= 0
        below = nm.pcp(little, pairs, cannot=-1.0).solve()
        assert below.is_optimal()
        assert below.certificate.bound > 1.0


@pytest.mark.parametrize("backend", ["bcd", "burer_monteiro"])
@pytest.mark.parametrize("size", [0.1, 1.0, 1e6])
def test_a_diagonal_cost_is_a_cost(backend, size):
    """The estimate of the smallest eigenvalue divided by zero where Jacobi's iteration ends at once."""
    pairs = side_information("iris", 12)[1]
    cost = sp.diags_array(size * np.linspace(1.0, 2.0, 12)).tocsr()
    problem = nm.pcp(cost, pairs)
    found = problem.solve(backend)
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(problem.solve("interior", tol=1e-9).objective, rel=1e-5, abs=1e-6)


def test_targets_of_cannot_links_are_those_of_the_exact_sdp():
    L, pairs = side_information("iris", 30)
    problem = nm.pcp(L, pairs, gamma=10.0, cannot=-0.5)
    assert sorted(set(problem.terms[0].target)) == [-0.5, 1.0]
    for stated in (problem, nm.reg_pcp(nm.eigenbasis(L, 6), pairs, cannot=-0.5)):
        exact = stated.solve("sdp", eps=1e-10)
        assert stated.solve().objective == pytest.approx(exact.objective, rel=2e-6)
    assert nm.pcp(L, pairs, cannot=0.0).terms[0].target.min() == 0.0


@pytest.mark.parametrize("bad", [-1.01, 0.01, 2.0, np.nan, "orthogonal", None, True])
def test_targets_that_no_kernel_with_ones_can_have_are_refused(bad):
    L, pairs = side_information("iris", 10)
    for build in (
        lambda: nm.pcp(L, pairs, cannot=bad),
        lambda: nm.reg_pcp(nm.eigenbasis(L, 3), pairs, cannot=bad),
    ):
        with pytest.raises(nm.ProblemError, match="cannot"):
            build()


def test_contradictions_are_named_by_their_chain():
    L = sp.eye_array(6).tocsr()
    pairs = nm.Pairs(6, [(0, 1), (1, 2), (2, 5)], [(0, 5), (3, 4)])
    assert pairs.contradictions() == [[0, 1, 2, 5]]
    with pytest.raises(nm.ProblemError, match="got 1 cannot-links whose points .* joins: 0 - 1 - 2 - 5"):
        nm.hard_pcp(L, pairs)
    assert nm.Pairs(6, [(0, 1)], [(2, 3)]).contradictions() == []


@pytest.mark.parametrize("reduce", [True, False])
def test_mvu_unrolls_an_arc_to_a_straight_line(reduce):
    """Neighbours along a curve: almost the variance of a straight line, and what the other form finds."""
    n = 12
    angle = np.linspace(0, 1.5 * np.pi, n)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 2
    pairs = [(i, i + 1) for i in range(n - 1)]
    problem = nm.mvu(X, 2, reduce=reduce)
    found = problem.solve("burer_monteiro")
    assert found.status is nm.Status.OPTIMAL
    edges = problem.constraints[0].functional.indices
    extra = {tuple(e) for e in np.stack(edges, axis=1).tolist()} - set(pairs)
    assert extra == {(0, 2), (n - 3, n - 1)}  # the ends reach two points inwards, and stay bent
    step = np.linalg.norm(X[1] - X[0])
    line = np.arange(n) * step
    straight = float(np.sum((line - line.mean()) ** 2))
    assert 0.97 * straight < -found.objective < straight
    other = nm.mvu(X, 2, reduce=not reduce).solve("sdp", eps=1e-9)
    assert found.objective == pytest.approx(other.objective, rel=1e-6)
    np.testing.assert_allclose(found.V.sum(axis=0), 0, atol=1e-3)


@pytest.mark.parametrize("backend", ["auto", "interior"])
def test_distances_whose_squares_are_no_numbers_end_in_words(backend):
    """Points of size 1e140: the loss at K = 0 is beyond the range; no warning of numpy reaches the user."""
    X = 1e140 * np.random.default_rng(0).normal(size=(6, 2))
    with contextlib.suppress(nm.NPKLError):
        solution = nm.reg_mvu(X, 2, n_basis=3).solve(backend=backend, time_limit=5)
        assert solution.status is not nm.Status.OPTIMAL
