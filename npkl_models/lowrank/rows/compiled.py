"""The row update of `minimise` compiled by numba, a row at a time (without numba `minimise` serves).

The same mathematics in the same order of the points gives the same sweep, to rounding. It takes losses
whose slope is linear between two ends (the squares, linear, the hinge as `smoothing` makes it): of
several pieces each is tried in turn, as in `minimise`. A row whose secular equation has no positive root is
handed back to `minimise`.
"""

from __future__ import annotations

import math

import numpy as np

from npkl_models.linalg import LINE, Array, Index
from npkl_models.linalg.compile import compiled, inlined, prefetch

# Of the secular equation, for `secular` too; they stand here since numba's cache watches this file alone.
STEPS = 60
INNER = 8
LAST = 1e-4  # the next step would be about its square
SETTLED = 1e-3 * LAST**2  # the same for the steps within a step
NARROW = 1e-15  # an interval of no more than rounding
TINY_SHIFT = 1e-9  # mu below it: the hard case of the secular equation is near
TURNS = 20  # pieces tried in turn
SAME = 1e-14  # a change of the objective of a row that is rounding
AHEAD = 2  # rows whose neighbours are asked for before their turn: memory answers late

# What belongs together travels in plain tuples: a class would have to keep its name for numba's cache.
Cost = tuple[Index, Index, Array]  # indptr, indices, data: CSR without the diagonal
Pairs = tuple[Index, Index, Array, Array]  # start (n + 1,), neighbour, root of the curvature, derivative at 0
Ramps = tuple[Array, Array, Array, Array]  # slopes clip(kappa z + shift, low, high); empty if all are linear
Rows = tuple[Array, Array, float]  # mu0, a, b: mu0/2 ||v||^2 + a ||v||^4, ||v|| <= b (0 for no bound)
Row = tuple[float, float, float]  # the same of one row
Line = tuple[float, float, float]  # slope, zero, level: slope (mu - zero) + level


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


@compiled
def _solve(mu: float, G: Array, k: int, L: Array) -> None:  # pragma: no cover
    """Solve (mu I + WW') x = W c by factors L D L'; the diagonal of L holds 1 / D."""
    for i in range(k):
        pivot = G[i, i] + mu
        right = G[k, i]
        for j in range(i):
            total = G[i, j]
            for m in range(j):
                total -= L[i, m] * L[m, j]
            L[j, i] = total  # D_j L_ij, above the diagonal
            L[i, j] = total * L[j, j]
            pivot -= total * L[i, j]
            right -= L[i, j] * L[k, j]
        L[i, i] = 1 / max(pivot, 1e-300)
        L[k, i] = right
    for i in range(k - 1, -1, -1):
        total = L[k, i] * L[i, i]
        for m in range(i + 1, k):
            total -= L[m, i] * L[k, m]
        L[k, i] = total


@compiled
def _norm2(mu: float, G: Array, k: int, L: Array) -> tuple[float, float]:  # pragma: no cover
    """||v||^2 and its derivative for v = (mu I + W'W)^-1 c, from the Gram matrix alone.

    With x = (mu I + WW')^-1 b, b = W c, one has W v = x, ||v||^2 = (c'c - x'b - mu x'x) / mu^2 and
    the derivative -2 (||v||^2 - x'(mu I + WW')^-1 x) / mu, where x'(LDL')^-1 x = y'D^-1 y with L y = x.
    """
    _solve(mu, G, k, L)
    left, inner = G[k, k], 0.0
    for j in range(k):
        left -= L[k, j] * (G[k, j] + mu * L[k, j])
        total = L[k, j]
        for m in range(j):
            total -= L[j, m] * L[k + 1, m]
        L[k + 1, j] = total
        inner += total * total * L[j, j]
    norm2 = max(left, 0.0) / (mu * mu)
    return norm2, -2 * (norm2 - inner) / mu


@compiled
def _rational_step(now: float, norm2: float, falls: float, line: Line) -> float:  # pragma: no cover
    """The step to the root of the model t^2 norm2 / (t + d)^2 = line(now + d), t = -2 norm2 / falls.

    The model has the value and the slope of ||v||^2 at ``now``, and is exact for a single eigenvalue
    (More & Sorensen 1983); its own root is found by Newton.
    """
    if not falls < 0:
        return 0.0
    t = -2 * norm2 / falls
    slope, zero, level = line
    if slope == 0.0:
        return t * (math.sqrt(norm2 / level) - 1)
    d = 0.0
    for _ in range(INNER):
        ratio = t / (t + d)
        value = norm2 * ratio * ratio - slope * (now + d - zero)
        change = value / (slope + 2 * norm2 * ratio * ratio / (t + d))
        d = max(d + change, -0.9 * t)
        if abs(change) <= SETTLED * now:
            break
    return d


@inlined
def _root(
    low: float, high: float, now: float, line: Line, G: Array, k: int, L: Array
) -> tuple[float, bool]:  # pragma: no cover
    """Where ||v(mu)||^2 meets the line in [low, high], safeguarded, and whether it was found."""
    slope, zero, level = line
    for _ in range(STEPS):
        norm2, falls = _norm2(now, G, k, L)
        if norm2 - slope * (now - zero) - level > 0:
            low = now
        else:
            high = now
        step = _rational_step(now, norm2, falls, line)
        if abs(step) <= LAST * now or high - low <= NARROW * high:
            return now + step, True
        now = now + step
        if not low < now < high:
            now = 0.5 * (low + high)
    return now, False


@inlined
def _shift(own: Row, G: Array, k: int, L: Array) -> float:  # pragma: no cover
    """The mu of a row, 0 where `minimise` must find it."""
    mu, quartic, radius = own
    size = G[k, k]
    if quartic > 0.0:
        if size == 0.0:
            return 0.0
        high = max(2 * max(mu, 0.0), (8 * quartic * size) ** (1 / 3)) + 1e-300
        now = min(max(mu + 4 * quartic * G[k + 1, k + 1], 1e-3 * high), high)
        mu, found = _root(0.0, high, now, (0.25 / quartic, mu, 0.0), G, k, L)
        if not found or mu < TINY_SHIFT:
            return 0.0
    if mu > 0.0 and radius > 0.0 and _norm2(mu, G, k, L)[0] > radius * radius:
        high = max(mu, math.sqrt(size) / radius) + 1e-300
        mu = _root(mu, high, mu, (0.0, 0.0, radius * radius), G, k, L)[0]
    return mu


@inlined
def _replace(
    i: int, V: Array, mu: float, own: Row, W: Array, G: Array, k: int, L: Array
) -> tuple[float, float]:  # pragma: no cover
    """Set row i to v(mu); returns how much the objective fell, and the squared gradient at the old row."""
    _solve(mu, G, k, L)
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
def _bend(
    i: int, V: Array, neighbor: Index, ramps: Ramps, root: Array, pull: Array, first: int, k: int, all_: bool
) -> bool:  # pragma: no cover
    """Set the model of each pair to its piece at v, or (``all_``) to the steepest; whether any changed."""
    kappa, shift, low, high = ramps
    changed = False
    for m in range(first, first + k):
        z = 0.0
        for a in range(V.shape[1]):
            z += V[i, a] * V[neighbor[m], a]
        at = kappa[m] * z + shift[m]
        slope = min(max(at, low[m]), high[m])
        curved = math.sqrt(kappa[m]) if all_ or slope == at else 0.0
        level = slope - kappa[m] * z if all_ else (shift[m] if slope == at else slope)
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
    width, r, kinked = 2, V.shape[1], ramps[0].shape[0] > 0
    for i in range(start.shape[0] - 1):
        width = max(width, start[i + 1] - start[i] + 2)
    W, G, L = np.empty((width, r)), np.empty((width, width)), np.empty((width, width))
    pulled, kept = np.empty(r), np.empty(r)
    for position in range(first, order.shape[0]):
        if position + AHEAD < order.shape[0]:
            later = order[position + AHEAD]
            _ask(V, indices, indptr[later], indptr[later + 1])
            _ask(V, neighbor, start[later], start[later + 1])
        i = order[position]
        at, k = start[i], start[i + 1] - start[i]
        own = (mu0[i], quartic[i], radius)
        _pull_cost(W, k, V, indices, data, indptr[i], indptr[i + 1])
        before, turns, whole = 0.0, 1, False
        if kinked and k > 0:
            for a in range(r):
                pulled[a] = W[k, a]
            before, turns = _value(i, V, own, pulled, neighbor, ramps, at, k), TURNS
            _bend(i, V, neighbor, ramps, root, pull, at, k, False)
        now = before
        for turn in range(turns):
            if turn > 0:
                for a in range(r):
                    W[k, a] = pulled[a]
            _pull_pairs(W, k, V, neighbor, root, pull, at)
            _gram(i, V, W, k, G)
            mu = _shift(own, G, k, L)
            if not mu > 0.0:
                return position
            for a in range(r):
                kept[a] = V[i, a]
            fall, steep = _replace(i, V, mu, own, W, G, k, L)
            if turn == 0:
                measured[1] += steep
            if turns == 1:
                measured[0] += fall
                break
            new = _value(i, V, own, pulled, neighbor, ramps, at, k)
            if new > now + SAME * (abs(new) + abs(now)):
                for a in range(r):
                    V[i, a] = kept[a]
                if whole:
                    break
                whole = True
                _bend(i, V, neighbor, ramps, root, pull, at, k, True)
                continue
            now, whole = new, False
            if not _bend(i, V, neighbor, ramps, root, pull, at, k, False):
                break
        measured[0] += before - now
    return -1
