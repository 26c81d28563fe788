"""The compiled row update for losses whose slope is linear between two ends (the hinge as `edges` makes it).

Newton steps go from piece to piece, as in `minimise`. `compiled` has the parts that both sweeps share, and
describes the arrays.
"""

from __future__ import annotations

import math

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import compiled, inlined
from npkl_models.lowrank.rows.compiled import (
    COST,
    Cost,
    Pairs,
    Rows,
    begin,
    gram,
    pull_pairs,
    replace,
    workspace,
)  # fmt: skip
from npkl_models.lowrank.rows.compiled_secular import Row, shift_of
from npkl_models.lowrank.tolerances import HALVED, ROUNDING

SIGNATURES = {
    "sweep_by_pieces": f"intp(intp[::1], intp, f8[:, ::1], {COST}, "
    "Tuple((intp[::1], intp[::1], f8[::1], f8[::1])), UniTuple(f8[::1], 4), "
    "Tuple((f8[::1], f8[::1], f8)), f8[::1])"
}
TURNS = 30  # the largest number of Newton steps for a row

Ramps = tuple[Array, Array, Array, Array]  # slopes clip(kappa z + shift, low, high)
Work = tuple[Array, Array, Array, Array, Array]  # W, G, L, the pull of the cost, the old row


@inlined
def _bend(i: int, V: Array, pairs: Pairs, ramps: Ramps) -> bool:  # pragma: no cover
    """Set the model of each pair to its piece at v; return whether any model changed."""
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
    """Update row i by Newton steps from piece to piece; False if `minimise` must do it (see `shift_of`)."""
    start, neighbor, root, pull = pairs
    W, G, L, pulled, kept = work
    at, k, r = start[i], start[i + 1] - start[i], V.shape[1]
    for a in range(r):
        pulled[a] = W[k, a]
    before = _value(i, V, own, pulled, neighbor, ramps, at, k)
    _bend(i, V, pairs, ramps)
    now = before
    for turn in range(TURNS):
        for a in range(r):
            W[k, a], kept[a] = pulled[a], V[i, a]
        pull_pairs(W, k, V, neighbor, root, pull, at)
        gram(i, V, W, k, G)
        mu = shift_of(own, G, k, L)
        if not mu > 0.0:
            return False
        steep = replace(i, V, mu, own, W, G, k, L)[1]
        if turn == 0:
            measured[1] += steep
        new = _value(i, V, own, pulled, neighbor, ramps, at, k)
        halved = 0
        while new > now + ROUNDING * (abs(new) + abs(now)) and halved < HALVED:  # halve the step
            for a in range(r):
                V[i, a] = 0.5 * (V[i, a] + kept[a])
            new = _value(i, V, own, pulled, neighbor, ramps, at, k)
            halved += 1
        if new > now:
            if halved == HALVED:
                for a in range(r):
                    V[i, a] = kept[a]
            break
        now = new
        if not _bend(i, V, pairs, ramps) and halved == 0:
            break
    measured[0] += before - now
    return True


@compiled
def sweep_by_pieces(
    order: Index, first: int, V: Array, cost: Cost, pairs: Pairs, ramps: Ramps, rows: Rows, measured: Array
) -> int:  # pragma: no cover
    """Update the rows like `compiled.sweep`; the models of the pairs are overwritten."""
    mu0, quartic, radius = rows
    r = V.shape[1]
    room = workspace(pairs[0], r)
    work = room[0], room[1], room[2], np.empty(r), np.empty(r)
    for position in range(first, order.shape[0]):
        i = begin(order, position, V, cost, pairs, work[0])
        if not _by_pieces(i, V, (mu0[i], quartic[i], radius), work, pairs, ramps, measured):
            return position
    return -1
