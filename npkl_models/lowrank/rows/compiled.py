"""The row update of `rows` compiled by numba, a row at a time (where numba has no build `rows` serves).

The same mathematics in the same order of the points gives the same sweep, to rounding. It takes losses
that are quadratic in the pairs (square, linear); a row whose secular equation has no positive root is
handed back to `rows`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npkl_models.linalg import LINE, Array, Index

try:
    import numba
    import numba.extending
except ImportError:  # the extra is not installed
    numba = None  # type: ignore[assignment,unused-ignore]

STEPS = 60
AHEAD = 2  # rows whose neighbours are asked for before their turn: memory answers late
LAST = 1e-4  # the next step would be about its square


def available() -> bool:
    """Whether numba is installed."""
    return numba is not None


def _decorate(function: Any) -> Any:
    if numba is None:
        return function
    return numba.njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})(function)


def _intrinsic(function: Any) -> Any:
    return function if numba is None else numba.extending.intrinsic(function)


@_intrinsic
def _prefetch(context: Any, V: Any, i: Any, byte: Any) -> Any:  # pragma: no cover
    """Ask memory for the line that holds this byte of row i of V, without waiting for it."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        stride = builder.extract_value(array.strides, 0)
        at = builder.add(builder.mul(stride, arguments[1]), arguments[2])
        address = builder.gep(builder.bitcast(array.data, pointer), [at])
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        builder.call(ask, [address, number(0), number(3), number(1)])  # to be read, kept near, data
        return context.get_dummy_value()

    return types.void(V, types.intp, types.intp), generate


@_decorate
def _factor(mu: float, G: Array, k: int, L: Array) -> None:  # pragma: no cover
    """Factors L D L' = mu I + G of the leading k x k block; the diagonal of L holds 1 / D."""
    for i in range(k):
        pivot = G[i, i] + mu
        for j in range(i):
            total = G[i, j]
            for m in range(j):
                total -= L[i, m] * L[m, j]
            L[j, i] = total  # D_j L_ij, above the diagonal
            L[i, j] = total * L[j, j]
            pivot -= total * L[i, j]
        L[i, i] = 1 / max(pivot, 1e-300)


@_decorate
def _solve(L: Array, k: int, b: Array, x: Array) -> None:  # pragma: no cover
    """Solve L D L' x = b."""
    for i in range(k):
        total = b[i]
        for m in range(i):
            total -= L[i, m] * x[m]
        x[i] = total
    for i in range(k - 1, -1, -1):
        total = x[i] * L[i, i]
        for m in range(i + 1, k):
            total -= L[m, i] * x[m]
        x[i] = total


@_decorate
def _norm2(
    mu: float, G: Array, k: int, L: Array, b: Array, x: Array, y: Array, cc: float
) -> tuple[float, float]:  # pragma: no cover
    """S = ||v||^2 and ds/dmu for v = (mu I + W'W)^-1 c, from b = W c, G = W W' and cc = ||c||^2 alone.

    With x = (mu I + G)^-1 b one has W v = x, s = (cc - x'b - mu x'x) / mu^2 and
    ds/dmu = -2 (s - x'(mu I + G)^-1 x) / mu, where x'(LDL')^-1 x = y'D^-1 y with L y = x.
    """
    _factor(mu, G, k, L)
    _solve(L, k, b, x)
    s = cc
    inner = 0.0
    for j in range(k):
        s -= x[j] * (b[j] + mu * x[j])
        total = x[j]
        for m in range(j):
            total -= L[j, m] * y[m]
        y[j] = total
        inner += total * total * L[j, j]
    s = max(s, 0.0) / (mu * mu)
    return s, -2 * (s - inner) / mu


@_decorate
def _rational_step(now: float, s: float, ds: float, mu0: float, slope: float) -> float:  # pragma: no cover
    """The step to the root of the model t^2 s / (t + d)^2 = slope (now + d - mu0), t = -2 s / ds.

    The model has the value and the slope of s(mu) at ``now``, and is exact for a single eigenvalue
    (More & Sorensen 1983); its own root is found by Newton.
    """
    if not ds < 0:
        return 0.0
    t = -2 * s / ds
    d = 0.0
    for _ in range(8):
        ratio = t / (t + d)
        value = s * ratio * ratio - slope * (now + d - mu0)
        change = value / (slope + 2 * s * ratio * ratio / (t + d))
        d = max(d + change, -0.9 * t)
        if abs(change) <= 1e-3 * LAST * LAST * now:
            break
    return d


@_decorate
def sweep(
    order: Index, first: int, V: Array,
    indptr: Index, indices: Index, data: Array,
    start: Index, neighbor: Index, root: Array, pull: Array,
    mu0: Array, quartic: Array, radius: float, measured: Array,
) -> int:  # pragma: no cover  # fmt: skip
    """Update the rows order[first:] one by one; returns the position of a row it cannot do, or -1.

    To ``measured`` it adds how much the objective fell, and the squares of the gradients that the rows had
    when their turn came (without the part that a tight norm bound holds).
    """
    r = V.shape[1]
    width = 1
    for i in range(start.shape[0] - 1):
        width = max(width, start[i + 1] - start[i])
    W, G, L = np.empty((width, r)), np.empty((width, width)), np.empty((width, width))
    b, x, y, before = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    c = np.empty(r)
    for position in range(first, order.shape[0]):
        if position + AHEAD < order.shape[0]:
            later = order[position + AHEAD]
            for byte in range(0, 8 * r, LINE):
                for m in range(indptr[later], indptr[later + 1]):
                    _prefetch(V, indices[m], byte)
                for m in range(start[later], start[later + 1]):
                    _prefetch(V, neighbor[m], byte)
        i = order[position]
        c[:] = 0.0
        for m in range(indptr[i], indptr[i + 1]):
            weight, near = -2 * data[m], indices[m]
            for a in range(r):
                c[a] += weight * V[near, a]
        k = start[i + 1] - start[i]
        for j in range(k):
            at = start[i] + j
            near, weight, scale = neighbor[at], pull[at], root[at]
            for a in range(r):
                c[a] -= weight * V[near, a]
                W[j, a] = scale * V[near, a]
        for j in range(k):
            total = 0.0
            for a in range(r):
                total += W[j, a] * c[a]
            b[j] = total
            total = 0.0
            for a in range(r):
                total += W[j, a] * V[i, a]
            before[j] = total
            for m in range(j + 1):
                total = 0.0
                for a in range(r):
                    total += W[j, a] * W[m, a]
                G[j, m] = total
                G[m, j] = total
        mu, q = mu0[i], quartic[i]
        size, old, gain = 0.0, 0.0, 0.0
        for a in range(r):
            size += c[a] * c[a]
            old += V[i, a] * V[i, a]
            gain -= c[a] * V[i, a]
        if q > 0.0:
            if size == 0.0:
                return position
            low, high = 0.0, max(2 * max(mu, 0.0), (8 * q * size) ** (1 / 3)) + 1e-300
            now = min(max(mu + 4 * q * old, 1e-3 * high), high)
            found = False
            for _ in range(STEPS):
                s, ds = _norm2(now, G, k, L, b, x, y, size)
                value = s - (now - mu) / (4 * q)
                if value > 0:
                    low = now
                else:
                    high = now
                step = _rational_step(now, s, ds, mu, 0.25 / q)
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
        if radius > 0.0 and _norm2(mu, G, k, L, b, x, y, size)[0] > radius * radius:
            low, high = mu, max(mu, math.sqrt(size) / radius) + 1e-300
            now = mu
            for _ in range(STEPS):
                s, ds = _norm2(now, G, k, L, b, x, y, size)
                value = s - radius * radius
                if value > 0:
                    low = now
                else:
                    high = now
                step = 2 * s / -ds * (math.sqrt(s) / radius - 1) if ds < 0 else 0.0
                if abs(step) <= LAST * now or high - low <= 1e-15 * high:
                    now = now + step
                    break
                now = now + step
                if not low < now < high:
                    now = 0.5 * (low + high)
            mu = now
        _factor(mu, G, k, L)
        _solve(L, k, b, x)
        level = mu0[i] + 4 * q * old
        across, steep, new = 0.0, 0.0, 0.0
        for a in range(r):
            total, pulled = c[a], level * V[i, a] - c[a]
            for j in range(k):
                total -= W[j, a] * x[j]
                pulled += W[j, a] * before[j]
            across += pulled * V[i, a]
            steep += pulled * pulled
            V[i, a] = total / mu
            gain += c[a] * V[i, a]
            new += V[i, a] * V[i, a]
        for j in range(k):
            gain += 0.5 * (before[j] * before[j] - x[j] * x[j])
        if radius > 0.0 and old >= radius * radius * (1 - 1e-9) and across < 0:
            steep -= across * across / old
        measured[0] += gain + 0.5 * mu0[i] * (old - new) + q * (old * old - new * new)
        measured[1] += max(steep, 0.0)
    return -1
