"""The upper bound of a certificate where products of tiny numbers underflow (found by the adversary)."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models import kernel


def stated(cost: float, power: float = 2.0) -> nm.Problem:
    """A problem whose loss is zero at every kernel that is nearly zero."""
    term = nm.LossTerm(nm.Entries(5, ([2], [1])), "squared_excess", 1e-6, 1 / 3)
    return nm.Problem(sp.csr_array(cost * np.eye(5)), term, regularizer=nm.TracePower(power, penalty=3.0))


@pytest.mark.parametrize("power", [1.01, 2.0, 7.0])
@pytest.mark.parametrize("length", [1e-170, 1e-100, 1e-60])
def test_an_upper_bound_of_a_nearly_zero_kernel_is_positive(power: float, length: float) -> None:
    """tr K^p > 0 for every K but zero, also where it is below all floating-point numbers."""
    P = stated(0.0, power)
    V = np.zeros((5, 1))
    V[2] = length
    value = P.objective_of_factor(V)
    assert value + kernel.rounding_of_objective(P, V, value) > 0.0


def test_zero_stays_zero_and_ordinary_numbers_are_untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    P, V = stated(1.0), np.ones((5, 1))
    value = P.objective_of_factor(V)
    before = kernel.rounding_of_objective(P, V, value)
    monkeypatch.setattr(kernel, "_underflow", lambda problem: 1.0)
    assert kernel.rounding_of_objective(P, V, value) == before
    assert kernel.rounding_of_objective(P, np.zeros((5, 1)), 0.0) == 0.0


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-200, 1.0])
@pytest.mark.parametrize("target", [1e-320, 1e-285, 1e-185])
@pytest.mark.parametrize("loss", ["absolute", "square", "squared_excess", "huber", "shared_slack"])
def test_an_optimum_below_all_floats_is_between_its_bounds(loss: str, target: float, weight: float) -> None:
    """The optimum, at K = 0, is weight times target or its square: never zero, also where floats say so."""
    term = nm.LossTerm(nm.Trace(3), loss, -target, weight)
    found = nm.certify(nm.Problem(np.eye(3), term, regularizer=nm.TracePower(2, bound=1.0)), np.zeros((3, 1)))
    exact = Fraction(weight) * Fraction(target) ** (1 if loss in ("absolute", "shared_slack") else 2)
    assert Fraction(found.bound) <= exact <= Fraction(found.upper)
    assert found.upper <= 1.1 * float(exact) + 1e-13 * weight + 1e-300


def test_a_product_of_cost_and_trace_below_all_floats_is_between_its_bounds() -> None:
    problem = nm.Problem(1e-300 * np.eye(2), nm.Constraint(nm.Trace(2), equal=1e-185))
    found = nm.certify(problem, np.full((2, 1), np.sqrt(0.5e-185)))
    assert found.bound <= 0.0  # the optimum is 1e-485
    assert 0.0 < found.gap <= 1e-300
    assert 0.0 < found.violation <= 1e-13


@pytest.mark.parametrize("weight", [1e-300, 1e-160, 1e-155, 1e154, 1e155, 1e200, 1e300])
@pytest.mark.parametrize("cost", [1e-150, 1.0, 1e150])
def test_no_finite_weight_makes_a_square_overflow(cost: float, weight: float) -> None:
    """Conjugates of square losses square multipliers, which are as large as an indefinite cost."""
    C = cost * np.diag([1.0, 1.0, -1e-3])
    term = nm.LossTerm(nm.Entries(3, (range(3), range(3))), "square", 1.0, [weight, 1.0, weight])
    problem = nm.Problem(C, term)
    found = nm.certify(problem, np.zeros((3, 1)))
    assert found.bound <= found.upper == pytest.approx(float(np.sum(term.weight)))
