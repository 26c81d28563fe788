"""The compiled row update of `apart`: squared distances with losses whose slope is a straight line.

`compiled` has the parts that the sweeps share, and describes the arrays. Here a row of W is 2 sqrt(h) e,
where e is a neighbour minus the weighted mean m of the neighbours. The unknown row is u = v - m. With at
least as many neighbours as columns, `compiled_direct` solves the secular equation.
"""

from __future__ import annotations

import math

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import compiled, inlined
from npkl_models.lowrank.rows.compiled import COST, Cost, Pairs, Work, begin, gram, replace
from npkl_models.lowrank.rows.compiled_direct import curvature, replace_directly, shift_directly
from npkl_models.lowrank.rows.compiled_secular import shift_of

SIGNATURES = {
    "sweep_apart": f"intp(intp[::1], intp, f8[:, ::1], {COST}, "
    "Tuple((intp[::1], intp[::1], f8[::1], f8[::1])), f8[::1], f8[:, ::1], f8[::1])"
}


@inlined
def _recentre(
    i: int, V: Array, W: Array, k: int, m: Array, pairs: Pairs, first: int, mu0: float
) -> tuple[float, float]:  # pragma: no cover
    """Set m, w_1 .. w_k and c, and row i of V to v - m; returns mu0 and a of the row problem in v - m."""
    neighbor, curve, level = pairs[1], pairs[2], pairs[3]
    quartic, mu = 0.0, mu0
    for a in range(V.shape[1]):
        m[a] = 0.0
    for j in range(first, first + k):
        quartic += 0.5 * curve[j]
        for a in range(V.shape[1]):
            m[a] += 0.5 * curve[j] * V[neighbor[j], a]
    for a in range(V.shape[1]):
        m[a] = m[a] / quartic if quartic > 0.0 else 0.0
        W[k, a] -= mu0 * m[a]
    for j in range(k):
        h, near, size = curve[first + j], neighbor[first + j], 0.0
        scale = 2 * math.sqrt(h)
        for a in range(V.shape[1]):
            W[j, a] = V[near, a] - m[a]
            size += W[j, a] * W[j, a]
        pull = 2 * (h * size + level[first + j])
        mu += pull
        for a in range(V.shape[1]):
            W[k, a] += pull * W[j, a]
            W[j, a] *= scale
    for a in range(V.shape[1]):
        V[i, a] -= m[a]
    return mu, quartic


@inlined
def _update(
    i: int, V: Array, pairs: Pairs, mu0: Array, work: Work, m: Array, measured: Array
) -> bool:  # pragma: no cover
    """Update row i; False if `minimise_apart` must do it, with the row unchanged to rounding."""
    W, G, L = work
    k, r = pairs[0][i + 1] - pairs[0][i], V.shape[1]
    mu_own, quartic = _recentre(i, V, W, k, m, pairs, pairs[0][i], mu0[i])
    own = (mu_own, quartic, 0.0)
    fall, steep = 0.0, 0.0
    if k < r:
        gram(i, V, W, k, G)
        mu = shift_of(own, G, k, L)
        if mu > 0.0:
            fall, steep = replace(i, V, mu, own, W, G, k, L)
    else:
        curvature(W, k, G, r)
        mu = shift_directly(own, i, V, G, L)
        if mu > 0.0:
            fall, steep = replace_directly(i, V, mu, own, G, L)
    measured[0] += fall
    measured[1] += steep
    for a in range(r):
        V[i, a] += m[a]
    return mu > 0.0


@compiled
def sweep_apart(
    order: Index, first: int, V: Array, cost: Cost, pairs: Pairs, mu0: Array, fixed: Array, measured: Array
) -> int:  # pragma: no cover
    """Update the rows like `compiled.sweep`, with distances and a fixed gradient for each row.

    ``pairs`` hold the second derivatives of the losses, and their derivatives at 0. fixed[i] is added to the
    gradient of row i.
    """
    start, r = pairs[0], V.shape[1]
    width = r + 2
    for i in range(start.shape[0] - 1):
        width = max(width, start[i + 1] - start[i] + 2)
    work = np.empty((width, r)), np.empty((width, width)), np.empty((width, width))
    mean = np.empty(r)
    for position in range(first, order.shape[0]):
        i = begin(order, position, V, cost, pairs, work[0])
        k = start[i + 1] - start[i]
        for a in range(r):
            work[0][k, a] -= fixed[i, a]
        if not _update(i, V, pairs, mu0, work, mean, measured):
            return position
    return -1
