"""The row update of `minimise` and `apart`, compiled by numba, one row at a time; without numba they run.

One loop takes all losses whose slope is linear between two ends on entries, and squares on squared distances.
The same mathematics in the same order of the points gives the same sweep, to rounding. Numpy updates a row
whose secular equation has no root above rounding.
"""

from __future__ import annotations

import math
from typing import Any

from npkl_models.linalg import LINE, Array, Index
from npkl_models.linalg.compile import compiled, intrinsic, part
from npkl_models.lowrank.rows.compiled_secular import shift_of, solve_row
from npkl_models.lowrank.tolerances import HALVED, INNER_STEPS, ROUNDING

# The arrays of the cost may be the problem's own, which are read-only: numba has another type for these.
COST = "Tuple((Array(intp, 1, 'C', True), Array(i4, 1, 'C', True), Array(f8, 1, 'C', True)))"
SIGNATURES = {
    "sweep": f"intp(intp[::1], f8[:, ::1], {COST}, "
    "Tuple((intp[::1], Array(i4, 1, 'C', True), f8[::1], f8[::1], f8[::1], f8[::1])), "
    "Tuple((f8[::1], f8[::1], f8, f8[:, ::1])), UniTuple(boolean, 2), UniTuple(f8[:, ::1], 5), f8[::1])"
}
AHEAD = 2  # the neighbours of a row are fetched from memory this many rows earlier
PULL, MEAN, GRADIENT, KEPT, C, U = range(6)  # rows of T: the cost's pull, m, the gradient, the old v, c and u

# Arrays that belong together are in plain tuples: a class would have to keep its name for numba's cache.
Cost = tuple[Index, Array, Array]  # indptr, indices (32 bits), data: CSR, whose diagonal is not used
# start (n + 1,), neighbour (32 bits); kappa, shift, low, high: slopes clip(kappa z + shift, low, high)
Pairs = tuple[Index, Array, Array, Array, Array, Array]
# mu0, a, b: mu0/2 ||v||^2 + a ||v||^4, ||v|| <= b (0 for no bound); more gradient (n x r, or no rows)
Rows = tuple[Array, Array, float, Array]
Row = tuple[float, float, float]  # mu0, a and b of one row
Place = tuple[int, int, int]  # a row, the position of its first pair, and the number of its pairs
# T; W with rows w_1 .. w_k of the pairs; G; L; the losses h/2 z^2 + l z of a row's pairs, h above l
Work = tuple[Array, Array, Array, Array, Array]


@part("f8(f8[:, ::1], intp, f8[:, ::1], intp)")
def dot(A: Array, i: int, B: Array, j: int) -> float:  # pragma: no cover
    """The inner product of row i of A and row j of B."""
    total = 0.0
    for a in range(A.shape[1]):
        total += A[i, a] * B[j, a]
    return total


@part("void(f8[:, ::1], intp, f8, f8[:, ::1], intp)")
def add(A: Array, i: int, weight: float, B: Array, j: int) -> None:  # pragma: no cover
    """Add a multiple of row j of B to row i of A."""
    for a in range(A.shape[1]):
        A[i, a] += weight * B[j, a]


@part("void(f8[:, ::1], intp, f8, f8[:, ::1], intp)")
def put(A: Array, i: int, weight: float, B: Array, j: int) -> None:  # pragma: no cover
    """Set row i of A to a multiple of row j of B."""
    for a in range(A.shape[1]):
        A[i, a] = weight * B[j, a]


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


@part("void(f8[:, ::1], Array(i4, 1, 'C', True), intp, intp)")
def ask(V: Array, near: Index, first: int, last: int) -> None:  # pragma: no cover
    """Prefetch the rows near[first:last] of V."""
    for byte in range(0, 8 * V.shape[1], LINE):
        for m in range(first, last):
            prefetch(V, near[m], byte)


@part()
def pull_cost(
    i: int, T: Array, V: Array, indices: Index, data: Array, first: int, last: int
) -> None:  # pragma: no cover
    """Set row `PULL` of T to the pull of the cost's entries in row i beside the diagonal."""
    put(T, PULL, 0.0, V, i)
    for m in range(first, last):
        if indices[m] != i:
            add(T, PULL, -2 * data[m], V, indices[m])


@part()
def _value(
    place: Place, V: Array, pairs: Pairs, model: Array, T: Array, own: Row
) -> tuple[float, bool]:  # pragma: no cover
    """The objective of a row at v. The models of its pairs become their pieces at v: whether one changed."""
    i, first, k = place
    _, neighbor, kappa, shift, low, high = pairs
    size, changed = dot(V, i, V, i), False
    total = 0.5 * own[0] * size + own[1] * size * size - dot(T, PULL, V, i)
    for j in range(k):
        m = first + j
        z = dot(V, i, V, neighbor[m])
        at = kappa[m] * z + shift[m]
        slope = min(max(at, low[m]), high[m])
        inside = slope == at
        bend = kappa[m] if inside else 0.0
        start = shift[m] if inside else slope
        changed = changed or bend != model[0, j] or start != model[1, j]
        model[0, j], model[1, j] = bend, start
        total += slope * (at - 0.5 * slope) / kappa[m] if kappa[m] > 0.0 else slope * z
    return total, changed


@part()
def _straight(place: Place, pairs: Pairs, model: Array) -> None:  # pragma: no cover
    """Set the models of a row's pairs whose slopes have no ends."""
    _, first, k = place
    for j in range(k):
        model[0, j], model[1, j] = pairs[2][first + j], pairs[3][first + j]


@part()
def _assemble(
    place: Place, V: Array, neighbor: Index, model: Array, T: Array, W: Array, own: Row, apart: bool
) -> Row:  # pragma: no cover
    """Set m, u = v - m, c and w_1 .. w_k, as in `apart`; m is 0 on entries. The row problem in u."""
    i, first, k = place
    mu, quartic, radius = own
    put(T, U, 1.0, V, i)
    put(T, C, 1.0, T, PULL)
    if apart:
        put(T, MEAN, 0.0, V, i)
        for j in range(k):
            quartic += 0.5 * model[0, j]
            add(T, MEAN, 0.5 * model[0, j], V, neighbor[first + j])
        put(T, MEAN, 1 / max(quartic, 1e-300), T, MEAN)
        add(T, U, -1.0, T, MEAN)
        add(T, C, -mu, T, MEAN)
    for j in range(k):
        weight, scale = -model[1, j], math.sqrt(model[0, j])
        put(W, j, 1.0, V, neighbor[first + j])
        if apart:
            add(W, j, -1.0, T, MEAN)
            weight, scale = 2 * (model[0, j] * dot(W, j, W, j) + model[1, j]), 2 * scale
            mu += weight
        add(T, C, weight, W, j)
        put(W, j, scale, W, j)
    return mu, quartic, radius


@part()
def _gram(T: Array, W: Array, k: int, G: Array, direct: bool) -> None:  # pragma: no cover
    """Set G as `compiled_secular` describes it."""
    r = W.shape[1]
    for j in range(r if direct else k):
        for m in range(j + 1):
            if direct:
                total = 0.0
                for e in range(k):
                    total += W[e, j] * W[e, m]
                G[j, m] = total
            else:
                G[j, m] = dot(W, j, W, m)
        G[r if direct else k, j] = T[C, j] if direct else dot(T, C, W, j)


@part()
def _replace(
    place: Place, V: Array, mu: float, own: Row, T: Array, W: Array, L: Array, apart: bool
) -> tuple[float, float]:  # pragma: no cover
    """Set row i to v = m + u(mu); the fall of the objective, and the squared gradient at the old row."""
    i, _, k = place
    mu0, quartic, radius = own
    r = V.shape[1]
    if k < r:
        put(V, i, 1 / mu, T, C)
        for j in range(k):
            add(V, i, -L[k, j] / mu, W, j)
    else:
        put(V, i, 1.0, L, r)
    old, new, fall, across, steep = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(r):
        u, v, c = T[U, a], V[i, a], T[C, a]
        old, new, fall = old + u * u, new + v * v, fall + c * (v - u)
    for a in range(r):
        T[GRADIENT, a] = (mu0 + 4 * quartic * old) * T[U, a] - T[C, a]
    for j in range(k):
        before, after = dot(W, j, T, U), L[k, j] if k < r else dot(W, j, V, i)
        fall += 0.5 * (before * before - after * after)
        add(T, GRADIENT, before, W, j)
    if apart:
        add(V, i, 1.0, T, MEAN)
    for a in range(r):
        across += T[GRADIENT, a] * T[U, a]
        steep += T[GRADIENT, a] * T[GRADIENT, a]
    if radius > 0.0 and old >= radius * radius * (1 - 1e-9) and across < 0:
        steep -= across * across / old
    return fall + 0.5 * mu0 * (old - new) + quartic * (old * old - new * new), max(steep, 0.0)


@part()
def _update(
    i: int, V: Array, pairs: Pairs, own: Row, kinds: tuple[bool, bool], work: Work, measured: Array
) -> bool:  # pragma: no cover
    """Update row i, by Newton steps from piece to piece if there are pieces; False if numpy must do it."""
    apart, pieces = kinds
    T, W, G, L, model = work
    first = pairs[0][i]
    k = pairs[0][i + 1] - first
    place = i, first, k
    direct = k >= V.shape[1]
    order = V.shape[1] if direct else k
    turn, halved, before, now = 0, 0, 0.0, 0.0
    while True:
        if not pieces:
            _straight(place, pairs, model)
        else:
            new, changed = _value(place, V, pairs, model, T, own)
            if turn == 0:
                before = now = new
            elif new > now + ROUNDING * (abs(new) + abs(now)):
                if halved == HALVED:
                    put(V, i, 1.0, T, KEPT)
                    break
                put(V, i, 0.5, V, i)
                add(V, i, 0.5, T, KEPT)
                halved += 1
                continue
            else:
                rises = new > now
                now = min(new, now)
                if rises or turn == INNER_STEPS or (halved == 0 and not changed):
                    break
        problem = _assemble(place, V, pairs[1], model, T, W, own, apart)
        if pieces:
            put(T, KEPT, 1.0, V, i)
        _gram(T, W, k, G, direct)
        mu = shift_of(problem, dot(T, U, T, U), dot(T, C, T, C), G, order, L, direct)
        if not mu > 0.0:
            measured[0] += before - now
            return False
        solve_row(mu, G, order, L)
        fall, steep = _replace(place, V, mu, problem, T, W, L, apart)
        if turn == 0:
            measured[1] += steep
        turn, halved = turn + 1, 0
        if not pieces:
            now = -fall
            break
    measured[0] += before - now
    return True


@compiled
def sweep(
    order: Index, V: Array, cost: Cost, pairs: Pairs, rows: Rows, kinds: tuple[bool, bool], work: Work,
    measured: Array,
) -> int:  # fmt: skip # pragma: no cover
    """Update the rows in order, one by one; returns the position of a row that numpy must do, or -1.

    ``kinds`` tell whether values are squared distances, and whether a slope has ends. ``measured`` grows by
    the fall of the objective, and by the squared gradients of the rows just before their updates. A gradient
    counts without the part that a tight norm bound balances.
    """
    indptr, indices, data = cost
    mu0, quartic, radius, fixed = rows
    for position in range(order.shape[0]):
        if position + AHEAD < order.shape[0]:
            later = order[position + AHEAD]
            ask(V, indices, indptr[later], indptr[later + 1])
            ask(V, pairs[1], pairs[0][later], pairs[0][later + 1])
        i = order[position]
        pull_cost(i, work[0], V, indices, data, indptr[i], indptr[i + 1])
        if fixed.shape[0]:
            add(work[0], PULL, -1.0, fixed, i)
        if not _update(i, V, pairs, (mu0[i], quartic[i], radius), kinds, work, measured):
            return position
    return -1
