"""Unconstrained minimisers of a `FactorObjective`, one step at a time: truncated Newton and L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from npkl_models.linalg import Array, frobenius
from npkl_models.lowrank.factor.lines import Path, minimum
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.lowrank.tolerances import ENOUGH, FORCING, HALVED, SAME

CG_STEPS, CG_MOST = 100, 800  # steps of conjugate gradients in a Newton step: at first, and at most
FAITHFUL = 0.25  # the radius shrinks if the line search goes less far
SLOW, MORE = 0.5, 2  # if the gradient keeps more than this share, steps of conjugate gradients grow by MORE
MEMORY = 10  # number of steps that L-BFGS keeps

Map = Callable[[Array], Array]


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
            self.inner = min(MORE * self.inner, CG_MOST)
        self.size = size
        tolerance = size * min(FORCING, np.sqrt(size / np.sqrt(1 + abs(point.value))))
        t = 1.0
        for _ in range(HALVED):
            D, HD = truncated_newton(product, inverse, point.gradient, tolerance, self.inner, self.radius)
            length = frobenius(D)
            if t == 0 and length > self.radius:  # one step of conjugate gradients may go far beyond it
                share, length = self.radius / length, self.radius
                D, HD = share * D, share * HD
            new, t = self._search(f, point, D, HD)
            if t < FAITHFUL:  # the quadratic model was poor: shorter steps, with fewer steps within them
                self.inner = CG_STEPS
                self.radius = max(2 * t, 0.1) * length
            elif length >= (1 - SAME) * self.radius:
                self.radius = 2 * t * length
            if t > 0:
                return new
        return point

    def _search(self, f: FactorObjective, point: Point, D: Array, HD: Array) -> tuple[Point, float]:
        """A better point along a step, and its t; the point and 0 if none is."""
        if f.spectral.R is not None:
            return backtrack(f, point, D, float(np.sum(point.gradient * D)))
        bent = point.bent(f.incidence.along(point.V, f.lift(D)))
        t = minimum(Path(f, point, D, 0.5 * (float(np.sum(D * HD)) - bent)).at)
        return (f.at(point.W + t * D), t) if t > 0 else (point, 0.0)


def truncated_newton(
    product: Map, inverse: Map, g: Array, tolerance: float, steps: int, radius: float | None = None
) -> tuple[Array, Array]:
    """Solve H D = -g by conjugate gradients with the preconditioner ``inverse``; return D and H D.

    They end at the tolerance, after ``steps`` steps or at the radius. Along negative curvature D goes to the
    radius (Steihaug 1983); without a radius it ends before.
    """
    D, HD = np.zeros_like(g), np.zeros_like(g)
    r = -g
    p = inverse(r)
    rho = float(np.vdot(r, p))
    for k in range(steps):
        Hp = product(p)
        curvature = float(np.vdot(p, Hp))
        if not curvature > 0:
            if radius is None:
                return (D, HD) if k else (p, Hp)
            far = min(1.0, radius / max(frobenius(p), 1e-300))
            if k == 0:
                return far * p, far * Hp
            a, b, c = float(np.vdot(p, p)), float(np.vdot(D, p)), radius**2 - float(np.vdot(D, D))
            far = (np.sqrt(b * b + a * max(c, 0.0)) - b) / a
            return D + far * p, HD + far * Hp
        step = rho / curvature
        D += step * p
        Hp *= step
        HD += Hp
        r -= Hp
        if radius is not None and frobenius(D) >= radius:
            break
        z = inverse(r)
        new = float(np.vdot(r, z))
        if not new > tolerance**2:
            break
        p *= new / rho
        p += z
        rho = new
    return D, HD


def backtrack(
    f: FactorObjective, point: Point, D: Array, slope: float, t: float = 1.0
) -> tuple[Point, float]:
    """Try t, t/2, t/4, ... until the objective falls enough (Armijo); the new point and its t, or 0."""
    for _ in range(2 * HALVED):
        trial = f.at(point.W + t * D)
        if trial.value <= point.value + ENOUGH * t * slope + 1e-15 * abs(point.value):
            return trial, t
        t *= 0.5
    return point, 0.0


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
