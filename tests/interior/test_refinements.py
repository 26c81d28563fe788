"""When a direction of the interior-point method is refined and by how much; ends of its steps."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.interior import path
from npkl_models.interior import schur as systems
from npkl_models.interior.path import Direction, Iterate
from npkl_models.interior.values import values_of
from npkl_models.linalg import dense

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
HINGE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])
UNIT = nm.Constraint(nm.Entries(N, (ALL, ALL)), equal=1.0 + ALL)
FREE, HELD = nm.Problem(COST, HINGE), nm.Problem(COST - 4 * np.eye(N), (HINGE, UNIT))


def corrected(problem, ratio, amiss, monkeypatch):
    """The largest miss of the corrected direction, and whether its dS is that of its dy; a solve leaves ``ratio``."""
    now, seen, exact = Iterate(values_of(problem)), [], systems.raised_cholesky
    now.amiss = amiss
    with monkeypatch.context() as patch:
        patch.setattr(systems, "raised_cholesky", lambda *H: ((1 - ratio) ** -0.5 * exact(*H)[0], True))
        patch.setattr(Iterate, "_centring", lambda self, d, mu: 0.3)
        patch.setattr(Iterate, "_go", lambda self, d: seen.append(d))
        now.advance()
    (d,), box = seen, now.values.box
    ends = (now.high + d.high) * now.above - (now.low + d.low) * now.below
    missed = now.values.of(now.K + d.K) - box.b - box.q * (now.y + d.y) - ends
    np.testing.assert_allclose(
        dense(now.S) + dense(d.S), dense(now.values.slack(now.y + d.y)), atol=1e-8, rtol=1e-8
    )
    return float(np.max(np.abs(missed)))


def test_directions_are_refined_where_equalities_are_nearly_met(monkeypatch):
    """Three times, each leaves the same share, as long as that is no more than half."""
    whole = corrected(HELD, 0.4, 1.0, monkeypatch)
    assert whole > 1e-3
    assert corrected(HELD, 0.4, 1e-3, monkeypatch) == pytest.approx(0.4**3 * whole, rel=1e-6)
    assert corrected(HELD, 0.4, 1.1e-3, monkeypatch) == pytest.approx(whole)
    slow = corrected(HELD, 0.7, 1.0, monkeypatch)
    assert corrected(HELD, 0.7, 0.0, monkeypatch) == pytest.approx(0.7 * slow, rel=1e-6)
    assert corrected(FREE, 0.4, 0.0, monkeypatch) == pytest.approx(
        corrected(FREE, 0.4, 1.0, monkeypatch), rel=1e-9
    )


def test_what_is_rounding_of_the_largest_value_is_not_refined(monkeypatch):
    """The largest value asked for is six, the smallest one half."""
    whole = corrected(HELD, 0.4, 1.0, monkeypatch)
    monkeypatch.setattr(path, "ROUNDED", 1.01 * whole / 6)
    assert corrected(HELD, 0.4, 0.0, monkeypatch) == pytest.approx(whole)
    monkeypatch.setattr(path, "ROUNDED", 0.99 * whole / 6)
    assert corrected(HELD, 0.4, 0.0, monkeypatch) == pytest.approx(0.4 * whole, rel=1e-6)


def test_constants_of_fixed_multipliers_count_once():
    values = values_of(FREE)
    now, other = Iterate(values), Iterate(replace(values, constant=2.5))
    assert other.bound() == pytest.approx(now.bound() - 2.5)
    assert other.objective() == pytest.approx(now.objective() - 2.5)


def still(now):
    zero = np.zeros_like(now.y)
    return Direction(zero, dense(0 * now.S), 0 * now.K, zero, zero)


@pytest.mark.parametrize(("rho", "left"), [(1.5e-14, 0.0), (4e-14, 2e-14)])
def test_a_dual_residual_that_is_rounding_is_none(rho, left, monkeypatch):
    """Half a step leaves half of it; below 1e-14 of the first it counts as zero."""
    now = Iterate(values_of(FREE))
    now.rho = rho
    monkeypatch.setattr(Iterate, "_reach", lambda self, d, share: (1.0, 0.5))
    now._go(still(now))
    assert now.rho == left


@pytest.mark.parametrize("steps", [(0.2, 0.8), (0.8, 0.2)])
def test_the_share_of_the_way_goes_with_the_shorter_of_the_last_steps(steps, monkeypatch):
    now, seen = Iterate(values_of(FREE)), []
    now.steps = steps
    monkeypatch.setattr(Iterate, "_reach", lambda self, d, share: seen.append(share) or (0.5, 0.25))
    now._go(still(now))
    assert seen == [pytest.approx(0.9 + 0.09 * 0.2)]
    assert now.steps == (0.5, 0.25)
    assert now.amiss == 0.5


def test_steps_are_shortened_until_both_cones_are_met(monkeypatch):
    """By a fifth each time; where no step will do it is said."""
    now = Iterate(values_of(FREE))
    monkeypatch.setattr(Iterate, "_reach", lambda self, d, share: (1.0, 1.0))
    d, K, y = still(now), now.K.copy(), now.y.copy()
    d.K = -np.linalg.eigvalsh(K)[0] / 0.6 * np.eye(N)
    slack = np.linalg.eigvalsh(dense(now.values.slack(y)))[0]
    term_way = np.zeros_like(y)
    term_way[0] = 2 * slack / 0.6 * 8
    d.y = term_way
    now._go(d)
    assert now.steps[0] == pytest.approx(0.8**3)
    np.testing.assert_allclose(now.K, K + 0.8**3 * d.K)
    k = np.log(now.steps[1]) / np.log(0.8)
    assert k == pytest.approx(round(k))
    assert np.linalg.eigvalsh(dense(now.S))[0] > 0
    before = now.values.slack(y + now.steps[1] / 0.8 * d.y)
    assert np.linalg.eigvalsh(dense(before))[0] <= 0
    d.K = np.full_like(K, np.nan)
    with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError, match="kernel"):
        now._go(d)
