"""Conjugates as quadratics on intervals, perhaps with an entropy.

Every value z_e = <M_e, K> has a multiplier y_e with f_e*(y) = b y + q y^2 / 2 on [lower, upper]. For a loss,
b and q come from its conjugate. For a constraint, b is the bound, q = 0, and one end or both are infinite.
The logistic loss adds h (a ln a + (1 - a) ln(1 - a)) with a = (y - lower) / (upper - lower).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from npkl_models.linalg import Array, Mask


@dataclass(frozen=True, eq=False)
class Box:
    """f*(y) = b y + q y^2 / 2 on [lower, upper], elementwise, plus ``entropy`` (a ln a + (1 - a) ln(1 - a)).

    a = (y - lower) / (upper - lower), and ``entropy`` is zero for most losses.
    """

    b: Array
    q: Array
    lower: Array
    upper: Array
    entropy: Array

    @property
    def below(self) -> Mask:
        """A mask of the intervals with a finite lower end."""
        return np.isfinite(self.lower)

    @property
    def above(self) -> Mask:
        """A mask of the intervals with a finite upper end."""
        return np.isfinite(self.upper)

    @property
    def count(self) -> int:
        """The number of finite ends."""
        return int(self.below.sum() + self.above.sum())

    def conjugate(self, y: Array) -> float:
        """The sum of f*(y)."""
        return float(np.sum(self.each(y)))

    def each(self, y: Array) -> Array:
        """f*(y) of each multiplier."""
        out = self.b * y + 0.5 * self.q * y**2
        a, rest = self._shares(y)
        out[self.mixed] += self.entropy[self.mixed] * (xlogy(a, a) + xlogy(rest, rest))
        return out

    def slope(self, y: Array) -> Array:
        """The derivatives of f* at y, inside the intervals."""
        out = self.b + self.q * y
        if self.mixed.any():
            a, rest = self._shares(y)
            out[self.mixed] += self._steepness * (np.log(a) - np.log(rest))
        return out

    def bend(self, y: Array) -> Array:
        """The second derivatives of f* at y, inside the intervals."""
        if not self.mixed.any():
            return self.q
        out, (a, rest) = self.q.copy(), self._shares(y)
        width = (self.upper - self.lower)[self.mixed]
        out[self.mixed] += self._steepness / (width * a * rest)
        return out

    @cached_property
    def mixed(self) -> Mask:
        """Which f* have an entropy."""
        return self.entropy > 0

    @property
    def _steepness(self) -> Array:
        return self.entropy[self.mixed] / (self.upper - self.lower)[self.mixed]

    def _shares(self, y: Array) -> tuple[Array, Array]:
        """a and 1 - a of the multipliers with an entropy."""
        at, low, high = y[self.mixed], self.lower[self.mixed], self.upper[self.mixed]
        return (at - low) / (high - low), (high - at) / (high - low)

    def kept(self, mask: Mask) -> Box:
        """The intervals of the mask alone."""
        return Box(*(part[mask] for part in self._columns()))

    @classmethod
    def half_line(cls, bound: Array) -> Box:
        """The box of the indicator of z <= bound."""
        zero = np.zeros_like(bound)
        return cls(bound, zero, zero, np.full_like(bound, np.inf), zero)

    @classmethod
    def join(cls, parts: list[Box]) -> Box:
        """The boxes of all parts, one after the other."""
        return cls(*map(np.concatenate, zip(*(part._columns() for part in parts), strict=True)))

    def _columns(self) -> tuple[Array, ...]:
        return self.b, self.q, self.lower, self.upper, self.entropy
