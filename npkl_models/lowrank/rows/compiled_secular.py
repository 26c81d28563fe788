"""The compiled secular equation of one row: ||u(mu)||^2 = (mu - mu0) / (4 a), or = b^2 at a bound.

The norm of u(mu) = (mu I + W'W)^-1 c falls as mu grows. The Gram matrix of the row gives the norm and its
derivative for mu > 0. With fewer pairs than columns, G holds WW' below the diagonal, and W c and c'c in row
k. Otherwise WW' would lose the solution to rounding, since c is nearly in the range of W'. So G holds W'W
(r x r), and c and c'c in row r. L holds factors L D L', the solution x in row k and L^-1 x in row k + 1.
After a change of this file, change `compiled`, too: numba's cache reads that file.
"""

from __future__ import annotations

import math

from npkl_models.linalg import Array
from npkl_models.linalg.compile import called, part
from npkl_models.lowrank.tolerances import ROUNDING, STEPS

LAST, NEAR = 1e-4, 1e-2  # relative steps that are the last ones: the next would be about their square
CANCELLED = 1e-10  # if ||mu u||^2 is a smaller share of ||c||^2, it is lost to rounding in a Gram system
SINGULAR = 1e-13  # if mu is a smaller share of the trace of W'W, the system is singular to rounding

Line = tuple[float, float, float]  # slope, zero, level


@called()
def solve_row(mu: float, G: Array, k: int, L: Array) -> None:  # pragma: no cover
    """Solve (mu I + WW') x = W c by factors L D L'; the diagonal of L holds 1 / D."""
    for i in range(k):
        pivot = G[i, i] + mu
        right = G[k, i]
        for j in range(i):
            total = G[i, j]
            for m in range(j):
                total -= L[i, m] * L[m, j]
            L[j, i] = total  # D_j L_ij, above the diagonal
            L[i, j] = total * L[j, j]
            pivot -= total * L[i, j]
            right -= L[i, j] * L[k, j]
        L[i, i] = 1 / max(pivot, 1e-300)
        L[k, i] = right
    for i in range(k - 1, -1, -1):
        total = L[k, i] * L[i, i]
        for m in range(i + 1, k):
            total -= L[m, i] * L[k, m]
        L[k, i] = total


@part()
def _norm2(mu: float, G: Array, k: int, L: Array, direct: bool) -> tuple[float, float]:  # pragma: no cover
    """||u||^2 and its derivative for u = (mu I + W'W)^-1 c.

    From WW' with x = (mu I + WW')^-1 W c: ||u||^2 = (c'c - x'Wc - mu x'x) / mu^2, and the derivative is
    -2 (||u||^2 - x'(mu I + WW')^-1 x) / mu. From W'W: u = x, and it is -2 x'(mu I + W'W)^-1 x.
    """
    solve_row(mu, G, k, L)
    left, inner, size = G[k, k], 0.0, 0.0
    for j in range(k):
        left -= L[k, j] * (G[k, j] + mu * L[k, j])
        size += L[k, j] * L[k, j]
        total = L[k, j]
        for m in range(j):
            total -= L[j, m] * L[k + 1, m]
        L[k + 1, j] = total
        inner += total * total * L[j, j]
    if direct:
        return size, -2 * inner
    norm2 = max(left, 0.0) / (mu * mu)
    return norm2, -2 * (norm2 - inner) / mu


@part()
def rational_step(
    now: float, norm2: float, falls: float, slope: float, zero: float, level: float
) -> float:  # pragma: no cover
    """Newton's step for 1 / ||u|| = (slope (mu - zero) + level)^(-1/2), whose left side is nearly straight.

    Where a side is no number, or the norm does not fall, which is rounding, the step leaves the interval,
    which is then halved.
    """
    right = slope * (now - zero) + level
    if not (falls < 0 and right > 0):
        return -2 * now
    one, other = 1 / math.sqrt(norm2), 1 / math.sqrt(right)
    return 2 * (other - one) / (slope * other * other * other - falls * one * one * one)


@part()
def last(step: float, mu: float, line: Line) -> bool:  # pragma: no cover
    """Whether a step is the last one: short beside mu, and beside the way from the line's zero to mu."""
    slope, zero, level = line
    return abs(step) <= LAST * mu and slope * abs(step) <= NEAR * (slope * (mu - zero) + level)


@called()
def _root(
    mu: float, low: float, high: float, line: Line, G: Array, k: int, L: Array, direct: bool
) -> float:  # pragma: no cover
    """The mu in [low, high] with ||u||^2 = slope (mu - zero) + level; 0 if rounding hides it."""
    slope, zero, level = line
    for _ in range(STEPS):
        norm2, falls = _norm2(mu, G, k, L, direct)
        if norm2 - slope * (mu - zero) - level > 0:
            low = mu
        else:
            high = mu
        step = rational_step(mu, norm2, falls, slope, zero, level)
        found = last(step, mu, line)
        if found or high - low <= ROUNDING * high:
            mu += step if found else 0.0
            lost, trace = (slope * (mu - zero) + level) * mu * mu <= CANCELLED * G[k, k], 0.0
            for j in range(k):
                trace += G[j, j]
            if direct:
                lost = mu <= SINGULAR * trace
            return 0.0 if lost else mu
        mu += step
        if not low < mu < high:
            mu = 0.5 * (low + high)
    return 0.0


@called()
def shift_of(
    own: tuple[float, float, float], old: float, size: float, G: Array, k: int, L: Array, direct: bool
) -> float:  # pragma: no cover
    """The mu of a row, or 0 for `compiled_hard`; ``old`` and ``size`` are the old ||u||^2 and ||c||^2."""
    mu, quartic, radius = own
    G[k, k] = size
    if quartic > 0.0:
        if size == 0.0:
            return 0.0
        high = max(2 * max(mu, 0.0), (8 * quartic * size) ** (1 / 3)) + 1e-300
        first = min(max(mu + 4 * quartic * old, 1e-3 * high), high)
        mu = _root(first, 0.0, high, (0.25 / quartic, mu, 0.0), G, k, L, direct)
    level = radius * radius
    if mu > 0.0 and radius > 0.0 and _norm2(mu, G, k, L, direct)[0] > level:
        mu = _root(mu, mu, max(mu, math.sqrt(size) / radius) + 1e-300, (0.0, 0.0, level), G, k, L, direct)
    return mu
