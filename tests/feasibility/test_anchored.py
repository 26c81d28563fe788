"""Points that nothing holds: the bound is that of the others, and a kernel near the infimum is found."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import npkl_models as nm
from npkl_models.feasibility.anchored import split
from npkl_models.presolve.growth import grown
from npkl_models.proof.perron import collatz, perron_vector


def two_rings(seed=0, weak=0.0, n=40):
    """Two rings; must-links in the first alone, cannot-links across and inside the second."""
    rng = np.random.default_rng(seed)
    i = np.arange(n // 2)
    A = np.zeros((n, n))
    for start in (0, n // 2):
        A[start + i, start + (i + 1) % (n // 2)] = rng.uniform(0.5, 1.0, n // 2)
    A[0, n // 2] = weak
    L = nm.laplacian(sp.csr_array(A + A.T))
    must = [(0, 5), (3, 9), (n // 2, n // 2 + 3)]
    cannot = [(1, n // 2 + 4), (2, n // 2 + 4), (n // 2 + 1, n // 2 + 8)]
    return L, nm.Pairs(n, must, cannot)


def of_the_second(problem, n=40):
    """The same problem without the first ring."""
    half = n // 2
    L = problem.cost[half:][:, half:]
    return nm.npkl(L, nm.Pairs(half, [(0, 3)], [(1, 8)]), loss=problem.terms[0].loss.name, gamma=10.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weak", [0.0, 1e-18])
def test_the_default_certifies_what_is_reached_at_infinity(loss, weak):
    L, pairs = two_rings(weak=weak)
    problem = nm.npkl(L, pairs, loss=loss, gamma=10.0)
    solution = problem.solve()
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.certificate.repair.startswith(("anchored points", "rational numbers"))
    alone = of_the_second(problem).solve(tol=1e-8)
    assert solution.objective == pytest.approx(alone.objective, rel=1e-5)
    y = solution.certificate.multipliers.terms[0]
    assert np.all(y[[0, 1, 3, 4]] == 0)  # nothing is paid for what touches the first ring
    assert np.linalg.eigvalsh(problem.slack(solution.certificate.multipliers).toarray())[0] >= -1e-14


def test_bounds_hold_at_foreign_multipliers():
    problem = nm.npkl(*two_rings(), loss="hinge", gamma=10.0)
    upper = problem.solve().certificate.upper
    for seed in range(10):
        y = np.random.default_rng(seed).normal(size=6)
        found = nm.certify(problem, np.ones((40, 1)), problem.as_multipliers([y]))
        assert np.isfinite(found.bound)
        assert found.bound <= upper


def test_all_are_held_with_a_shift_or_a_cannot_link_or_a_diagonal():
    L, pairs = two_rings()
    assert split(nm.npkl(L + 0.1 * sp.eye_array(40), pairs, loss="hinge")) is None
    assert split(nm.pcp(L, pairs)) is None
    more = nm.Pairs(40, pairs.must_link, [*pairs.cannot_link.tolist(), (0, 10)])
    assert split(nm.npkl(L, more, loss="hinge")) is None
    assert split(nm.npkl(L, pairs, loss="square")) is None
    assert split(nm.npkl(L, pairs, loss="hinge", row_norm=1.0)) is None


def test_a_cost_that_is_not_psd_is_not_split():
    L, pairs = two_rings()
    assert split(nm.npkl(L - 1e-13 * sp.eye_array(40), pairs, loss="hinge")) is None


def test_strong_edges_to_the_held_points_forbid_a_split():
    L, pairs = two_rings(weak=1e-3)
    assert split(nm.npkl(L, pairs, loss="hinge")) is None


def test_a_split_does_not_keep_its_problem_alive():
    problem = nm.npkl(*two_rings(), loss="hinge")
    assert split(problem) is not None
    gone = weakref.ref(problem)
    del problem
    gc.collect()
    assert gone() is None


def test_what_is_grown_meets_the_wishes():
    problem = nm.npkl(*two_rings(), loss="hinge", gamma=10.0)
    parts = split(problem)
    V = grown(parts, nm.solve(parts.problem, tol=1e-8).V)
    z = problem.values(V)[0]
    assert np.all(z[[0, 1]] >= 1)
    np.testing.assert_array_less(z[[3, 4]], -1 + 1e-9)
    assert float(np.sum(V[:, -1] * (problem.cost @ V[:, -1]))) <= 1e-5


def test_floors_of_the_size_of_rounding_are_proved():
    """Without a shift the Laplacian's numbers are PSD, which a positive vector shows."""
    for normalized in (True, False):
        for seed in range(5):
            X = np.random.default_rng(seed).normal(size=(60, 2))
            L = nm.laplacian(X, 4, normalized=normalized)
            count, labels = connected_components(L)
            for k in range(count):
                C = L[labels == k][:, labels == k]
                x = perron_vector(C)
                assert 0 <= collatz(C, x) <= 1e-12
                assert collatz(C - 1e-12 * sp.eye_array(len(x)), x) < 0
    assert collatz(sp.csr_array(np.ones((3, 3))), np.ones(3)) == -np.inf


@pytest.mark.parametrize("normalized", [True, False])
def test_above_a_floor_nothing_is_split_and_nothing_is_searched(normalized, monkeypatch):
    def searched(*given):
        raise AssertionError("no component is singular")

    monkeypatch.setattr("npkl_models.feasibility.anchored.perron_vector", searched)
    X = np.random.default_rng(0).normal(size=(60, 2))
    pairs = nm.Pairs(60, [(0, 1)], [])
    assert split(nm.npkl(nm.laplacian(X, 4, shift=0.1, normalized=normalized), pairs)) is None
    L = nm.laplacian(X, 4, normalized=normalized)
    assert split(nm.pcp(L, pairs)) is None  # a term on each K_ii
    with pytest.raises(AssertionError, match="no component"):
        split(nm.npkl(L, pairs))
