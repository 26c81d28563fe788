"""Upper and lower bounds that are straight lines, and the largest relative gap between them."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import UNIT, Array

ROUNDING = 16 * UNIT  # relative error of a line, a chord or a gap in floating point, and more

Ends = tuple[float, float]


def line(x: float, ends: Ends, values: Ends, towards: float) -> float:
    """The value at x of the line through two points, rounded ``towards`` +1 (up) or -1 (down)."""
    (a, b), (u, v) = ends, values
    if u == v or a == b:
        return u
    if not (np.isfinite(u) and np.isfinite(v)):
        return u if x == a else v if x == b else towards * float("inf")
    left, right = (b - x) / (b - a) * u, (x - a) / (b - a) * v
    return left + right + towards * ROUNDING * (abs(left) + abs(right))


def crossing(ends: Ends, one: Ends, other: Ends) -> float:
    """The coordinate at which two lines through the same two coordinates cross; the middle if none is."""
    (a, b), d, e = ends, one[0] - other[0], one[1] - other[1]
    if not (np.isfinite(d) and np.isfinite(e)) or d == e:
        return 0.5 * (a + b)
    return float(np.clip(a + (b - a) * (d / (d - e)), a, b))


def largest_gap(upper: Ends, lower: Ends, reference: Ends) -> float:
    """The largest relative gap between two lines over an interval, from the values at its two ends.

    The relative gap is (U - L) / (r + |U| + |L|). U and L are affine, and the reference value r is concave.
    Where U and L keep their signs, the numerator is affine and the denominator concave, so the gap is
    quasi-convex, and no value inside exceeds both ends. The absolute value of a line that changes its sign is
    left out of the denominator, which can only raise the result.
    """
    size: Array = np.array(reference, dtype=float)
    for values in (upper, lower):
        if not all(map(np.isfinite, values)):
            return float("inf")
        if values[0] * values[1] >= 0:
            size = size + np.abs(values)
    gap = np.array(upper) - np.array(lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(gap <= 0, np.where(size > 0, gap / size, 0.0), gap / size)
    return float(np.max(share)) + 4 * ROUNDING  # values inside are charged for rounding twice
