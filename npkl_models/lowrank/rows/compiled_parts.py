"""Parts of compiled sweeps: operations on rows, pieces of losses, and the pull of the cost.

After a change of this file, change `compiled` and `compiled_compare`, too: numba's cache reads these files.
"""

from __future__ import annotations

import math
from typing import Any

from npkl_models.linalg import LINE, Array, Index
from npkl_models.linalg.compile import called, intrinsic, part

# The arrays of the cost may be the problem's own, which are read-only: numba has another type for these.
COST = "Tuple((Array(intp, 1, 'C', True), Array(i4, 1, 'C', True), Array(f8, 1, 'C', True)))"
LOSSES = "UniTuple(f8[::1], 5)"
PULL, MEAN, GRADIENT, KEPT, C, U = range(6)  # rows of T: the cost's pull, m, the gradient, the old v, c and u

# Arrays that belong together are in plain tuples: a class would have to keep its name for numba's cache.
Cost = tuple[Index, Array, Array]  # indptr, indices (32 bits), data: CSR, whose diagonal is not used
Losses = tuple[Array, Array, Array, Array, Array]  # see `EdgeModel.ramps`


@called("UniTuple(f8, 3)(f8, f8, f8)")
def logistic(z: float, weight: float, sign: float) -> tuple[float, float, float]:  # pragma: no cover
    """Value, slope and curvature of the logistic loss."""
    margin = sign * z
    small = math.exp(-abs(margin))
    share = small / (1.0 + small)  # the smaller of the two probabilities
    wrong = share if margin > 0.0 else 1.0 - share
    value = weight * (max(-margin, 0.0) + math.log1p(small))
    return value, -sign * weight * wrong, weight * share * (1.0 - share)


@part()
def piece(z: float, losses: Losses, e: int) -> tuple[float, float, float]:  # pragma: no cover
    """Value (up to a constant), slope and curvature of loss e."""
    kappa, shift, low, high, sign = losses
    if sign[e] != 0.0:
        return logistic(z, high[e], sign[e])
    at = kappa[e] * z + shift[e]
    slope = min(max(at, low[e]), high[e])
    if kappa[e] > 0.0:
        return slope * (at - 0.5 * slope) / kappa[e], slope, kappa[e] if slope == at else 0.0
    return slope * z, slope, 0.0


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
