"""Unconstrained minimisers of a `FactorObjective`, one step at a time: truncated Newton and L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from npkl_models.linalg import Array, frobenius
from npkl_models.lowrank.factor.objective import FactorObjective, Line, Point

CG_STEPS, CG_MOST = 100, 800  # steps of conjugate gradients in a Newton step: at first, and at most
SHORTER, FAITHFUL = 8, 0.25  # steps that are tried; the radius shrinks if the line search goes less far
SLOW = 0.5  # if the gradient keeps more than this share, twice as many steps of conjugate gradients follow
FORCING = 0.1
LINE_STEPS, LINE_TOLERANCE = 20, 0.1  # steps of a line search; share of the first slope that may remain
ARMIJO = 1e-4
MEMORY = 10  # number of steps that L-BFGS keeps


class Minimiser(Protocol):
    """A method that improves a point of a smooth objective."""

    multipliers: Array | None  # multipliers of the point, if they are better than its slopes

    def step(self, f: FactorObjective, point: Point) -> Point:
        """A point with an objective that is not larger, but for rounding."""

    def reset(self) -> None:
        """Forget the earlier steps, because the objective has changed."""


class Newton:
    """Preconditioned truncated Newton (Dembo & Steihaug 1983) with a nearly exact search along the step."""

    multipliers: Array | None = None

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.inner, self.size, self.radius = CG_STEPS, np.inf, 0.0

    def step(self, f: FactorObjective, point: Point) -> Point:
        inverse, product = f.preconditioner(point), f.hessian(point)
        size = np.sqrt(float(np.sum(point.gradient * inverse(point.gradient))))
        if size == 0.0:
            return point
        self.radius = self.radius or frobenius(point.W)
        if size > SLOW * self.size:
            self.inner = min(2 * self.inner, CG_MOST)
        self.size = size
        tolerance = size * min(FORCING, np.sqrt(size / np.sqrt(1 + abs(point.value))))
        for _ in range(SHORTER):
            D, HD = truncated_newton(product, inverse, point.gradient, tolerance, self.inner, self.radius)
            bent = point.bent(f.incidence.along(point.V, f.lift(D)))
            line = f.along(point, D, 0.5 * (float(np.sum(D * HD)) - bent))
            if line is None:
                new, t = backtrack(f, point, D, float(np.sum(point.gradient * D)))
            else:
                t = minimum(line)
                new = f.at(point.W + t * D) if t > 0 else point
            length = frobenius(D)
            if t < FAITHFUL:  # the quadratic model was poor: shorter steps, with fewer steps within them
                self.inner = CG_STEPS
                self.radius = max(2 * t, 0.1) * length
            elif length >= self.radius:
                self.radius = 2 * t * length
            if t > 0:
                return new
        return point


def truncated_newton(
    product: Callable[[Array], Array], inverse: Callable[[Array], Array], g: Array, tolerance: float,
    steps: int, radius: float,
) -> tuple[Array, Array]:  # fmt: skip
    """Solve H D = -g to the tolerance by conjugate gradients; return D and H D.

    The iteration ends earlier after ``steps`` steps or at the radius. Along a direction of negative
    curvature, D goes to the radius (Steihaug 1983). ``inverse`` applies a preconditioner M^-1. The tolerance
    applies to the residual in the norm of M^-1.
    """
    D, HD = np.zeros_like(g), np.zeros_like(g)
    r = -g
    z = inverse(r)
    p, rho = z, float(np.sum(r * z))
    for k in range(steps):
        Hp = product(p)
        curvature = float(np.sum(p * Hp))
        if not curvature > 0:
            far = min(1.0, radius / max(frobenius(p), 1e-300))
            if k == 0:
                return far * p, far * Hp
            a, b, c = float(np.sum(p * p)), float(np.sum(D * p)), radius**2 - float(np.sum(D * D))
            far = (np.sqrt(b * b + a * max(c, 0.0)) - b) / a
            return D + far * p, HD + far * Hp
        step = rho / curvature
        D, HD = D + step * p, HD + step * Hp
        if frobenius(D) >= radius:
            break
        r = r - step * Hp
        z = inverse(r)
        new = float(np.sum(r * z))
        if not new > tolerance**2:
            break
        p, rho = z + (new / rho) * p, new
    return D, HD


def backtrack(
    f: FactorObjective, point: Point, D: Array, slope: float, t: float = 1.0
) -> tuple[Point, float]:
    """Try t, t/2, t/4, ... until the objective falls enough (Armijo); the new point and its t.

    If no trial succeeds, the given point and 0.
    """
    for _ in range(40):
        trial = f.at(point.W + t * D)
        if trial.value <= point.value + ARMIJO * t * slope + 1e-15 * abs(point.value):
            return trial, t
        t *= 0.5
    return point, 0.0


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


class LBFGS:
    """Limited-memory BFGS with a backtracking line search (Nocedal 1980)."""

    multipliers: Array | None = None

    def __init__(self) -> None:
        self.history: list[tuple[Array, Array, float]] = []

    def reset(self) -> None:
        self.history = []

    def step(self, f: FactorObjective, point: Point) -> Point:
        D = self._direction(point.gradient)
        slope = float(np.sum(D * point.gradient))
        if slope >= 0:
            self.reset()
            D, slope = -point.gradient, -float(np.sum(point.gradient**2))
        if slope == 0.0:
            return point
        t = 1.0 if self.history else min(1.0, 0.1 * frobenius(point.W) / np.sqrt(-slope))
        trial, t = backtrack(f, point, D, slope, t)
        if t == 0.0:
            self.reset()
            return point
        s, change = t * D, trial.gradient - point.gradient
        sy = float(np.sum(s * change))
        if sy > 1e-12 * frobenius(s) * frobenius(change):
            self.history = [*self.history[-MEMORY + 1 :], (s, change, sy)]
        return trial

    def _direction(self, g: Array) -> Array:
        q = -g
        alphas = []
        for s, change, sy in reversed(self.history):
            a = float(np.sum(s * q)) / sy
            alphas.append(a)
            q = q - a * change
        if self.history:
            _, change, sy = self.history[-1]
            q = q * (sy / float(np.sum(change**2)))
        for (s, change, sy), a in zip(self.history, reversed(alphas), strict=True):
            q = q + (a - float(np.sum(change * q)) / sy) * s
        return q


MINIMISERS: dict[str, Callable[[], Minimiser]] = {"newton": Newton, "lbfgs": LBFGS}
