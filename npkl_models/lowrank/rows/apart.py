"""Exact minimisation over one row of V whose pairs are squared distances, for many rows at once.

The row problem of point i with neighbours p_j, with all other rows fixed, is

    minimise over v:  mu0/2 ||v||^2 + g'v + sum_j f_j(||v - p_j||^2)

Let f_j(z) = h_j/2 z^2 + l_j z, which is exact for the square loss. Let v = m + u and e_j = p_j - m, where
m = sum h_j p_j / sum h_j is the weighted mean of the neighbours. Then z_j = ||u||^2 - 2 e_j'u + ||e_j||^2.
The only term of third order in z_j^2 is -4 ||u||^2 e_j'u. Its sum with the weights h_j is zero, since
sum h_j e_j = 0. The other terms form the row problem of entries,

    mu/2 ||u||^2 + a ||u||^4 + 1/2 sum_j 4 h_j (e_j'u)^2 - c'u,
    a = sum h_j / 2,  mu = mu0 + 2 sum k_j,  c = -g - mu0 m + 2 sum k_j e_j,  k_j = h_j ||e_j||^2 + l_j,

and one secular equation finds its global minimiser (`minimise`). A loss on K_ii is a distance to the point
zero. A pair whose value is an entry, p_j'v = p_j'u + p_j'm, stays as it is.

For a loss of several pieces, the current piece replaces the loss. The objective may then rise, because a row
problem of distances is not convex. In this case another quadratic replaces the loss. It has the largest
curvature of the loss, the same value and slope, and is nowhere below the loss. So no step increases the
objective, and a row stays only at a stationary point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npkl_models.linalg import Array, Mask
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.minimise import RowProblem, solve_quadratic
from npkl_models.lowrank.tolerances import ROUNDING

PIECES = 4  # the largest number of steps for a row: its neighbours move it again, so more steps gain little
STILL = 1e-9  # a row is finished after a step below this share of its size
SAFE = 1e-6  # the smallest multiple of the identity for a row without curvature, as a share of mu0


def minimise_apart(rows: RowProblem, model: EdgeModel, v: Array) -> Array:
    """Minimise every row problem of the batch from v (b, r); no objective rises."""
    z = rows.values(v)
    f, slope, h = model.evaluate(z, rows.pairs)
    if model.quadratic:
        return _step(rows, z, slope, h, v)
    v, most = v.copy(), model.steepest()
    active = np.arange(len(v))
    for _ in range(PIECES):
        now = rows if active.size == len(v) else rows.take(active)
        old = v[active]
        z = now.values(old)
        f, slope, h = model.evaluate(z, now.pairs)
        h = np.where(_coercive(now, z, slope, h, old)[:, None], h, most[now.pairs])
        new, before = _step(now, z, slope, h, old), now.value(old, f)
        worse = np.flatnonzero(_value(now, model, new) > before)
        if worse.size:
            part = now.take(worse)
            new[worse] = _step(part, z[worse], slope[worse], most[part.pairs], old[worse])
            after = _value(part, model, new[worse])
            up = worse[after > before[worse] + ROUNDING * (np.abs(after) + np.abs(before[worse]))]
            new[up] = old[up]
        v[active] = new
        moved = np.einsum("br,br->b", new - old, new - old)
        active = active[moved > STILL**2 * np.einsum("br,br->b", new, new)]
        if not active.size:
            break
    return v


def _value(rows: RowProblem, model: EdgeModel, v: Array) -> Array:
    return rows.value(v, model.evaluate(rows.values(v), rows.pairs)[0])


def _coercive(rows: RowProblem, z: Array, slope: Array, h: Array, v: Array) -> Mask:
    """Whether the quadratic model of each row has a minimum."""
    apart = np.zeros_like(rows.valid) if rows.apart is None else rows.apart & rows.valid
    bent = np.any(apart & (h > 0), axis=1) | (rows.quartic > 0)
    level = rows.mu0 + 2 * np.sum(np.where(apart, slope - h * z, 0.0), axis=1)
    held: Mask = bent | (level > SAFE * np.abs(rows.mu0))
    return held


def _step(rows: RowProblem, z: Array, slope: Array, h: Array, old: Array) -> Array:
    """The minimiser if the losses are h/2 z^2 + l z, with the given slopes at z."""
    apart = np.zeros_like(rows.valid) if rows.apart is None else rows.apart
    h = np.where(rows.valid, h, 0.0)
    level = np.where(rows.valid, slope, 0.0) - h * z  # l
    weight = np.where(apart, 0.5 * h, 0.0)
    quartic = rows.quartic + weight.sum(axis=1)
    share = weight / np.where(quartic > 0, quartic, 1.0)[:, None]
    m = np.einsum("bk,bkr->br", share, rows.P)  # a loss on K_ii has its neighbour at zero
    e = np.where(apart[:, :, None], rows.P - m[:, None], rows.P)
    size, own = np.einsum("bkr,bkr->bk", e, e), np.einsum("br,br->b", m, m)
    k = np.where(apart, h * size + level, 0.0)
    beside = np.where(apart, 0.0, h * np.einsum("bkr,br->bk", e, m) + level)
    mu0 = rows.mu0 + 2 * k.sum(axis=1) + 4 * rows.quartic * own
    c = np.einsum("bkr,bk->br", e, 2 * k - beside) - rows.g
    c -= (rows.mu0 + 4 * rows.quartic * own)[:, None] * m
    bends = np.where(apart, 4 * h, h)
    if np.any(rows.quartic > 0):
        e = np.concatenate([e, m[:, None]], axis=1)
        bends = np.concatenate([bends, 8 * rows.quartic[:, None]], axis=1)
    shifted = replace(rows, mu0=mu0, quartic=quartic, g=-c, P=e, apart=None)
    u: Array = solve_quadratic(shifted, bends, c, old - m)
    return u + m
