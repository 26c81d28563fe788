"""A run that falls too slowly is ended in favour of another."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.answer.history import Iterate
from npkl_models.solve.handover import solve_in_stages
from npkl_models.solve.pace import Pace


def fed(pace, objective, end=3.0, step=0.01):
    """The second at which a run with that objective over time is ended; None if it is not."""
    for k, seconds in enumerate(np.arange(step, end, step)):
        if pace(Iterate(k, float(seconds), float(objective(seconds)), np.nan, np.nan, 1)):
            return seconds
    return None


@pytest.mark.parametrize("rate", [1.0, 5.0, 20.0])
def test_the_time_to_the_tolerance_is_foretold(rate):
    pace = Pace(other=np.inf, tol=1e-6)
    fed(pace, lambda t: 10 + np.exp(-rate * t), end=0.6)
    wanted = np.log(1 / (1e-6 * 21)) / rate - 0.59
    assert pace.left() == pytest.approx(max(wanted, 0.0), rel=0.05)


def test_a_slow_run_is_ended_as_soon_as_the_other_would_be_done():
    pace = Pace(other=0.5, tol=1e-6)
    assert fed(pace, lambda t: 10 + np.exp(-t)) == pytest.approx(0.5, abs=0.03)
    assert pace.slow


def test_a_quick_run_and_one_that_is_nearly_there_go_on():
    assert fed(Pace(other=0.5, tol=1e-6), lambda t: 10 + np.exp(-30 * t)) is None
    assert fed(Pace(other=0.5, tol=1e-6), lambda t: 10 + 1e-7 * np.exp(-t)) is None


@pytest.mark.parametrize("objective", [lambda t: 10 + t, lambda t: 10 + np.sin(30 * t), lambda t: np.nan])
def test_nothing_is_concluded_from_an_objective_that_does_not_fall(objective):
    pace = Pace(other=0.5, tol=1e-6)
    end = fed(pace, objective, end=1.0)
    assert end is None or pace.slow


def test_the_users_callback_is_asked_first():
    pace = Pace(other=0.1, tol=1e-6, callback=lambda row: row.iteration == 3)
    assert fed(pace, lambda t: 10 + np.exp(-t)) == pytest.approx(0.04)
    assert not pace.slow


def test_the_default_hands_over_for_pace_and_not_as_stopped():
    data = nm.datasets.load("iris")
    L = nm.laplacian(data.X, 5, shift=0.0001)
    problem = nm.npkl(L, nm.Pairs.from_labels(data.y, 90, 90, 0), loss="square", gamma=1e4)
    solution = solve_in_stages(problem, [("admm", 3.0), ("interior", np.inf)], {}, np.inf)
    assert solution.status is nm.Status.OPTIMAL
    assert solution.attempts[0].status in (nm.Status.TIME_LIMIT, nm.Status.OPTIMAL)
    stopped = solve_in_stages(
        problem, [("bcd", 3.0), ("interior", np.inf)], {"callback": lambda row: True}, np.inf
    )
    assert stopped.status is nm.Status.STOPPED
    assert len(stopped.attempts) == 1
