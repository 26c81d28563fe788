"""Compiled loops over pairs of rows: products with the Hessian of losses, and the loops of `incomplete`."""

from __future__ import annotations

import math

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import called, compiled, inlined

COUPLINGS = "intp[::1], intp[::1]"  # starts of couplings; later points
ENDS = "Array(intp, 1, 'C', True), Array(intp, 1, 'C', True)"  # read-only, as the arrays of problems are
FACTORS = "Tuple((f8[::1], intp[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1]))"
SIGNATURES = {
    "add_bends": f"void({ENDS}, f8[::1], f8[:, ::1], f8[:, ::1], f8[:, ::1])",
    "factorise": f"{FACTORS}({COUPLINGS}, UniTuple(intp[::1], 3), f8[::1], f8[::1], f8[:, ::1])",
    "solve": f"void(intp[::1], {COUPLINGS}, {FACTORS}, f8[:, ::1])",
}

Slots = tuple[Index, Index, Index]  # starts of the points' slots; earlier and later slots of couplings
Factors = tuple[Array, Index, Array, Array, Array]
"""The inverse of block i is scale_i I +- Z_i'Z_i (minus where scale_i > 0): scales (n,), the first and the
last row of Z_i (n, 2), the rows of all Z_i, and the multipliers and the vectors of the couplings (m, r)."""


@called()
def _factor(A: Array, k: int, least: float) -> None:  # pragma: no cover
    """Overwrite a matrix (k x k, on and below its diagonal) by its Cholesky factor; pivots are >= least.

    The diagonal holds the inverse of that of the factor.
    """
    for j in range(k):
        pivot = A[j, j]
        for m in range(j):
            pivot -= A[j, m] * A[j, m]
        A[j, j] = 1 / math.sqrt(max(pivot, least))
        for i in range(j + 1, k):
            entry = A[i, j]
            for m in range(j):
                entry -= A[i, m] * A[j, m]
            A[i, j] = entry * A[j, j]


@called()
def _reduce(A: Array, k: int, Z: Array) -> None:  # pragma: no cover
    """Overwrite Z (k x r) by L^-1 Z for the factor L in A."""
    for i in range(k):
        for m in range(i):
            for a in range(Z.shape[1]):
                Z[i, a] -= A[i, m] * Z[m, a]
        for a in range(Z.shape[1]):
            Z[i, a] *= A[i, i]


@called()
def _apply(scale: float, Z: Array, x: Array, out: Array) -> None:  # pragma: no cover
    """Set ``out`` to the inverse block applied to x."""
    r = x.shape[0]
    for a in range(r):
        out[a] = scale * x[a]
    for k in range(Z.shape[0]):
        along = 0.0
        for a in range(r):
            along += Z[k, a] * x[a]
        if scale > 0.0:
            along = -along
        for a in range(r):
            out[a] += along * Z[k, a]


@inlined
def _copy(x: Array, i: int, y: Array, j: int) -> None:  # pragma: no cover
    """Set row j of y to row i of x."""
    for a in range(x.shape[1]):
        y[j, a] = x[i, a]


@compiled
def add_bends(
    row: Index, column: Index, weight: Array, V: Array, E: Array, out: Array
) -> None:  # pragma: no cover
    """Add the products of sum_e weight_e g_e g_e' with E to out, where g_e is the derivative of V_i V_j'."""
    r = V.shape[1]
    for e in range(row.shape[0]):
        i, j, along = row[e], column[e], 0.0
        for a in range(r):
            along += V[i, a] * E[j, a] + V[j, a] * E[i, a]
        along *= weight[e]
        for a in range(r):
            pull = along * V[i, a]
            out[i, a] += along * V[j, a]
            out[j, a] += pull


@inlined
def _few(least: float, weight: Array, g: Array, A: Array, Z: Array) -> int:  # pragma: no cover
    """Factorise HH' + least I for the rows sqrt(weight_s) g_s of H, and set Z to L^-1 H / sqrt(least)."""
    k, r = 0, g.shape[1]
    for s in range(weight.shape[0]):
        if weight[s] > 0.0:
            root = math.sqrt(weight[s])
            for a in range(r):
                Z[k, a] = root * g[s, a]
            for j in range(k + 1):
                A[k, j] = 0.0
                for a in range(r):
                    A[k, j] += Z[k, a] * Z[j, a]
            A[k, k] += least
            k += 1
    _factor(A, k, least)
    _reduce(A, k, Z[:k])
    root = 1 / math.sqrt(least)
    for j in range(k):
        for a in range(r):
            Z[j, a] *= root
    return k


@inlined
def _many(least: float, weight: Array, g: Array, A: Array, Z: Array) -> None:  # pragma: no cover
    """Factorise least I + sum weight_s g_s g_s', and set Z to L^-1."""
    r = g.shape[1]
    for a in range(r):
        for b in range(r):
            Z[a, b], A[a, b] = 0.0, 0.0
        Z[a, a], A[a, a] = 1.0, least
    for s in range(weight.shape[0]):
        for a in range(r):
            along = weight[s] * g[s, a]
            for b in range(a + 1):
                A[a, b] += along * g[s, b]
    _factor(A, r, least)
    _reduce(A, r, Z[:r])


@inlined
def _block(
    least: float, weight: Array, g: Array, A: Array, Z: Array
) -> tuple[int, float]:  # pragma: no cover
    """The number of rows of Z and the scale of the inverse of least I + sum weight_s g_s g_s'.

    With fewer weights than columns it is I / least - Z'Z (Woodbury 1950), otherwise Z'Z.
    """
    k, r = 0, g.shape[1]
    for s in range(weight.shape[0]):
        k += weight[s] > 0.0
    if k < r:
        return _few(least, weight, g, A, Z), 1 / least
    _many(least, weight, g, A, Z)
    return r, 0.0


@compiled
def factorise(
    start: Index, later: Index, slots: Slots, weight: Array, diagonal: Array, g: Array
) -> Factors:  # pragma: no cover
    """Eliminate one point after the other from diagonal_i I + sum weight_s g_s g_s'.

    The weights of later points change: they are overwritten.
    """
    first, early, late = slots
    n, m, r = diagonal.shape[0], later.shape[0], g.shape[1]
    scale, rows = np.empty(n), np.empty((n, 2), np.intp)
    A, own, end = np.empty((r, r)), np.empty(r), 0
    for i in range(n):
        end += min(first[i + 1] - first[i], r)
    Z, multipliers, vectors, end = np.empty((end, r)), np.empty((m, r)), np.empty((m, r)), 0
    for i in range(n):
        here, there = first[i], first[i + 1]
        k, scale[i] = _block(diagonal[i], weight[here:there], g[here:there], A, Z[end:])
        rows[i, 0], rows[i, 1] = end, end + k
        for e in range(start[i], start[i + 1]):
            w, size = weight[early[e]], 0.0
            _apply(scale[i], Z[end : end + k], g[early[e]], own)
            for a in range(r):
                multipliers[e, a] = w * own[a]
                vectors[e, a] = g[late[e], a]
                size += g[early[e], a] * own[a]
            weight[late[e]] *= max(1 - w * size, 0.0)
        end += k
    return scale, rows, Z, multipliers, vectors


@compiled
def solve(order: Index, start: Index, later: Index, factors: Factors, x: Array) -> None:  # pragma: no cover
    """Overwrite x (n x r) by the solution; ``order`` has the row of x of each point."""
    scale, rows, Z, multipliers, vectors = factors
    n, r = x.shape
    y, own = np.empty((n, r)), np.empty(r)
    for i in range(n):
        _copy(x, order[i], y, i)
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            j, pull = later[e], 0.0
            for a in range(r):
                pull += multipliers[e, a] * y[i, a]
            for a in range(r):
                y[j, a] -= pull * vectors[e, a]
    for i in range(n - 1, -1, -1):
        _apply(scale[i], Z[rows[i, 0] : rows[i, 1]], y[i], own)
        for e in range(start[i], start[i + 1]):
            j, pull = later[e], 0.0
            for a in range(r):
                pull += vectors[e, a] * y[j, a]
            for a in range(r):
                own[a] -= pull * multipliers[e, a]
        for a in range(r):
            y[i, a] = own[a]
    for i in range(n):
        _copy(y, i, x, order[i])
