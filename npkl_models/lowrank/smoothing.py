"""Convex functions of values made smooth: those with a kink by their Moreau envelope, shifted by multipliers.

The slope of the envelope always lies in the domain of the conjugate, and to move the multipliers there is a
step of the method of multipliers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array
from npkl_models.model.losses import Loss

Derivatives = tuple[Array, Array, Array]  # value, slope, bend


class Convex(ABC):
    """A convex function f of each value, by its proximal map."""

    smooth: bool = False

    @abstractmethod
    def prox(self, x: Array, beta: float) -> tuple[Array, Array, Array]:
        """u = argmin f(u) + beta / 2 (u - x)^2, f(u), and the derivative of u in x."""

    def smoothed(self, z: Array, y: Array, beta: float) -> Derivatives:
        """Of min_u f(u) + y (z - u) + beta / 2 (z - u)^2, or of f itself where that is smooth."""
        u, value, slope = self.prox(z + y / beta, beta)
        miss = z - u
        return value + (y + 0.5 * beta * miss) * miss, y + beta * miss, beta * (1 - slope)


class WeightedLoss(Convex):
    """weight loss(z; target)."""

    def __init__(self, loss: Loss, target: Array, weight: Array) -> None:
        self.loss, self.target, self.weight = loss, target, weight
        self.smooth = loss.smooth

    def prox(self, x: Array, beta: float) -> tuple[Array, Array, Array]:
        f, t, step = self.loss, self.target, self.weight / beta
        u = f.prox(x, t, step)
        return u, self.weight * f.value(u, t), f.prox_slope(x, t, step)

    def smoothed(self, z: Array, y: Array, beta: float) -> Derivatives:
        if not self.smooth:
            return super().smoothed(z, y, beta)
        f, t, w = self.loss, self.target, self.weight
        return w * f.value(z, t), w * f.derivative(z, t), w * f.second_derivative(z, t)


@dataclass(frozen=True)
class Within(Convex):
    """The indicator of lower <= z <= upper."""

    lower: Array | float
    upper: Array | float

    def prox(self, x: Array, beta: float) -> tuple[Array, Array, Array]:
        inside = (self.lower < x) & (x < self.upper)
        return np.clip(x, self.lower, self.upper), np.zeros_like(x), inside.astype(float)
