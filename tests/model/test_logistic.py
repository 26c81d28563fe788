"""The logistic loss where its formulas are delicate: at the ends of its domain, and for huge steps."""

import mpmath
import numpy as np
import pytest

import npkl_models as nm
from npkl_models.model.conjugates import quadratic_conjugates

LOSS = nm.LOSSES["logistic"]


@pytest.mark.parametrize("share", [1e-300, 1e-17, 1e-9, 0.3, 0.5, 0.5000001, 1 - 1e-9, 1 - 1e-15, 1.0, 0.0])
@pytest.mark.parametrize("t", [-1.0, 1.0])
def test_the_conjugate_loses_no_digits(share, t):
    w = 3.7
    y = -t * share * w
    with mpmath.workdps(700):
        a = mpmath.mpf(-t * y) / mpmath.mpf(w)
        exact = float(w * sum(v * mpmath.log(v) for v in (a, 1 - a) if v))
    found = LOSS.conjugate(np.array([y]), np.array([t]), np.array([w]))[0]
    assert abs(found - exact) <= 8 * np.finfo(float).eps * (abs(exact) + 2 * abs(y))


@pytest.mark.parametrize("step", [1e-8, 1.0, 1e4, 1e12])
def test_the_prox_solves_its_equation(step):
    x = np.concatenate([np.linspace(-40, 40, 81), [-1e9, -1e3, 1e3]])
    for t in (-1.0, 1.0):
        signs = np.full(x.size, t)
        u = LOSS.prox(x, signs, np.full(x.size, step))
        slope = LOSS.derivative(u, signs)
        np.testing.assert_allclose(u + step * slope, x, rtol=1e-9, atol=1e-9 * max(1.0, step))
        h = 1e-5 * np.maximum(1.0, np.abs(x))
        ahead, behind = (LOSS.prox(x + s * h, signs, np.full(x.size, step)) for s in (1, -1))
        found = LOSS.prox_slope(x, signs, np.full(x.size, step))
        np.testing.assert_allclose(found, (ahead - behind) / (2 * h), rtol=1e-3, atol=1e-5)


def test_the_box_has_the_entropy_of_the_loss():
    rng = np.random.default_rng(0)
    t, w = rng.choice([-1.0, 1.0], 30), rng.uniform(0.1, 9, 30)
    box = LOSS.box(t, w)
    y = box.lower + rng.uniform(0.01, 0.99, 30) * (box.upper - box.lower)
    np.testing.assert_allclose(box.each(y), LOSS.conjugate(y, t, w), rtol=1e-12)
    assert box.conjugate(y) == pytest.approx(LOSS.conjugate(y, t, w).sum())
    np.testing.assert_allclose(box.slope(y), LOSS.conjugate_derivative(y, t, w), rtol=1e-10)
    h = 1e-6 * w * np.minimum(y - box.lower, box.upper - y)
    np.testing.assert_allclose(box.bend(y), (box.slope(y + h) - box.slope(y - h)) / (2 * h), rtol=1e-5)


def test_interior_takes_it_and_quadratic_programs_do_not():
    term = nm.LossTerm(nm.Entries(3, ([0], [1])), LOSS, 1.0)
    assert quadratic_conjugates([term], entropy=True) is None
    assert "logistic" in quadratic_conjugates([term])


def test_the_answer_is_that_of_a_logistic_regression_of_one_number():
    """Two points that must be linked, cost 1 on the diagonal: the minimum of 2 s + w ln(1 + exp(-s))."""
    w = 10.0
    problem = nm.npkl(np.eye(2), nm.Pairs(2, [(0, 1)], []), loss="logistic", gamma=w)
    s = np.log(w / 2 - 1)  # 2 = w / (1 + exp(s))
    found = problem.solve()
    assert found.objective == pytest.approx(2 * s + w * np.log1p(np.exp(-s)), rel=1e-6)
