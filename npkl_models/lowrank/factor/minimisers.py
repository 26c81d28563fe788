"""Unconstrained minimisers of a `FactorObjective`, a step at a time: trust region and L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from npkl_models.linalg import Array, frobenius
from npkl_models.lowrank.factor.objective import FactorObjective, Point

CG_STEPS = 200
ACCEPT, SHRINK, GROW = 1e-4, 0.25, 0.75
ARMIJO = 1e-4


class Minimiser(Protocol):
    """Improves a point of a smooth objective."""

    def step(self, f: FactorObjective, point: Point) -> Point:
        """A point that is no worse."""

    def reset(self) -> None:
        """Forget what was learnt; the objective has changed."""


class TrustRegion:
    """Truncated Newton in a trust region (Steihaug 1983): negative curvature leads to its boundary."""

    def __init__(self) -> None:
        self.radius = 0.0

    def reset(self) -> None:
        self.radius = 0.0

    def step(self, f: FactorObjective, point: Point) -> Point:
        size = frobenius(point.gradient)
        if size == 0.0:
            return point
        if self.radius == 0.0:
            self.radius = 0.25 * max(frobenius(point.W), 1e-3)
        forcing = min(0.3, np.sqrt(size / (1 + abs(point.value))))
        product = f.hessian(point)
        for _ in range(20):
            D, HD, hit = steihaug(product, point.gradient, self.radius, forcing * size)
            predicted = -float(np.sum(point.gradient * D)) - 0.5 * float(np.sum(D * HD))
            trial = f.at(point.W + D)
            rounding = 1e-14 * (1 + abs(point.value))
            ratio = (point.value - trial.value + rounding) / (predicted + rounding)
            length = frobenius(D)
            if ratio < SHRINK or not np.isfinite(ratio):
                self.radius = 0.25 * length
            elif ratio > GROW and hit:
                self.radius = 2 * self.radius
            if ratio > ACCEPT:
                return trial
        return point


def steihaug(
    product: Callable[[Array], Array], g: Array, radius: float, tolerance: float
) -> tuple[Array, Array, bool]:
    """Minimise <g, D> + <D, H D> / 2 over ||D|| <= radius; returns D, H D and whether it is at the bound."""
    D, HD = np.zeros_like(g), np.zeros_like(g)
    r = -g
    p = r.copy()
    rho = float(np.sum(r * r))
    for _ in range(CG_STEPS):
        Hp = product(p)
        curvature = float(np.sum(p * Hp))
        step = rho / curvature if curvature > 0 else np.inf
        ahead = D + step * p if np.isfinite(step) else D
        if not np.isfinite(step) or frobenius(ahead) >= radius:
            pp, dp = float(np.sum(p * p)), float(np.sum(D * p))
            room = radius**2 - float(np.sum(D * D))
            t = (-dp + np.sqrt(max(dp**2 + pp * room, 0.0))) / pp
            return D + t * p, HD + t * Hp, True
        D, HD = ahead, HD + step * Hp
        r = r - step * Hp
        new = float(np.sum(r * r))
        if np.sqrt(new) <= tolerance:
            break
        p = r + (new / rho) * p
        rho = new
    return D, HD, False


class LBFGS:
    """Limited-memory BFGS with a backtracking line search (Nocedal 1980)."""

    def __init__(self, memory: int = 10) -> None:
        self.memory = memory
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
        for _ in range(40):
            trial = f.at(point.W + t * D)
            if trial.value <= point.value + ARMIJO * t * slope + 1e-15 * abs(point.value):
                break
            t *= 0.5
        else:
            self.reset()
            return point
        s, change = t * D, trial.gradient - point.gradient
        sy = float(np.sum(s * change))
        if sy > 1e-12 * frobenius(s) * frobenius(change):
            self.history = [*self.history[-self.memory + 1 :], (s, change, sy)]
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


MINIMISERS: dict[str, Callable[[], Minimiser]] = {"newton": TrustRegion, "lbfgs": LBFGS}
