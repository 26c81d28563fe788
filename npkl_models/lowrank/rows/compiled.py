"""The row update of `minimise`, compiled by numba, one row at a time; without numba, `minimise` runs.

The same mathematics in the same order of the points gives the same sweep, to rounding. This sweep supports
losses whose slope is a straight line (square and linear losses). `compiled_pieces` supports losses whose
slope is linear between two ends. `minimise` updates a row whose secular equation has no root above rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.linalg import LINE, Array, Index
from npkl_models.linalg.compile import compiled, inlined, intrinsic
from npkl_models.lowrank.rows.compiled_secular import Row, shift_of, solve_row

# The arrays of the cost may be the problem's own, which are read-only: numba has another type for these.
COST = "Tuple((Array(intp, 1, 'C', True), Array(i4, 1, 'C', True), Array(f8, 1, 'C', True)))"
SIGNATURES = {
    "sweep": f"intp(intp[::1], intp, f8[:, ::1], {COST}, "
    "Tuple((intp[::1], intp[::1], f8[::1], f8[::1])), Tuple((f8[::1], f8[::1], f8)), f8[::1])"
}
AHEAD = 2  # the neighbours of a row are fetched from memory this many rows earlier

# Arrays that belong together are in plain tuples: a class would have to keep its name for numba's cache.
Cost = tuple[Index, Array, Array]  # indptr, indices (32 bits), data: CSR, whose diagonal is not used
Pairs = tuple[Index, Index, Array, Array]  # start (n + 1,), neighbour, root of the curvature, derivative at 0
Work = tuple[Array, Array, Array]  # W, G, L
Rows = tuple[Array, Array, float]  # mu0, a, b: mu0/2 ||v||^2 + a ||v||^4, ||v|| <= b (0 for no bound)


# A row with k pairs has the vectors w_1 .. w_k of its pairs (rows of W), c (row k of W) and its present v.
# G is their Gram matrix in this order, below the diagonal; L holds a factor, x in row k and y in row k + 1.
# Below `sweep`, few arrays are passed, and none in a tuple: numba counts their references at every call.


@inlined
def ask(V: Array, near: Index, first: int, last: int) -> None:  # pragma: no cover
    """Prefetch the rows near[first:last] of V."""
    for byte in range(0, 8 * V.shape[1], LINE):
        for m in range(first, last):
            prefetch(V, near[m], byte)


@inlined
def pull_cost(
    i: int, W: Array, k: int, V: Array, indices: Index, data: Array, first: int, last: int
) -> None:  # pragma: no cover
    """Set c to the pull of the cost's entries in row i beside the diagonal."""
    for a in range(V.shape[1]):
        W[k, a] = 0.0
    for m in range(first, last):
        weight, near = -2 * data[m], indices[m]
        if near != i:
            for a in range(V.shape[1]):
                W[k, a] += weight * V[near, a]


@inlined
def pull_pairs(
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
def gram(i: int, V: Array, W: Array, k: int, G: Array) -> None:  # pragma: no cover
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
def replace(
    i: int, V: Array, mu: float, own: Row, W: Array, G: Array, k: int, L: Array
) -> tuple[float, float]:  # pragma: no cover
    """Set row i to v(mu); returns the fall of the objective, and the squared gradient at the old row."""
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
def workspace(start: Index, r: int) -> Work:  # pragma: no cover
    """Arrays W, G and L for the row with the most pairs."""
    width = 2
    for i in range(start.shape[0] - 1):
        width = max(width, start[i + 1] - start[i] + 2)
    return np.empty((width, r)), np.empty((width, width)), np.empty((width, width))


@inlined
def begin(
    order: Index, position: int, V: Array, cost: Cost, pairs: Pairs, W: Array
) -> int:  # pragma: no cover
    """The point at a position; its c is set in W, and the neighbours of a later point are prefetched."""
    indptr, indices, data = cost
    start, neighbor = pairs[0], pairs[1]
    if position + AHEAD < order.shape[0]:
        later = order[position + AHEAD]
        ask(V, indices, indptr[later], indptr[later + 1])
        ask(V, neighbor, start[later], start[later + 1])
    i = order[position]
    pull_cost(i, W, start[i + 1] - start[i], V, indices, data, indptr[i], indptr[i + 1])
    return i


@inlined
def update(
    i: int, V: Array, pairs: Pairs, rows: Rows, work: Work, measured: Array
) -> bool:  # pragma: no cover
    """Update row i, whose slopes are straight lines; False if `minimise` must update it."""
    start, neighbor, root, pull = pairs
    W, G, L = work
    mu0, quartic, radius = rows
    k, own = start[i + 1] - start[i], (mu0[i], quartic[i], radius)
    pull_pairs(W, k, V, neighbor, root, pull, start[i])
    gram(i, V, W, k, G)
    mu = shift_of(own, G, k, L)
    if not mu > 0.0:
        return False
    fall, steep = replace(i, V, mu, own, W, G, k, L)
    measured[0] += fall
    measured[1] += steep
    return True


@compiled
def sweep(
    order: Index, first: int, V: Array, cost: Cost, pairs: Pairs, rows: Rows, measured: Array
) -> int:  # pragma: no cover
    """Update the rows order[first:] one by one; returns the position of a row that `minimise` must do, or -1.

    ``measured`` grows by the fall of the objective, and by the squared gradients of the rows just before
    their updates. A gradient counts without the part that a tight norm bound balances.
    """
    work = workspace(pairs[0], V.shape[1])
    for position in range(first, order.shape[0]):
        i = begin(order, position, V, cost, pairs, work[0])
        if not update(i, V, pairs, rows, work, measured):
            return position
    return -1


@intrinsic
def prefetch(context: Any, V: Any, i: Any, byte: Any) -> Any:  # pragma: no cover
    """Prefetch the cache line with this byte of row i of V."""
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
        builder.call(ask, [address, number(0), number(3), number(1)])  # read, keep in cache, data
        return context.get_dummy_value()

    return types.void(V, types.intp, types.intp), generate
