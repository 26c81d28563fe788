"""A run that has done its share, or falls too slowly, is ended in favour of another."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.solve.allowance import Allowance
from npkl_models.solve.portfolio import AUTO


def fed(allowance, objective, end=3.0, step=0.01):
    """The work at which a run with that objective over its work is ended; None if it is not."""
    for work in np.arange(step, end, step):
        if allowance.ends(float(work), float(objective(work))):
            return work
    return None


@pytest.mark.parametrize("rate", [1.0, 5.0, 20.0])
def test_the_time_to_the_tolerance_is_foretold(rate):
    allowance = Allowance(other=1e9, tol=1e-6)
    fed(allowance, lambda t: 10 + np.exp(-rate * t), end=0.6)
    wanted = np.log(1 / (1e-6 * 21)) / rate - 0.59
    assert allowance.left() == pytest.approx(max(wanted, 0.0), rel=0.05)


def test_a_slow_run_is_ended_as_soon_as_the_other_would_be_done():
    allowance = Allowance(other=0.5, tol=1e-6)
    assert fed(allowance, lambda t: 10 + np.exp(-t)) == pytest.approx(0.5, abs=0.03)
    assert allowance.used


def test_a_quick_run_and_one_that_is_nearly_there_go_on():
    assert fed(Allowance(other=0.5, tol=1e-6), lambda t: 10 + np.exp(-30 * t)) is None
    assert fed(Allowance(other=0.5, tol=1e-6), lambda t: 10 + 1e-7 * np.exp(-t)) is None


@pytest.mark.parametrize("objective", [lambda t: 10 + t, lambda t: 10 + np.sin(30 * t), lambda t: np.nan])
def test_nothing_is_concluded_from_an_objective_that_does_not_fall(objective):
    allowance = Allowance(other=0.5, tol=1e-6)
    end = fed(allowance, objective, end=1.0)
    assert end is None or allowance.used


def test_a_share_of_work_ends_a_run_whatever_its_rate():
    assert fed(Allowance(most=0.205), lambda t: 10 + np.exp(-30 * t)) == pytest.approx(0.21)
    assert fed(Allowance(), lambda t: 10 + np.exp(-t)) is None


def test_the_default_hands_over_for_the_rate_of_fall_and_not_as_stopped():
    data = nm.datasets.load("iris")
    L = nm.laplacian(data.X, 5, shift=0.0001)
    problem = nm.npkl(L, nm.Pairs.from_labels(data.y, 90, 90, 0), loss="square", gamma=1e4)
    solution = AUTO.in_stages(problem, {}, np.inf, [("admm", 3.0), ("interior", np.inf)])
    assert solution.status is nm.Status.OPTIMAL
    assert solution.attempts[0].status in (nm.Status.ITERATION_LIMIT, nm.Status.OPTIMAL)
    stopped = AUTO.in_stages(
        problem, {"callback": lambda row: True}, np.inf, [("bcd", 3.0), ("interior", np.inf)]
    )
    assert stopped.status is nm.Status.STOPPED
    assert len(stopped.attempts) == 1
