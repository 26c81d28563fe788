"""The row update of `apart` compiled: pairs that are squared distances with losses whose slope is a straight line.

`compiled` holds the parts that the sweeps share and says what the arrays are. Here a row of W is 2 sqrt(h) e,
with e from the weighted mean m of the neighbours to one of them, and the row that is replaced is u = v - m.
"""

from __future__ import annotations

import math

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import compiled, inlined
from npkl_models.lowrank.rows.compiled import Cost, Pairs, Work, begin, gram, replace, workspace
from npkl_models.lowrank.rows.compiled_secular import shift_of

SIGNATURES = {
    "sweep_apart": "intp(intp[::1], intp, f8[:, ::1], Tuple((intp[::1], intp[::1], f8[::1])), "
    "Tuple((intp[::1], intp[::1], f8[::1], f8[::1])), f8[::1], f8[:, ::1], f8[::1])"
}


@inlined
def _recentre(
    i: int, V: Array, W: Array, k: int, m: Array, neighbor: Index, curve: Array, level: Array, first: int,
    mu0: float,
) -> tuple[float, float]:  # pragma: no cover  # fmt: skip
    """Set m, w_1 .. w_k and c, and row i of V to v - m; returns mu0 and a of the row problem in v - m."""
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
    """Update row i; False where `minimise` must do it, the row being as it was to rounding."""
    start, neighbor, curve, level = pairs
    W, G, L = work
    k = start[i + 1] - start[i]
    mu_own, quartic = _recentre(i, V, W, k, m, neighbor, curve, level, start[i], mu0[i])
    own = (mu_own, quartic, 0.0)
    gram(i, V, W, k, G)
    mu = shift_of(own, G, k, L)
    if mu > 0.0:
        fall, steep = replace(i, V, mu, own, W, G, k, L)
        measured[0] += fall
        measured[1] += steep
    for a in range(V.shape[1]):
        V[i, a] += m[a]
    return mu > 0.0


@compiled
def sweep_apart(
    order: Index, first: int, V: Array, cost: Cost, pairs: Pairs, mu0: Array, fixed: Array, measured: Array
) -> int:  # pragma: no cover
    """As `compiled.sweep`, which see; the pairs have the second derivative and the derivative at 0.

    Row i has the further gradient fixed[i] at zero.
    """
    work = workspace(pairs[0], V.shape[1])
    mean = np.empty(V.shape[1])
    for position in range(first, order.shape[0]):
        i = begin(order, position, V, cost, pairs, work[0])
        k = pairs[0][i + 1] - pairs[0][i]
        for a in range(V.shape[1]):
            work[0][k, a] -= fixed[i, a]
        if not _update(i, V, pairs, mu0, work, mean, measured):
            return position
    return -1
