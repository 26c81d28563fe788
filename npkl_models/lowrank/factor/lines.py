"""The factorised objective along a line or a curve through a factor, as a function of one number.

On a path W(t) = W + t D + t^2 A the values z(t) are polynomials of t. So the objective and its derivatives
along the path take a few operations for each value and each t.

With large weights the objective is a narrow valley. A row whose length a loss holds can turn but not grow, so
the valley is curved, and a straight step must be short. The curve bends with the valley: A removes the part
of second order of the gradient along D, as the acceleration of Transtrum & Sethna (2012) does for least
squares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from npkl_models.linalg import Array
from npkl_models.lowrank.factor.objective import FactorObjective, Point

LINE_STEPS, LINE_TOLERANCE = 20, 0.1  # steps of a line search; share of the first slope that may remain


class Line(NamedTuple):
    """The value of a function of one number, and its two derivatives."""

    value: float
    slope: float
    bend: float


class Path:
    """A path t -> W + t D + t^2 A from a point of an objective; `at` gives f(W(t)) - f(W) as a `Line`.

    ``linear`` are the coefficients of t, t^2, ... in the change of <S, V V'>, ``changes`` those in the
    changes of the values.
    """

    def __init__(
        self, f: FactorObjective, point: Point, moves: tuple[Array, ...], linear: list[float],
        changes: list[Array],
    ) -> None:  # fmt: skip
        self.f, self.start, self.moves = f, point, moves
        self.linear, self.changes = linear, changes
        self.base = float(np.sum(f.rules(point.z)[0]))

    def at(self, t: float) -> Line:
        """The change of the objective at t, and its derivatives there."""
        change, speed, force = _derivatives(self.changes, t)
        fall, rise, bent = _derivatives(self.linear, t)
        value, slope, bend = self.f.rules(self.start.z + change)
        beyond = slope - self.start.slope
        fall += float(np.sum(value)) - self.base - float(self.start.slope @ change)
        return Line(fall, rise + float(beyond @ speed), bent + float(bend @ speed**2) + float(beyond @ force))

    def factor(self, t: float) -> Array:
        """The factor W(t)."""
        out = self.start.W.copy()
        for power, move in enumerate(self.moves, 1):
            out += t**power * move
        return out


def straight(f: FactorObjective, point: Point, D: Array, curvature: float | None = None) -> Path:
    """The line t -> W + t D. ``curvature`` is <S, DD'>, if it is known."""
    E = f.lift(D)
    if curvature is None:
        curvature = float(np.sum(E * (f.S(point.slope) @ E)))
    changes = [f.incidence.along(point.V, E), f.incidence.of_product(E, E)]
    return Path(f, point, (D,), [float(np.sum(point.gradient * D)), curvature], changes)


def curved(f: FactorObjective, line: Path, A: Array, HA: Array) -> Path:
    """The curve t -> W + t D + t^2 A that begins along a line; ``HA`` is the Hessian times A."""
    point, (D,), (a, b) = line.start, line.moves, line.changes
    E, F = f.lift(D), f.lift(A)
    c = f.incidence.along(point.V, F)
    bent = point.bend * c
    mixed = float(np.sum(D * HA)) - float(bent @ a)
    own = 0.5 * (float(np.sum(A * HA)) - float(bent @ c))
    linear = [line.linear[0], line.linear[1] + float(np.sum(point.gradient * A)), mixed, own]
    changes = [a, b + c, f.incidence.along(E, F), f.incidence.of_product(F, F)]
    return Path(f, point, (D, A), linear, changes)


def second_order(f: FactorObjective, line: Path) -> Array:
    """Half of the second derivative of the gradient along a line, without third derivatives of the losses."""
    point, E = line.start, f.lift(line.moves[0])
    a, b = line.changes
    out = f.bends(point.bend * b) @ point.V
    out += f.bends(point.bend * a) @ E
    return f.free(2 * f.drop(out))


def minimum(line: Callable[[float], Line], first: float = 1.0) -> float:
    """The t > 0 at which a function with a negative slope at 0 is nearly least; 0 if none was found."""
    start = line(0.0).slope
    low, high, t = 0.0, np.inf, first
    best, least = 0.0, 0.0
    for _ in range(LINE_STEPS):
        at = line(t)
        if not np.isfinite(at.value):
            high, t = t, 0.5 * (low + t)
            continue
        if at.value < least:
            best, least = t, at.value
        if abs(at.slope) <= LINE_TOLERANCE * abs(start):
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


def _derivatives(coefficients: list[Any], t: float) -> tuple[Any, Any, Any]:
    """A polynomial c_1 t + c_2 t^2 + ... and its two derivatives, for numbers or arrays c_k."""
    value = speed = force = 0.0 * coefficients[0]
    for c in reversed(coefficients):
        force = t * force + 2 * speed
        speed = t * speed + value
        value = t * value + c
    return t * value, t * speed + value, t * force + 2 * speed
