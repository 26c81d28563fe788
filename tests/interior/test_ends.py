"""When a run of the interior-point method looks at its factor, and how it ends, by its numbers alone."""

from types import SimpleNamespace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.interior import interior, path

Status = nm.Status


def run_at(objective, bound, rho=0.0, amiss=0.0, suffices=False, tol=1e-6):
    """A run whose iterate has these ends; every look at it is counted."""
    run = interior._Run.__new__(interior._Run)
    run.problem = SimpleNamespace(size=lambda *values: 1.0 + sum(map(abs, values)))
    run.options, run.size, run.center, run.best = SimpleNamespace(tol=tol, max_iter=None), 1.0, None, []
    run.threshold, run.smallest, run.at = interior.LOOK * tol, np.inf, 0
    run.iterate = SimpleNamespace(
        objective=lambda: objective, bound=lambda: bound, rho=rho, amiss=amiss, y="y",
        values=SimpleNamespace(multipliers=lambda y: f"of {y}", order=3),
    )  # fmt: skip
    run.looks, run.rows = [], []
    run._look = lambda: run.looks.append(1)
    run.watch = SimpleNamespace(
        record=lambda *row: run.rows.append(row), suffices=lambda found: suffices, heed=lambda status: status
    )
    return run


def test_a_closed_gap_is_looked_at_and_ends_the_run_if_that_suffices():
    """At 0.3 of the tolerance; a gap that is open is not looked at."""
    closed = run_at(1.0, 1.0 - 0.5e-6, suffices=True)
    assert closed._after(1) is Status.OPTIMAL
    assert closed.looks == [1]
    opened = run_at(1.0, 1.0 - 2e-6, suffices=True)
    assert opened._after(1) is None
    assert not opened.looks


def test_a_look_that_does_not_suffice_is_made_again_at_a_tenth_of_the_gap():
    """Not at once: the gap must have fallen first."""
    run = run_at(1.0, 1.0 - 0.3e-6)
    assert run._after(1) is None
    assert run.looks == [1]
    assert run.threshold == pytest.approx(0.1 * 1e-7, rel=1e-3, abs=0)
    run._after(2)
    assert run.looks == [1]


def test_nothing_is_looked_at_while_the_dual_is_infeasible():
    """The bound is none then, and is recorded as such."""
    run = run_at(1.0, 1.0, rho=0.5, suffices=True)
    assert run._after(1) is None
    assert not run.looks
    assert run.center is None
    assert np.isnan(run.rows[0][2])


def test_the_first_dual_feasible_iterate_is_the_center():
    """And stays so."""
    run = run_at(1.0, 0.0)
    run._after(1)
    assert run.center == "of y"
    run.iterate.y = "z"
    run._after(2)
    assert run.center == "of y"
    assert run.rows[0] == (1, 1.0, 0.0, 0.5, 3)


def test_numbers_out_of_range_are_a_failure():
    """At either end."""
    assert run_at(np.nan, 0.0)._after(1) is Status.FAILED
    assert run_at(1.0, np.inf)._after(1) is Status.FAILED


def test_ends_beyond_all_measure_say_that_there_is_no_solution():
    """A bound so high, unless the objective is there too, or an objective so low."""
    assert run_at(1.0, 2e9)._after(1) is Status.INFEASIBLE
    assert run_at(1.0, 0.5e9)._after(1) is None
    assert run_at(2e9, 2.1e9)._after(1) is None
    assert run_at(-2e9, -9e9)._after(1) is Status.UNBOUNDED
    assert run_at(-0.5e9, -9e9)._after(1) is None


def test_a_run_without_progress_ends_with_a_last_look():
    """Twelve iterations after the last smaller gap, 25 where it is wide; values that are amiss, or an
    infeasible dual, excuse it."""
    for bound, most in ((0.0, 25), (0.9, 12)):
        for kind, wanted in (({}, Status.INACCURATE), ({"suffices": True}, Status.OPTIMAL)):
            run = run_at(1.0, bound, **kind)
            for iteration in range(1, most + 1):
                assert run._after(iteration) is None
            assert run._after(most + 1) is wanted
            assert run.looks == [1]
    run = run_at(1.0, -1e3)
    for iteration in range(1, 6):  # objective and bound come nearer, from far
        run.iterate.bound = lambda bound=-1e3 * 2.5**-iteration: bound
        assert run._after(iteration) is None
        assert run.at == iteration
    for kind in ({"rho": 0.5}, {"amiss": 1.0}):
        run = run_at(1.0, 0.0, **kind)
        assert all(run._after(iteration) is None for iteration in range(1, 30))


def test_a_gap_must_fall_by_a_tenth_to_be_progress():
    """A little less is none."""
    for factor, at in ((0.95, 1), (0.85, 2)):
        run = run_at(1.0, 0.0)
        run._after(1)
        run.iterate.bound = lambda f=factor: 1.0 - 2 * f / (1 + f)  # (1 - b) / (2 + b) is f / 2 then
        run._after(2)
        assert run.at == at


@pytest.mark.parametrize("dual", [1.0, 0.5])
def test_a_step_shrinks_what_is_left_of_the_residuals(dual):
    """rho falls by the dual step, what is amiss of the values by the primal one, to zero at a full step."""
    n = 3
    y = np.array([2.0])
    slack = lambda at: np.eye(n) * at.y[0]  # noqa: E731
    now = SimpleNamespace(
        _reach=lambda d, share: (0.25, dual), steps=(1.0, 1.0), y=y, rho=0.8, K=np.eye(n), low=np.ones(1),
        high=np.zeros(1), amiss=0.4,
    )  # fmt: skip
    now.slack = lambda: slack(now)
    d = SimpleNamespace(y=np.array([1.0]), K=np.eye(n), low=np.array([2.0]), high=np.array([4.0]))
    path.Iterate._go(now, d)
    assert now.y[0] == 2.0 + dual
    assert now.rho == pytest.approx(0.8 * (1 - dual))
    assert now.amiss == pytest.approx(0.3)
    assert now.steps == (0.25, dual)
    np.testing.assert_allclose(now.K, 1.25 * np.eye(n))
    assert (now.low[0], now.high[0]) == (1.5, 1.0)
    np.testing.assert_allclose(np.tril(now.L) @ np.tril(now.L).T, now.S)


def test_a_step_that_leaves_the_cone_is_shortened():
    """By a fifth at a time, on either side alone."""
    n = 2
    now = SimpleNamespace(
        _reach=lambda d, share: (1.0, 1.0), steps=(1.0, 1.0), y=np.array([1.0]), rho=0.0, K=np.eye(n),
        low=np.zeros(1), high=np.zeros(1), amiss=0.0,
    )  # fmt: skip
    now.slack = lambda: np.eye(n) * now.y[0]
    d = SimpleNamespace(y=np.array([-1.5]), K=-1.1 * np.eye(n), low=np.zeros(1), high=np.zeros(1))
    path.Iterate._go(now, d)
    assert now.steps == pytest.approx((0.8, 0.64))
    assert now.y[0] == pytest.approx(1 - 1.5 * 0.64)
    d.y = np.array([-1e9])
    with pytest.raises(np.linalg.LinAlgError, match="slack"):
        path.Iterate._go(now, d)
