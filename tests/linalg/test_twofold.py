"""Sums and products of twice the digits, against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from npkl_models.linalg import exact_products, twofold

RNG = np.random.default_rng(0)


def exact(x):
    return Fraction(float(x.high)) + Fraction(float(x.low))


def test_products_and_sums_are_exact_to_twice_the_digits():
    a, b = RNG.normal(size=50), RNG.normal(size=50) * 10.0 ** RNG.integers(-6, 6, 50)
    p = twofold.exact_product(a, b)
    for k in range(50):
        one = twofold.Twofold(p.high[k], p.low[k])
        assert exact(one) == Fraction(a[k]) * Fraction(b[k])


@pytest.mark.parametrize("rows", [7, 40, 1_000])
def test_inner_products_by_slices_are_within_their_stated_error(rows, monkeypatch):
    monkeypatch.setattr(exact_products, "ROWS", rows)  # the last chunk is short, or there is one chunk
    A = RNG.normal(size=(40, 3)) * [1.0, 1e8, 1e-8]
    B = twofold.exact_product(RNG.normal(size=(40, 2)), RNG.normal(size=(40, 2)))
    found, error = exact_products.inner_products(twofold.twofold(A), B)
    for i in range(3):
        for j in range(2):
            column = [Fraction(B.high[k, j]) + Fraction(B.low[k, j]) for k in range(40)]
            truth = sum(Fraction(A[k, i]) * column[k] for k in range(40))
            off = abs(Fraction(found.high[i, j]) + Fraction(found.low[i, j]) - truth)
            assert off <= error[i, j] <= 1e-20 * np.abs(A[:, i]).max() * np.abs(B.high[:, j]).max()
