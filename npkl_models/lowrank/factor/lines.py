"""The factorised objective along a line through a factor, as a function of one number.

On W(t) = W + t D the values z(t) are quadratics of t. So the objective and its derivatives along the line
take a few operations for each value and each t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from npkl_models.linalg import Array
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.lowrank.tolerances import FORCING, HALVED


class Line(NamedTuple):
    """The value of a function of one number, and its two derivatives."""

    value: float
    slope: float
    bend: float


class Path:
    """The line t -> W + t D; `at` gives f(W + t D) - f(W). ``curvature`` is <S, DD'>."""

    def __init__(self, f: FactorObjective, point: Point, D: Array, curvature: float) -> None:
        self.f, self.start = f, point
        E = f.lift(D)
        self.first, self.second = f.incidence.along(point.V, E), f.incidence.of_product(E, E)
        self.slope, self.curvature = float(np.sum(point.gradient * D)), curvature
        self.base = float(np.sum(f.rules(point.z)[0]))

    def at(self, t: float) -> Line:
        """The change of the objective at t, and its derivatives there."""
        change, speed = t * (self.first + t * self.second), self.first + 2 * t * self.second
        value, slope, bend = self.f.rules(self.start.z + change)
        beyond = slope - self.start.slope
        fall = t * (self.slope + t * self.curvature) + float(np.sum(value)) - self.base
        return Line(
            fall - float(self.start.slope @ change),
            self.slope + 2 * t * self.curvature + float(beyond @ speed),
            2 * self.curvature + float(bend @ speed**2) + 2 * float(beyond @ self.second),
        )


def minimum(line: Callable[[float], Line]) -> float:
    """The t > 0 at which a function with a negative slope at 0 is nearly least; 0 if none was found."""
    start = line(0.0).slope
    low, high, t = 0.0, np.inf, 1.0
    best, least = 0.0, 0.0
    for _ in range(HALVED):
        at = line(t)
        if not np.isfinite(at.value):
            high, t = t, 0.5 * (low + t)
            continue
        if at.value < least:
            best, least = t, at.value
        if abs(at.slope) <= FORCING * abs(start):
            break
        if at.slope < 0 and at.value <= 0:
            low = t
        else:
            high = t
        step = t - at.slope / at.bend if at.bend > 0 else np.inf
        if high == np.inf:
            t = min(max(step, 2 * t), 10 * t)
        else:
            t = step if low + 0.1 * (high - low) < step < high - 0.1 * (high - low) else 0.5 * (low + high)
    return best
