"""Numbers as unevaluated sums of two floating-point numbers: about 32 decimal digits, vectorised.

Exact sums by Knuth, exact products by Dekker's splitting (Dekker 1971; Joldes, Muller & Popescu 2017 for the
errors): every operation here is within 8 units of 2^-105 of the exact result, relative to the sizes that
enter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npkl_models.linalg import Array

SPLIT = 134217729.0  # 2^27 + 1
ROUNDOFF = 8 * 2.0**-105  # relative error of one operation


class Twofold(NamedTuple):
    """The number high + low, where |low| is at most half a unit in the last place of high."""

    high: Array
    low: Array


def twofold(x: Array) -> Twofold:
    """Floating-point numbers as twofold numbers."""
    return Twofold(x, np.zeros_like(x))


def exact_sum(a: Array, b: Array) -> Twofold:
    """The sum of floating-point numbers, exactly."""
    s = a + b
    t = s - a
    return Twofold(s, (a - (s - t)) + (b - t))


def exact_product(a: Array, b: Array) -> Twofold:
    """The product of floating-point numbers, exactly (where nothing over- or underflows)."""
    p = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    return Twofold(p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)


def add(a: Twofold, b: Twofold) -> Twofold:
    """a + b; the error is relative to |a| + |b|."""
    s, t = exact_sum(a.high, b.high)
    return _normal(s, t + (a.low + b.low))


def multiply(a: Twofold, b: Twofold) -> Twofold:
    """a b."""
    p, e = exact_product(a.high, b.high)
    return _normal(p, e + (a.high * b.low + a.low * b.high))


def _normal(s: Array, t: Array) -> Twofold:
    high = s + t
    return Twofold(high, t - (high - s))


def _halves(a: Array) -> tuple[Array, Array]:
    c = SPLIT * a
    high = c - (c - a)
    return high, a - high
