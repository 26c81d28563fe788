"""The secular equation of a batch of row problems: ||v(mu)||^2 = (mu - mu0) / (4 a), or = b^2 at a bound.

The norm of v(mu) = (mu I + W'W)^-1 c falls as mu grows. If there are fewer pairs than columns and mu > 0, the
norm and its derivative come from the Gram matrix WW' of the pairs. Otherwise they come from the eigenvectors
of W'W. The steps are those of `compiled`, so that both kernels make the same sweep.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from npkl_models.linalg import Array, Mask

STEPS = 60
INNER = 8
LAST = 1e-4  # a smaller relative step is the last one: the next step would be about its square
SETTLED = 1e-3 * LAST**2  # the same for the steps of the inner iteration
NARROW = 1e-15  # a smaller relative interval counts as rounding
CANCELLED = 1e-10  # if ||mu v||^2 is a smaller share of ||c||^2, it is lost to rounding in a Gram system
SINGULAR = 1e-13  # if mu is a smaller share of the trace of W'W, the system is singular to rounding
PARALLEL = 1e-12  # smaller relative differences of eigenvalues, and parts of a row, count as none
FLOOR = 1e-90  # smallest mu of a Gram system


class System(Protocol):
    """The systems (mu I + W'W) v = c of a batch of rows."""

    low: Array  # mu stays above this number
    total: Array  # ||c||^2

    def norm2(self, mu: Array) -> tuple[Array, Array]:
        """||v(mu)||^2 and its derivative."""

    def solution(self, mu: Array) -> Array:
        """v(mu), shape (b, r)."""


class GramSystem:
    """The systems by WW' + mu I = L D L', for mu > 0; the batch is the last axis, for speed."""

    def __init__(self, W: Array, c: Array) -> None:
        self.W, self.c = W, c
        self.G = np.ascontiguousarray(np.einsum("bkr,blr->klb", W, W))
        self.b = np.ascontiguousarray(np.einsum("bkr,br->kb", W, c))
        self.total = np.einsum("br,br->b", c, c)
        self.low: Array = np.zeros(len(c))

    def norm2(self, mu: Array) -> tuple[Array, Array]:
        """s = (cc - x'b - mu x'x) / mu^2 and ds/dmu = -2 (s - y'D^-1 y) / mu with L y = x."""
        mu = np.maximum(mu, FLOOR)
        L, inverse = self._factor(mu)
        x = self._solve(L, inverse)
        s = (self.total - np.einsum("kb,kb->b", x, self.b + mu * x)) / mu**2
        s = np.maximum(s, 0.0)  # rounding may make s negative
        _forward(L, x)
        return s, -2 * (s - np.einsum("kb,kb->b", x * inverse, x)) / mu

    def solution(self, mu: Array) -> Array:
        """v = (c - W'x) / mu."""
        mu = np.maximum(mu, FLOOR)
        x = self._solve(*self._factor(mu))
        return (self.c - np.einsum("bkr,kb->br", self.W, x)) / mu[:, None]

    def _factor(self, mu: Array) -> tuple[Array, Array]:
        """Unit lower L (below the diagonal) and 1 / D."""
        L, k = self.G.copy(), len(self.G)
        inverse = np.empty(self.b.shape)
        for i in range(k):
            inverse[i] = 1 / np.maximum(L[i, i] + mu, 1e-300)
            if i + 1 < k:
                column = L[i + 1 :, i] * inverse[i]
                L[i + 1 :, i + 1 :] -= column[:, None] * L[i, i + 1 :]
                L[i + 1 :, i] = column
        return L, inverse

    def _solve(self, L: Array, inverse: Array) -> Array:
        x = self.b.copy()
        _forward(L, x)
        x *= inverse
        for i in range(len(x) - 1, 0, -1):
            x[:i] -= L[i, :i] * x[i]
        return x


class SpectralSystem:
    """The systems by the eigenvectors of W'W, for any mu."""

    def __init__(self, W: Array, c: Array) -> None:
        self.values, self.E = np.linalg.eigh(np.einsum("bkr,bks->brs", W, W))
        self.alpha = np.einsum("brk,br->bk", self.E, c)
        self.energy = self.alpha**2
        self.total = self.energy.sum(axis=1)
        self.low = -self.values[:, 0]
        self.near = self.low + SINGULAR * self.values[:, -1]  # the smallest mu that rounding tells from low
        self.lowest = self.values <= (self.values[:, 0] + PARALLEL * self.values[:, -1])[:, None]

    def norm2(self, mu: Array) -> tuple[Array, Array]:
        """The sum of energy / (mu + values)^2, and its derivative."""
        shifted = mu[:, None] + self.values
        shifted = np.where(self.energy > 0, np.maximum(shifted, 1e-100), 1.0)
        ratio = self.energy / shifted**2
        return ratio.sum(axis=1), -2 * (ratio / shifted).sum(axis=1)

    def solution(self, mu: Array) -> Array:
        """v(mu), without the components for which mu + values is zero to rounding."""
        shifted = mu[:, None] + self.values
        none = self.lowest & (mu <= self.near)[:, None]
        shifted = np.where(none | (np.abs(shifted) < 1e-300), np.inf, shifted)
        return np.einsum("brk,bk->br", self.E, self.alpha / shifted)

    def null_direction(self, old: Array) -> Array:
        """A unit vector of the smallest eigenvalue: the direction of the part of ``old`` there, if any.

        Among equally good vectors the nearest to the old row keeps the sweeps at rest.
        """
        part = np.einsum("brk,br->bk", self.E, old) * self.lowest
        part[:, 0] += np.where(part[:, 0] < 0, -1.0, 1.0) * PARALLEL * (1e-300 + np.linalg.norm(old, axis=1))
        null = np.einsum("brk,bk->br", self.E, part)
        return null / np.linalg.norm(null, axis=1)[:, None]


def secular_root(system: System, mu0: Array, quartic: Array, radius: float | None, s_old: Array) -> Array:
    """Mu with ||v(mu)||^2 = (mu - mu0) / (4 a); if v(mu) exceeds the bound, mu with ||v(mu)||^2 = b^2."""
    low, total = system.low, system.total
    curved = quartic > 0
    slope = np.where(curved, 0.25 / np.where(curved, quartic, 1.0), 0.0)
    mu = np.maximum(mu0, low)
    if bool(np.any(curved)):
        reach = np.maximum(2 * np.maximum(mu0 - low, 0), np.cbrt(8 * quartic * total)) + 1e-300
        found = _root(system, low, low + reach, mu0 + 4 * quartic * s_old, slope, -slope * mu0, curved)
        mu = np.where(curved, found, mu)
    if radius is None:
        return mu
    outside = system.norm2(np.where(mu > low, mu, low + 1e-300))[0] > radius**2
    outside |= (mu <= low) & ~curved
    if not outside.any():
        return mu
    reach = np.sqrt(total) / radius + 1e-300
    level = np.full(len(mu), radius**2)
    found = _root(system, low, low + reach, mu, np.zeros_like(mu), level, outside)
    return np.where(outside, np.maximum(found, mu), mu)


def _root(
    system: System, low: Array, high: Array, start: Array, slope: Array, level: Array, asked: Mask
) -> Array:
    """Root in [low, high] of the decreasing function s(mu) - slope mu - level, safeguarded.

    Only the results of the ``asked`` rows have a meaning.
    """
    a, b = low.copy(), high.copy()
    mu = np.clip(start, a + 1e-3 * (b - a), b)
    going = asked.copy()
    for _ in range(STEPS):
        s, ds = system.norm2(mu)
        above = s - slope * mu - level > 0
        a, b = np.where(going & above, mu, a), np.where(going & ~above, mu, b)
        step = _rational_step(mu, s, ds, slope, level)
        moved, small = mu + step, np.abs(step) <= LAST * np.abs(mu)
        moved = np.where(small | ((a < moved) & (moved < b)), moved, 0.5 * (a + b))
        mu = np.where(going, moved, mu)
        going &= ~(small | (b - a <= NARROW * np.abs(b)))
        if not going.any():
            break
    return mu


def _rational_step(mu: Array, s: Array, ds: Array, slope: Array, level: Array) -> Array:
    """The step to the root of the model t^2 s / (t + d)^2 = slope (mu + d) + level, t = -2 s / ds.

    The model has the value and the slope of s at mu, and is exact for a single eigenvalue (More &
    Sorensen 1983). Newton's method finds the root of the model. Where s does not fall, which is rounding, the
    step is minus infinity: the interval is then halved.
    """
    falls = ds < 0
    t = np.where(falls, -2 * s / np.where(falls, ds, -1.0), 1.0)
    flat = slope == 0
    d = np.zeros_like(mu)
    if flat.any():
        d = np.where(flat, t * (np.sqrt(s / np.where(flat, level, 1.0)) - 1), 0.0)
    if not flat.all():
        for _ in range(INNER):
            ratio = t / (t + d)
            model = s * ratio**2
            change = (model - slope * (mu + d) - level) / (slope + 2 * model / (t + d))
            change = np.where(flat, 0.0, change)
            d = np.maximum(d + change, np.where(flat, -np.inf, -0.9 * t))
            if bool(np.all(np.abs(change) <= SETTLED * np.abs(mu))):
                break
    return np.where(falls, d, -np.inf)


def _forward(L: Array, x: Array) -> None:
    for i in range(len(x) - 1):
        x[i + 1 :] -= L[i + 1 :, i] * x[i]
