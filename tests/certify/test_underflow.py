"""The upper bound of a certificate where products of tiny numbers underflow (found by the adversary)."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.model import rounding


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
    assert value + rounding.objective(P, V, value) > 0.0


def test_zero_stays_zero_and_ordinary_numbers_are_untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    P, V = stated(1.0), np.ones((5, 1))
    value = P.objective_of_factor(V)
    before = rounding.objective(P, V, value)
    monkeypatch.setattr(rounding, "_underflow", lambda problem: 1.0)
    assert rounding.objective(P, V, value) == before
    assert rounding.objective(P, np.zeros((5, 1)), 0.0) == 0.0
