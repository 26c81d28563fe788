"""What is predicted of the low-rank backends before they run."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.lowrank.cost import condition
from npkl_models.routes import get_backend


def problem(formulation="npkl", gamma=1.0, shift=0.1, **keywords):
    data = nm.datasets.load("iris")
    L, pairs = nm.laplacian(data.X, 5, shift=shift), nm.Pairs.from_labels(data.y, 90, 90, 0)
    return getattr(nm, formulation)(L, pairs, gamma=gamma, **keywords)


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("shift", [0.1, 0.01, 0.001])
def test_the_condition_is_weight_over_shift(gamma, shift):
    assert condition(problem(gamma=gamma, shift=shift)) == pytest.approx(gamma / shift, rel=0.2)


def test_losses_on_the_diagonal_hold_the_spectrum():
    assert condition(problem("pcp", gamma=100.0, shift=0.001)) < 10


def test_worse_conditions_are_predicted_to_take_longer():
    for name in ("bcd", "burer_monteiro", "admm"):
        seconds = [
            get_backend(name).cost(problem(gamma=g, shift=s)).seconds for g, s in ((1, 0.1), (100, 0.001))
        ]
        assert seconds[1] > 5 * seconds[0]
    known = get_backend("interior")
    assert known.cost(problem(gamma=100.0)).seconds == known.cost(problem(gamma=1.0)).seconds


def test_a_singular_cost_has_a_finite_prediction():
    assert np.isfinite(get_backend("bcd").cost(problem(shift=0.0)).seconds)
    assert np.isfinite(
        get_backend("bcd").cost(nm.npkl(np.zeros((3, 3)), nm.Pairs(3, [(0, 1)], [(1, 2)]))).seconds
    )
