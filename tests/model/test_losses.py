"""The faces of every loss, played against each other."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from npkl_models import LOSSES, UnsupportedError
from npkl_models.model.losses import get_loss

SEPARABLE = {name: loss for name, loss in LOSSES.items() if loss.separable}
every_loss = pytest.mark.parametrize("loss", SEPARABLE.values(), ids=SEPARABLE)
numbers = st.floats(-4, 4)
signs = st.sampled_from([-1.0, 1.0])
weights = st.floats(0.05, 5)


def arrays(*values):
    return tuple(np.array([v], dtype=float) for v in values)


@every_loss
@given(z=numbers, t=signs)
def test_derivative_is_a_subgradient(loss, z, t):
    z, t = arrays(z, t)
    others = np.linspace(-6, 6, 41)
    line = loss.value(z, t) + loss.derivative(z, t) * (others - z)
    assert np.all(loss.value(others, np.full(41, t[0])) >= line - 1e-12)


@every_loss
@given(z=numbers, t=signs)
def test_derivatives_match_finite_differences(loss, z, t):
    z, t = arrays(z, t)
    if min(abs(1 - t * z), abs(abs(z - t) - 0.5)) < 1e-3:
        return  # at a kink of the loss or of its derivative
    h = 1e-5
    slope = (loss.value(z + h, t) - loss.value(z - h, t)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(z, t), slope, atol=1e-6)
    bend = (loss.derivative(z + h, t) - loss.derivative(z - h, t)) / (2 * h)
    np.testing.assert_allclose(loss.second_derivative(z, t), bend, atol=1e-6)
    assert np.all(bend <= loss.curvature + 1e-6)


@every_loss
@given(z=numbers, y=numbers, t=signs, w=weights)
def test_fenchel_young(loss, z, y, t, w):
    z, y, t, w = arrays(z, y, t, w)
    y = loss.project(y, t, w)
    assert np.all(loss.in_domain(y, t, w))
    f = w * loss.value(z, t)
    assert np.all(f + loss.conjugate(y, t, w) >= z * y - 1e-9)
    slope = w * loss.derivative(z, t)
    np.testing.assert_allclose(f + loss.conjugate(slope, t, w), z * slope, atol=1e-9)


@every_loss
@given(x=numbers, t=signs, step=weights)
def test_prox_is_the_minimiser(loss, x, t, step):
    x, t, step = arrays(x, t, step)

    def target(z):
        return float((step * loss.value(np.array([z]), t) + 0.5 * (z - x) ** 2)[0])

    brute = minimize_scalar(target, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10})
    u = loss.prox(x, t, step)
    assert target(float(u[0])) <= brute.fun + 1e-9
    h = 1e-6
    ahead, behind = loss.prox(x + h, t, step), loss.prox(x - h, t, step)
    slope = loss.prox_slope(x, t, step)
    left, right = loss.prox_slope(x - h, t, step), loss.prox_slope(x + h, t, step)
    if left == right:
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), atol=1e-6)


@every_loss
@given(z=numbers, t=signs, w=weights)
def test_subdifferential_contains_all_slopes_nearby(loss, z, t, w):
    z, t, w = arrays(z, t, w)
    low, high = loss.subdifferential(z, t, w, 1e-3)
    for near in (z - 1e-3, z, z + 1e-3):
        slope = w * loss.derivative(near, t)
        assert np.all((low - 1e-12 <= slope) & (slope <= high + 1e-12))


@every_loss
def test_cvxpy_faces_have_the_same_values(loss):
    rng = np.random.default_rng(0)
    z, t, w = rng.normal(size=7), rng.choice([-1.0, 1.0], 7), rng.uniform(0.1, 3, 7)
    expression = loss.cvxpy_value(cp.Constant(z), t)
    np.testing.assert_allclose(expression.value, loss.value(z, t), atol=1e-12)
    y = loss.project(rng.normal(size=7), t, w)
    variable = cp.Variable(7)
    variable.value = y
    conjugate, domain = loss.cvxpy_conjugate(variable, t, w)
    total = conjugate if isinstance(conjugate, float) else conjugate.value
    assert total == pytest.approx(float(np.sum(loss.conjugate(y, t, w))), abs=1e-10)
    assert all(constraint.violation().max() <= 1e-12 for constraint in domain)


@every_loss
def test_flags_are_true(loss):
    z = np.linspace(-3, 3, 601)
    for t in (-1.0, 1.0):
        target = np.full_like(z, t)
        assert loss.nonnegative == bool(np.all(loss.value(z, target) >= 0))
        bends = np.unique(loss.second_derivative(z, target))
        assert loss.quadratic == (bends.size == 1 and loss.smooth)
        jumps = np.abs(np.diff(loss.derivative(z, target))).max()
        assert loss.smooth == bool(jumps < 0.5)


def test_unknown_loss_lists_the_known():
    with pytest.raises(UnsupportedError, match=r"unknown loss 'hing'.*hinge.*square"):
        get_loss("hing")
