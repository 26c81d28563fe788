"""Where directions of recession come from: low vectors of slacks and a search; and when any is looked for."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import recession
from npkl_models.proof.eigenbound import EigenBound

N = 4
EYE = np.eye(N)
FREE = nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 1.0)


def test_directions_are_the_point_and_low_vectors_of_two_slacks(monkeypatch):
    """Of the slack without multipliers and of that at the point; and of both where what is a square rests."""
    problem = nm.Problem(
        np.diag([1.0, 2, -3, 4]), (FREE, nm.Constraint(nm.Entries(N, ([2], [2])), equal=1.0))
    )
    V, seen = np.ones((N, 1)), []
    low = lambda S: seen.append(S.toarray()) or EigenBound(0.0, 0.0, "proved", EYE[3])  # noqa: E731
    monkeypatch.setattr(recession, "min_eigenvalue", low)
    found = recession._directions(problem, V)
    assert len(found) == 6
    np.testing.assert_array_equal(found[0], V)
    np.testing.assert_array_equal(found[1], EYE[:, 3:])
    np.testing.assert_allclose(np.abs(found[2]), EYE[:, :1], atol=1e-12)
    np.testing.assert_array_equal(found[-1], EYE)
    np.testing.assert_allclose(seen[0], problem.cost.toarray())
    np.testing.assert_allclose(seen[1], problem.slack(problem.derivatives(V)).toarray())
    assert len(recession._directions(problem, 0 * V)) == 5
    free = nm.Problem(np.diag([1.0, 2, -3, 4]), FREE)
    assert len(recession._directions(free, V)) == 4


def test_what_may_not_grow_spans_what_is_kept_still():
    squares = nm.LossTerm(nm.SquaredDistances(N, ([0], [1])), "square", 0.0)
    large = nm.Problem(EYE, (squares, nm.Constraint(nm.Entries(N, ([2, 0], [2, 3])), equal=0.0)))
    N_ = recession._kept_still(large)
    wanted = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1.0]])
    np.testing.assert_allclose(N_ @ N_.T, wanted, atol=1e-9)
    some = nm.LossTerm(nm.Entries(N, ([0, 0], [0, 1])), "square", 0.0)
    assert recession._kept_still(nm.Problem(EYE, some)).shape == (N, 3)
    assert recession._kept_still(nm.Problem(EYE, FREE)) is None
    assert (
        recession._kept_still(nm.Problem(EYE, nm.LossTerm(nm.Entries(N, ([0], [0])), "hinge", 1.0))) is None
    )


def test_a_search_ends_at_the_lowest_rate_that_nothing_stops():
    """Where K_33 must rest the lowest eigenvector is the next one; a price makes it rest."""
    cost = np.diag([1.0, 0.5, -1.0, -2.0])
    stop = nm.LossTerm(nm.Entries(N, ([3], [3])), "square", 0.0)
    D = recession._searched(nm.Problem(cost, stop))
    np.testing.assert_allclose(D @ D.T, np.diag([0, 0, 1.0, 0]), atol=2e-2)
    assert np.linalg.norm(D) == pytest.approx(1)
    gain = nm.LossTerm(nm.Entries(N, ([0], [0])), "linear", 1.0, 4.0)
    D = recession._searched(nm.Problem(cost, (stop, gain), nm.TracePower(1, penalty=0.25)))
    np.testing.assert_allclose(D @ D.T, np.diag([1.0, 0, 0, 0]), atol=2e-2)


def test_unbounded_asks_for_a_feasible_kernel_and_no_bound(monkeypatch):
    cost = sp.csr_array(-EYE)
    assert recession.unbounded(nm.Problem(cost, FREE))
    assert recession.unbounded(nm.Problem(cost, FREE), np.full((N, 1), np.nan))
    assert not recession.unbounded(nm.Problem(EYE, FREE))
    assert not recession.unbounded(nm.Problem(cost, FREE, nm.TracePower(1, bound=1.0)))
    assert not recession.unbounded(nm.Problem(cost, FREE, nm.TracePower(2, penalty=1.0)))
    assert not recession.unbounded(nm.Problem(cost, FREE, nm.RowNormBound(1.0)))
    no = nm.Constraint(nm.Entries(N, ([0], [0])), equal=-1.0)
    assert not recession.unbounded(nm.Problem(cost, (FREE, no)))
    assert recession.unbounded(nm.Problem(cost, (FREE, nm.Constraint(nm.Entries(N, ([0], [0])), equal=1.0))))
    tried = []
    monkeypatch.setattr(recession, "_falls", lambda p, D, still: tried.append(still))
    assert not recession.unbounded(nm.Problem(cost, FREE))
    assert tried[-4:] == list(recession.STILL)
    monkeypatch.setattr(recession, "SEARCHED", 3)
    before = len(tried)
    assert not recession.unbounded(nm.Problem(cost, FREE))
    assert len(tried) - before == before - 4


def test_the_rate_of_the_search_is_that_of_a_factor_of_length_one(monkeypatch):
    """Slopes times values where multipliers end, half of price times unit times squares where they do not."""
    terms = [
        nm.LossTerm(nm.Entries(N, ([0, 2], [1, 2])), kind, [1.0, -1.0], [2.0, 3.0])
        for kind in ("hinge", "square", "squared_hinge", "linear")
    ]
    equal = nm.Constraint(nm.SquaredDistances(N, ([1], [3])), equal=1.0)
    problem = nm.Problem(np.diag([8.0, 2, -3, 4]), (*terms, equal), nm.TracePower(1, penalty=0.5))
    starts, rng = [], np.random.default_rng(1)

    def seen(rate, x, args, **options):
        starts.append(x)
        assert options["jac"]
        for _ in range(3):
            at = rng.normal(size=16)
            value, gradient = rate(at, *args)
            W = at.reshape(N, 4)
            V = W / np.linalg.norm(W)
            wanted = np.sum(V * (problem.cost @ V)) + 0.5
            ends = [(t.functional, *t.loss.domain(t.target, t.weight)) for t in terms]
            for f, low, high in (*ends, (equal.functional, np.array([-np.inf]), np.array([np.inf]))):
                for z, a, b in zip(f.value_of_factor(V), low, high, strict=True):
                    end = b if z > 0 else a
                    wanted += end * z if np.isfinite(end) else 0.5 * args[0] * problem.cost_unit * z * z
            assert value == pytest.approx(wanted)
            for k in range(16):
                step = 1e-6 * np.eye(16)[k]
                slope = (rate(at + step, *args)[0] - rate(at - step, *args)[0]) / 2e-6
                assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-5 * args[0])
        return SimpleNamespace(x=np.full(16, 5.0) if len(starts) < 3 else np.full(16, np.nan))

    monkeypatch.setattr("scipy.optimize.minimize", seen)
    D = recession._searched(problem)
    assert len(starts) == 3
    np.testing.assert_allclose(D, 0.25)
    np.testing.assert_allclose(starts[1], 0.25)


def test_points_that_are_not_finite_and_slacks_that_are_not_are_left_out(monkeypatch):
    problem, seen = nm.Problem(-EYE, FREE), []
    monkeypatch.setattr(recession, "_directions", lambda p, V: seen.append(V) or [])
    monkeypatch.setattr(recession, "_searched", lambda p: EYE[:, :1])
    bad = np.array([[1.0], [np.nan], [0], [0]])
    assert recession.unbounded(problem, bad)
    assert recession.unbounded(problem, EYE[:, :2])
    np.testing.assert_array_equal(seen[0], np.zeros((N, 1)))
    np.testing.assert_array_equal(seen[1], EYE[:, :2])
