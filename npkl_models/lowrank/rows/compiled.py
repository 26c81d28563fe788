"""The row update of `minimise` compiled by numba, a row at a time (without numba `minimise` serves).

The same mathematics in the same order of the points gives the same sweep, to rounding. It takes losses
whose slope is linear between two ends (the squares, linear, the hinge as `edges` makes it): of
several pieces each is tried in turn, as in `minimise`. A row whose secular equation has no positive root is
handed back to `minimise`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npkl_models.linalg import LINE, Array, Index
from npkl_models.linalg.compile import compiled, inlined, intrinsic
from npkl_models.lowrank.rows.compiled_secular import Row, shift_of, solve_row
from npkl_models.lowrank.tolerances import HALVED, ROUNDING

TURNS = 30  # pieces tried in turn
AHEAD = 2  # rows whose neighbours are asked for before their turn: memory answers late

# What belongs together travels in plain tuples: a class would have to keep its name for numba's cache.
Cost = tuple[Index, Index, Array]  # indptr, indices, data: CSR without the diagonal
Pairs = tuple[Index, Index, Array, Array]  # start (n + 1,), neighbour, root of the curvature, derivative at 0
Ramps = tuple[Array, Array, Array, Array]  # slopes clip(kappa z + shift, low, high); empty if all are linear
Work = tuple[Array, Array, Array, Array, Array]  # W, G, L, the pull of the cost, the row before
Rows = tuple[Array, Array, float]  # mu0, a, b: mu0/2 ||v||^2 + a ||v||^4, ||v|| <= b (0 for no bound)


# A row with k pairs has the vectors w_1 .. w_k of its pairs (rows of W), c (row k of W) and its present v.
# G is their Gram matrix in this order, below the diagonal; L holds a factor, x in row k and y in row k + 1.
# Few arrays travel, and none in a tuple below `sweep`: numba counts references to those at every call.


@inlined
def _ask(V: Array, near: Index, first: int, last: int) -> None:  # pragma: no cover
    """Ask memory for the rows near[first:last] of V."""
    for byte in range(0, 8 * V.shape[1], LINE):
        for m in range(first, last):
            prefetch(V, near[m], byte)


@inlined
def _pull_cost(
    W: Array, k: int, V: Array, indices: Index, data: Array, first: int, last: int
) -> None:  # pragma: no cover
    """Set c to the pull of the cost."""
    for a in range(V.shape[1]):
        W[k, a] = 0.0
    for m in range(first, last):
        weight, near = -2 * data[m], indices[m]
        for a in range(V.shape[1]):
            W[k, a] += weight * V[near, a]


@inlined
def _pull_pairs(
    W: Array, k: int, V: Array, neighbor: Index, root: Array, pull: Array, first: int
) -> None:  # pragma: no cover
    """Add the pull of the pairs to c, and set w_1 .. w_k."""
    for j in range(k):
        near, weight, scale = neighbor[first + j], pull[first + j], root[first + j]
        for a in range(V.shape[1]):
            W[k, a] -= weight * V[near, a]
        for a in range(V.shape[1]):
            W[j, a] = scale * V[near, a]


@inlined
def _gram(i: int, V: Array, W: Array, k: int, G: Array) -> None:  # pragma: no cover
    """Set the last row of W to v, and G."""
    for a in range(V.shape[1]):
        W[k + 1, a] = V[i, a]
    for j in range(k + 2):
        for m in range(j + 1):
            total = 0.0
            for a in range(V.shape[1]):
                total += W[j, a] * W[m, a]
            G[j, m] = total


@inlined
def _replace(
    i: int, V: Array, mu: float, own: Row, W: Array, G: Array, k: int, L: Array
) -> tuple[float, float]:  # pragma: no cover
    """Set row i to v(mu); returns how much the objective fell, and the squared gradient at the old row."""
    solve_row(mu, G, k, L)
    mu0, quartic, radius = own
    old = G[k + 1, k + 1]
    level = mu0 + 4 * quartic * old
    across, steep, new, gain = 0.0, 0.0, 0.0, -G[k + 1, k]
    for a in range(V.shape[1]):
        total, pulled = W[k, a], level * W[k + 1, a] - W[k, a]
        for j in range(k):
            total -= W[j, a] * L[k, j]
            pulled += W[j, a] * G[k + 1, j]
        across += pulled * W[k + 1, a]
        steep += pulled * pulled
        V[i, a] = total / mu
        gain += W[k, a] * V[i, a]
        new += V[i, a] * V[i, a]
    for j in range(k):
        gain += 0.5 * (G[k + 1, j] * G[k + 1, j] - L[k, j] * L[k, j])
    if radius > 0.0 and old >= radius * radius * (1 - 1e-9) and across < 0:
        steep -= across * across / old
    return gain + 0.5 * mu0 * (old - new) + quartic * (old * old - new * new), max(steep, 0.0)


@inlined
def _bend(i: int, V: Array, pairs: Pairs, ramps: Ramps) -> bool:  # pragma: no cover
    """Set the model of each pair to its piece at v; whether any changed."""
    start, neighbor, root, pull = pairs
    kappa, shift, low, high = ramps
    changed = False
    for m in range(start[i], start[i + 1]):
        z = 0.0
        for a in range(V.shape[1]):
            z += V[i, a] * V[neighbor[m], a]
        at = kappa[m] * z + shift[m]
        slope = min(max(at, low[m]), high[m])
        curved = math.sqrt(kappa[m]) if slope == at else 0.0
        level = shift[m] if slope == at else slope
        changed = changed or curved != root[m] or level != pull[m]
        root[m], pull[m] = curved, level
    return changed


@inlined
def _value(
    i: int, V: Array, own: Row, pulled: Array, neighbor: Index, ramps: Ramps, first: int, k: int
) -> float:  # pragma: no cover
    """The objective of a row."""
    kappa, shift, low, high = ramps
    size, total = 0.0, 0.0
    for a in range(V.shape[1]):
        size += V[i, a] * V[i, a]
        total -= pulled[a] * V[i, a]
    for m in range(first, first + k):
        z = 0.0
        for a in range(V.shape[1]):
            z += V[i, a] * V[neighbor[m], a]
        at = kappa[m] * z + shift[m]
        slope = min(max(at, low[m]), high[m])
        total += slope * (at - 0.5 * slope) / kappa[m] if kappa[m] > 0.0 else slope * z
    return total + 0.5 * own[0] * size + own[1] * size * size


@inlined
def _by_pieces(
    i: int, V: Array, own: Row, work: Work, pairs: Pairs, ramps: Ramps, measured: Array
) -> bool:  # pragma: no cover
    """Update row i by Newton steps from piece to piece; False where `minimise` must do it."""
    start, neighbor, root, pull = pairs
    W, G, L, pulled, kept = work
    at, k, r = start[i], start[i + 1] - start[i], V.shape[1]
    pulled[:] = W[k]
    before = _value(i, V, own, pulled, neighbor, ramps, at, k)
    _bend(i, V, pairs, ramps)
    now = before
    for turn in range(TURNS):
        for a in range(r):
            W[k, a], kept[a] = pulled[a], V[i, a]
        _pull_pairs(W, k, V, neighbor, root, pull, at)
        _gram(i, V, W, k, G)
        mu = shift_of(own, G, k, L)
        if not mu > 0.0:
            return False
        steep = _replace(i, V, mu, own, W, G, k, L)[1]
        if turn == 0:
            measured[1] += steep
        new = _value(i, V, own, pulled, neighbor, ramps, at, k)
        halved = 0
        while new > now + ROUNDING * (abs(new) + abs(now)) and halved < HALVED:  # back, half of the way
            for a in range(r):
                V[i, a] = 0.5 * (V[i, a] + kept[a])
            new = _value(i, V, own, pulled, neighbor, ramps, at, k)
            halved += 1
        if new > now:
            if halved == HALVED:
                V[i] = kept
            break
        now = new
        if not _bend(i, V, pairs, ramps) and halved == 0:
            break
    measured[0] += before - now
    return True


@compiled
def sweep(
    order: Index, first: int, V: Array, cost: Cost, pairs: Pairs, ramps: Ramps, rows: Rows, measured: Array
) -> int:  # pragma: no cover
    """Update the rows order[first:] one by one; returns the position of a row it cannot do, or -1.

    To ``measured`` it adds how much the objective fell, and the squares of the gradients that the rows had
    when their turn came (without the part that a tight norm bound holds). With ``ramps`` the models of the
    pairs are overwritten.
    """
    indptr, indices, data = cost
    start, neighbor, root, pull = pairs
    mu0, quartic, radius = rows
    width, r, straight = 2, V.shape[1], ramps[0].shape[0] == 0
    for i in range(start.shape[0] - 1):
        width = max(width, start[i + 1] - start[i] + 2)
    W, G, L = np.empty((width, r)), np.empty((width, width)), np.empty((width, width))
    work = W, G, L, np.empty(r), np.empty(r)
    for position in range(first, order.shape[0]):
        if position + AHEAD < order.shape[0]:
            later = order[position + AHEAD]
            _ask(V, indices, indptr[later], indptr[later + 1])
            _ask(V, neighbor, start[later], start[later + 1])
        i = order[position]
        k = start[i + 1] - start[i]
        own = (mu0[i], quartic[i], radius)
        _pull_cost(W, k, V, indices, data, indptr[i], indptr[i + 1])
        if straight or k == 0:
            _pull_pairs(W, k, V, neighbor, root, pull, start[i])
            _gram(i, V, W, k, G)
            mu = shift_of(own, G, k, L)
            if not mu > 0.0:
                return position
            fall, steep = _replace(i, V, mu, own, W, G, k, L)
            measured[0] += fall
            measured[1] += steep
        elif not _by_pieces(i, V, own, work, pairs, ramps, measured):
            return position
    return -1


@intrinsic
def prefetch(context: Any, V: Any, i: Any, byte: Any) -> Any:  # pragma: no cover
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
