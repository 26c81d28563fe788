"""Absolute and Huber losses: what a few wrong pairs can do is limited."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm


def on_the_diagonal(loss, target, cost):
    """Min of c k + loss(k; t) over k >= 0, as a problem of two points that do not know each other."""
    every = np.arange(2)
    return nm.Problem(cost * np.eye(2), [nm.LossTerm(nm.Entries(2, (every, every)), loss, target, 1.0)])


@pytest.mark.parametrize(
    ("loss", "cost", "k"),
    [
        (nm.LOSSES["absolute"], 0.5, 2.0),  # the cost is below the weight: the value is the target
        (nm.LOSSES["absolute"], 1.5, 0.0),  # above it: the value is given up
        (nm.huber(), 0.5, 1.75),  # 2 (k - 2) = -c
        (nm.huber(), 1.5, 0.0),  # the slope is at most 2 delta = 1
        (nm.huber(delta=1.0), 1.5, 1.25),
    ],
)
def test_a_value_is_met_lowered_or_given_up(loss, cost, k):
    found = on_the_diagonal(loss, 2.0, cost).solve(tol=1e-9)
    assert found.is_optimal()
    np.testing.assert_allclose(np.diag(found.K), k, atol=1e-5)


@pytest.mark.parametrize("loss", [nm.LOSSES["absolute"], nm.huber(), nm.huber(delta=0.1)])
def test_no_pair_pulls_harder_than_its_limit(loss):
    L, pairs = side_information("iris", 40)
    found = nm.npkl(L, pairs, loss=loss, gamma=0.3).solve(tol=1e-9)
    assert found.is_optimal()
    limit = 0.3 * (1.0 if loss.name == "absolute" else loss.high)
    y = found.certificate.multipliers.terms[0]
    assert np.abs(y).max() <= limit
    assert np.abs(y).max() == pytest.approx(limit)  # some pair reaches it


def test_huber_is_the_envelope_of_the_absolute_loss():
    """The Moreau envelope of 2 delta abs(z - t) with the quadratic (z - s)^2 (Beck 2017, example 6.54)."""
    z, t, delta = np.linspace(-3, 3, 61), np.full(61, 0.5), 0.7
    s = nm.LOSSES["absolute"].prox(z, t, np.full(61, delta))  # of delta abs + (s - z)^2 / 2
    envelope = 2 * delta * nm.LOSSES["absolute"].value(s, t) + (s - z) ** 2
    np.testing.assert_allclose(nm.huber(delta).value(z, t), envelope, atol=1e-14)


def test_a_small_delta_is_the_absolute_loss_and_a_large_one_the_square():
    L, pairs = side_information("iris", 24)
    small = nm.npkl(L, pairs, loss=nm.huber(1e-4), gamma=1.0 / 2e-4).solve()
    absolute = nm.npkl(L, pairs, loss="absolute").solve()
    assert small.objective == pytest.approx(absolute.objective, rel=1e-3)
    large, square = (nm.npkl(L, pairs, loss=loss).solve() for loss in (nm.huber(100.0), "square"))
    assert large.objective == pytest.approx(square.objective, rel=2e-6)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.inf, np.nan, "one"])
def test_a_delta_that_is_no_positive_number_is_refused(delta):
    with pytest.raises(nm.ProblemError, match="delta must be"):
        nm.huber(delta=delta)
