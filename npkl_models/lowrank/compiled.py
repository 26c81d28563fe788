"""The row update of `rows` compiled by numba, a row at a time (extra ``fast``).

The same mathematics in the same order of the points gives the same sweep, to rounding. It takes losses
that are quadratic in the pairs (square, linear); a row whose secular equation has no positive root is
handed back to `rows`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npkl_models.linalg import Array, Index

try:
    import numba
except ImportError:  # the extra is not installed
    numba = None  # type: ignore[assignment,unused-ignore]

STEPS = 60
LAST = 1e-8  # Newton squares the error: a step so small is the last one


def available() -> bool:
    """Whether numba is installed."""
    return numba is not None


def _decorate(function: Any) -> Any:
    return function if numba is None else numba.njit(cache=True, fastmath=False)(function)


@_decorate
def _solve(mu: float, G: Array, k: int, L: Array, b: Array, x: Array) -> None:  # pragma: no cover
    """X = (mu I + G)^-1 b for the leading k x k block, by Cholesky."""
    for i in range(k):
        for j in range(i + 1):
            total = G[i, j] + (mu if i == j else 0.0)
            for m in range(j):
                total -= L[i, m] * L[j, m]
            L[i, j] = math.sqrt(max(total, 1e-300)) if i == j else total / L[j, j]
    for i in range(k):
        total = b[i]
        for m in range(i):
            total -= L[i, m] * x[m]
        x[i] = total / L[i, i]
    for i in range(k - 1, -1, -1):
        total = x[i]
        for m in range(i + 1, k):
            total -= L[m, i] * x[m]
        x[i] = total / L[i, i]


@_decorate
def _at(
    mu: float, W: Array, G: Array, k: int, L: Array, Wc: Array, x: Array, u: Array, c: Array, v: Array
) -> tuple[float, float]:  # pragma: no cover
    """V = (mu I + W'W)^-1 c; returns s = ||v||^2 and ds/dmu = -2 v'(mu I + W'W)^-1 v."""
    r = c.shape[0]
    _solve(mu, G, k, L, Wc, x)
    s = 0.0
    for a in range(r):
        total = c[a]
        for j in range(k):
            total -= W[j, a] * x[j]
        v[a] = total / mu
        s += v[a] * v[a]
    for j in range(k):
        total = 0.0
        for a in range(r):
            total += W[j, a] * v[a]
        u[j] = total
    _solve(mu, G, k, L, u, x)
    inner = 0.0
    for j in range(k):
        inner += u[j] * x[j]
    return s, -2 * (s - inner) / mu


@_decorate
def sweep(
    order: Index, first: int, V: Array,
    indptr: Index, indices: Index, data: Array,
    start: Index, neighbor: Index, pair: Index,
    h: Array, pull: Array, mu0: Array, quartic: Array, radius: float,
) -> int:  # pragma: no cover  # fmt: skip
    """Update the rows order[first:] one by one; returns the position of a row it cannot do, or -1."""
    r = V.shape[1]
    width = 1
    for i in range(start.shape[0] - 1):
        width = max(width, start[i + 1] - start[i])
    W, G, L = np.empty((width, r)), np.empty((width, width)), np.empty((width, width))
    Wc, x, u = np.empty(width), np.empty(width), np.empty(width)
    c, v = np.empty(r), np.empty(r)
    for position in range(first, order.shape[0]):
        i = order[position]
        c[:] = 0.0
        for m in range(indptr[i], indptr[i + 1]):
            weight, near = -2 * data[m], indices[m]
            for a in range(r):
                c[a] += weight * V[near, a]
        k = start[i + 1] - start[i]
        for j in range(k):
            e, near = pair[start[i] + j], neighbor[start[i] + j]
            root = math.sqrt(h[e])
            for a in range(r):
                c[a] -= pull[e] * V[near, a]
                W[j, a] = root * V[near, a]
        for j in range(k):
            total = 0.0
            for a in range(r):
                total += W[j, a] * c[a]
            Wc[j] = total
            for m in range(j + 1):
                total = 0.0
                for a in range(r):
                    total += W[j, a] * W[m, a]
                G[j, m] = total
                G[m, j] = total
        mu, q = mu0[i], quartic[i]
        if q > 0.0:
            size = 0.0
            old = 0.0
            for a in range(r):
                size += c[a] * c[a]
                old += V[i, a] * V[i, a]
            if size == 0.0:
                return position
            low, high = 0.0, max(2 * max(mu, 0.0), (8 * q * size) ** (1 / 3)) + 1e-300
            now = min(max(mu + 4 * q * old, 1e-3 * high), high)
            found = False
            for _ in range(STEPS):
                s, ds = _at(now, W, G, k, L, Wc, x, u, c, v)
                value = s - (now - mu) / (4 * q)
                if value > 0:
                    low = now
                else:
                    high = now
                step = value / max(1 / (4 * q) - ds, 1e-300)
                if abs(step) <= LAST * now or high - low <= 1e-15 * high:
                    now = now + step
                    found = True
                    break
                now = now + step
                if not low < now < high:
                    now = 0.5 * (low + high)
            if not found or now < 1e-9:
                return position
            mu = now
        elif mu <= 0.0:
            return position
        s, ds = _at(mu, W, G, k, L, Wc, x, u, c, v)
        if radius > 0.0 and s > radius * radius:
            low, high = mu, mu
            size = 0.0
            for a in range(r):
                size += c[a] * c[a]
            high = max(mu, math.sqrt(size) / radius) + 1e-300
            now = mu
            for _ in range(STEPS):
                s, ds = _at(now, W, G, k, L, Wc, x, u, c, v)
                value = s - radius * radius
                if value > 0:
                    low = now
                else:
                    high = now
                step = value / max(-ds, 1e-300)
                if abs(step) <= LAST * now or high - low <= 1e-15 * high:
                    now = now + step
                    break
                now = now + step
                if not low < now < high:
                    now = 0.5 * (low + high)
            s, ds = _at(now, W, G, k, L, Wc, x, u, c, v)
        for a in range(r):
            V[i, a] = v[a]
    return -1
