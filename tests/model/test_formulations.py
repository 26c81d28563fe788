"""Hard constraints and unfolding: solved exactly, contradictions named."""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from problems import side_information

import npkl_models as nm


@pytest.mark.parametrize("backend", ["sdp", "sdp_dual", "burer_monteiro", "hybrid"])
def test_hard_pcp_is_solved_exactly(backend):
    L, pairs = side_information("iris", 40)
    problem = nm.hard_pcp(L, pairs)
    found = problem.solve(backend)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.certifies(1e-6)
    assert found.objective == pytest.approx(problem.solve("sdp", eps=1e-10).objective, rel=2e-6)
    K = found.K
    np.testing.assert_allclose(np.diag(K), 1, atol=1e-6)
    np.testing.assert_allclose(K[tuple(pairs.must_link.T)], 1, atol=1e-6)
    np.testing.assert_allclose(K[tuple(pairs.cannot_link.T)], 0, atol=2e-6)
    printed = nm.hard_pcp(L, pairs, reduce=False)  # the same problem, as it stands in the thesis
    assert printed.basis is None
    assert printed.violation(found.V) <= 2e-6
    assert printed.objective_of_factor(found.V) == pytest.approx(found.objective)


def test_contradictions_are_named_by_their_chain():
    L = sp.eye_array(6).tocsr()
    pairs = nm.Pairs(6, [(0, 1), (1, 2), (2, 5)], [(0, 5), (3, 4)])
    assert pairs.contradictions() == [[0, 1, 2, 5]]
    with pytest.raises(nm.ProblemError, match="got 1 cannot-links whose points .* joins: 0 - 1 - 2 - 5"):
        nm.hard_pcp(L, pairs)
    assert nm.Pairs(6, [(0, 1)], [(2, 3)]).contradictions() == []


@pytest.mark.parametrize("backend", ["sdp", "burer_monteiro", "hybrid"])
@pytest.mark.parametrize("reduce", [True, False])
def test_mvu_unrolls_an_arc_to_a_straight_line(backend, reduce):
    """Neighbours along a curve: almost the variance of a straight line, and what the other form finds."""
    n = 12
    angle = np.linspace(0, 1.5 * np.pi, n)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 2
    pairs = [(i, i + 1) for i in range(n - 1)]
    problem = nm.mvu(X, 2, reduce=reduce)
    found = problem.solve(backend)
    assert found.status is nm.Status.OPTIMAL
    edges = problem.equalities[0].functional.indices
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
