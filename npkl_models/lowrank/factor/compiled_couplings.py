"""Compiled loops over pairs of rows: products with the Hessian of losses, and the loops of `incomplete`."""

from __future__ import annotations

import math

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import compiled, inlined

COUPLINGS = "intp[::1], intp[::1]"  # starts of couplings; later points
ENDS = "Array(intp, 1, 'C', True), Array(intp, 1, 'C', True)"  # read-only, as the arrays of problems are
SIGNATURES = {
    "add_bends": f"void({ENDS}, f8[::1], f8[:, ::1], f8[:, ::1], f8[:, ::1])",
    "factorise": f"Tuple((f8[:, :, ::1], f8[:, ::1], f8[:, ::1]))({COUPLINGS}, UniTuple(intp[::1], 3), "
    "f8[::1], f8[::1], f8[:, ::1])",
    "solve": f"void(intp[::1], {COUPLINGS}, Tuple((f8[:, :, ::1], f8[:, ::1], f8[:, ::1])), f8[:, ::1])",
}

Slots = tuple[Index, Index, Index]  # the point of each slot; the slots of each coupling: earlier, later point
Factors = tuple[Array, Array, Array]  # inverse pivots (n, r, r); multipliers and vectors of couplings (m, r)


@inlined
def _invert(A: Array, least: float) -> None:  # pragma: no cover
    """Overwrite a symmetric matrix, given on and below its diagonal, by its inverse; eigenvalues >= least."""
    r = A.shape[0]
    for j in range(r):
        pivot = A[j, j]
        for k in range(j):
            pivot -= A[j, k] * A[j, k]
        root = math.sqrt(max(pivot, least))
        A[j, j] = root
        for i in range(j + 1, r):
            entry = A[i, j]
            for k in range(j):
                entry -= A[i, k] * A[j, k]
            A[i, j] = entry / root
    for j in range(r):
        A[j, j] = 1.0 / A[j, j]
        for i in range(j + 1, r):
            entry = 0.0
            for k in range(j, i):
                entry -= A[i, k] * A[k, j]
            A[i, j] = entry / A[i, i]
    for j in range(r):
        for i in range(j, r):
            entry = 0.0
            for k in range(i, r):
                entry += A[k, i] * A[k, j]
            A[i, j] = entry
            A[j, i] = entry


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


@compiled
def factorise(
    start: Index, later: Index, slots: Slots, weight: Array, diagonal: Array, g: Array
) -> Factors:  # pragma: no cover
    """Eliminate one point after the other from diagonal_i I + sum weight_s g_s g_s'; later blocks change."""
    point, early, late = slots
    n, m, r = diagonal.shape[0], later.shape[0], g.shape[1]
    blocks, multipliers, vectors = np.zeros((n, r, r)), np.empty((m, r)), np.empty((m, r))
    for i in range(n):
        for a in range(r):
            blocks[i, a, a] = diagonal[i]
    for s in range(point.shape[0]):
        i = point[s]
        for a in range(r):
            along = weight[s] * g[s, a]
            for b in range(a + 1):
                blocks[i, a, b] += along * g[s, b]
    for i in range(n):
        _invert(blocks[i], diagonal[i])
        for e in range(start[i], start[i + 1]):
            own, other, j, w = early[e], late[e], later[e], weight[early[e]]
            size = 0.0
            for a in range(r):
                entry = 0.0
                for b in range(r):
                    entry += blocks[i, a, b] * g[own, b]
                multipliers[e, a] = w * entry
                vectors[e, a] = g[other, a]
                size += g[own, a] * entry
            for a in range(r):
                along = w * w * size * g[other, a]
                for b in range(a + 1):
                    blocks[j, a, b] -= along * g[other, b]
    return blocks, multipliers, vectors


@compiled
def solve(order: Index, start: Index, later: Index, factors: Factors, x: Array) -> None:  # pragma: no cover
    """Overwrite x (n x r) by the solution; ``order`` has the row of x of each point."""
    inverse, multipliers, vectors = factors
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
        for a in range(r):
            entry = 0.0
            for b in range(r):
                entry += inverse[i, a, b] * y[i, b]
            own[a] = entry
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
