"""The compiled secular equation of one row, as in `secular`, from the Gram matrix of the row alone.

`compiled` describes W, G and L. After a change of this file, or of a constant in `secular`, touch `compiled`
and this file: numba's cache of a function watches only its own file.
"""

from __future__ import annotations

import math

from npkl_models.linalg import Array
from npkl_models.linalg.compile import compiled, inlined
from npkl_models.lowrank.rows.secular import CANCELLED, INNER, LAST, NARROW, SETTLED, STEPS

Row = tuple[float, float, float]  # mu0, a, b: mu0/2 ||v||^2 + a ||v||^4, ||v|| <= b (0 for no bound)
Line = tuple[float, float, float]  # slope, zero, level: slope (mu - zero) + level


@compiled
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


@compiled
def _norm2(mu: float, G: Array, k: int, L: Array) -> tuple[float, float]:  # pragma: no cover
    """||v||^2 and its derivative for v = (mu I + W'W)^-1 c, from the Gram matrix alone.

    Let b = W c and x = (mu I + WW')^-1 b. Then W v = x and ||v||^2 = (c'c - x'b - mu x'x) / mu^2. The
    derivative is -2 (||v||^2 - x'(mu I + WW')^-1 x) / mu, where x'(LDL')^-1 x = y'D^-1 y with L y = x.
    """
    solve_row(mu, G, k, L)
    left, inner = G[k, k], 0.0
    for j in range(k):
        left -= L[k, j] * (G[k, j] + mu * L[k, j])
        total = L[k, j]
        for m in range(j):
            total -= L[j, m] * L[k + 1, m]
        L[k + 1, j] = total
        inner += total * total * L[j, j]
    norm2 = max(left, 0.0) / (mu * mu)
    return norm2, -2 * (norm2 - inner) / mu


@compiled
def rational_step(now: float, norm2: float, falls: float, line: Line) -> float:  # pragma: no cover
    """The step to the root of the model t^2 norm2 / (t + d)^2 = line(now + d), t = -2 norm2 / falls.

    The model has the value and the slope of ||v||^2 at ``now``, and is exact for a single eigenvalue
    (More & Sorensen 1983). Newton's method finds the root of the model. Where the norm does not fall (this is
    rounding), the step leaves the interval, which is then halved.
    """
    if not falls < 0:
        return -2 * now
    t = -2 * norm2 / falls
    slope, zero, level = line
    if slope == 0.0:
        return t * (math.sqrt(norm2 / level) - 1)
    d = 0.0
    for _ in range(INNER):
        ratio = t / (t + d)
        value = norm2 * ratio * ratio - slope * (now + d - zero)
        change = value / (slope + 2 * norm2 * ratio * ratio / (t + d))
        d = max(d + change, -0.9 * t)
        if abs(change) <= SETTLED * now:
            break
    return d


@inlined
def _root(
    low: float, high: float, now: float, line: Line, G: Array, k: int, L: Array
) -> tuple[float, bool]:  # pragma: no cover
    """The mu in [low, high] at which ||v(mu)||^2 meets the line, and whether the iteration converged."""
    slope, zero, level = line
    for _ in range(STEPS):
        norm2, falls = _norm2(now, G, k, L)
        if norm2 - slope * (now - zero) - level > 0:
            low = now
        else:
            high = now
        step = rational_step(now, norm2, falls, line)
        if abs(step) <= LAST * now:
            return now + step, True
        if high - low <= NARROW * high:
            return now, True
        now = now + step
        if not low < now < high:
            now = 0.5 * (low + high)
    return now, False


@inlined
def shift_of(own: Row, G: Array, k: int, L: Array) -> float:  # pragma: no cover
    """The mu of a row; 0 if `minimise` must find mu: there is none, or rounding hides it."""
    mu, quartic, radius = own
    size = G[k, k]
    if quartic > 0.0:
        if size == 0.0:
            return 0.0
        high = max(2 * max(mu, 0.0), (8 * quartic * size) ** (1 / 3)) + 1e-300
        now = min(max(mu + 4 * quartic * G[k + 1, k + 1], 1e-3 * high), high)
        zero = mu
        mu, found = _root(0.0, high, now, (0.25 / quartic, zero, 0.0), G, k, L)
        if not found or 0.25 / quartic * (mu - zero) * mu * mu <= CANCELLED * size:
            return 0.0
    if mu > 0.0 and radius > 0.0 and _norm2(mu, G, k, L)[0] > radius * radius:
        high = max(mu, math.sqrt(size) / radius) + 1e-300
        mu = _root(mu, high, mu, (0.0, 0.0, radius * radius), G, k, L)[0]
        if radius * radius * mu * mu <= CANCELLED * size:
            return 0.0
    return mu
