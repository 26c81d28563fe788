"""Exact minimisation over one row of V, for many rows at once.

The row problem of point i, all other rows held, is

    minimise over v:  mu0/2 ||v||^2 + a ||v||^4 + g'v + sum_j f_j(p_j'v)   [||v|| <= b]

with the rows p_j of the pairs of i. With the f_j replaced by quadratics of curvature h_j (exact for
the square loss, a Newton step for piecewise quadratic ones) the minimiser solves

    (mu I + P'HP) v = c,    mu = mu0 + 4 a ||v||^2    [mu larger and ||v|| = b at the bound],

one secular equation in mu, as in a trust region. Its left-hand side is handled through the smaller of
the two Gram matrices P'HP (r x r) and H^(1/2) P P' H^(1/2) (k x k), the Sherman-Morrison-Woodbury way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.lowrank.edges import EdgeModel

INNER_STEPS = 20
SECULAR_STEPS = 60
LAST = 1e-6  # Newton squares the error: a step so small is the last one
DUAL_PASSES = 200


@dataclass(frozen=True)
class RowProblem:
    """A batch of b row problems, each with k pairs (padded by ``valid`` = False)."""

    mu0: Array  # (b,)
    quartic: Array  # (b,) a
    g: Array  # (b, r)
    P: Array  # (b, k, r)
    pairs: Index  # (b, k)
    valid: Mask  # (b, k)
    radius: float | None = None

    def value(self, v: Array, f: Array) -> Array:
        """Objective (b,) at v (b, r) with the losses f (b, k) at P v."""
        s = np.einsum("br,br->b", v, v)
        out: Array = 0.5 * self.mu0 * s + self.quartic * s**2
        return out + np.einsum("br,br->b", self.g, v) + np.sum(f * self.valid, axis=1)

    def take(self, which: Index) -> RowProblem:
        """The row problems ``which`` of the batch."""
        return RowProblem(
            self.mu0[which], self.quartic[which], self.g[which], self.P[which],
            self.pairs[which], self.valid[which], self.radius,
        )  # fmt: skip


def minimise_rows(rows: RowProblem, model: EdgeModel, v: Array) -> Array:
    """Minimise every row problem of the batch, starting from v (b, r); never goes up."""
    if not rows.pairs.shape[1]:
        return solve_quadratic(rows, np.zeros_like(rows.P[:, :, 0]), -rows.g, v)
    v = v.copy()
    active = np.arange(len(v))
    for _ in range(1 if model.quadratic else INNER_STEPS):
        now = rows if active.size == len(v) else rows.take(active)
        old = v[active]
        z = np.einsum("bkr,br->bk", now.P, old)
        f, slope, h = model.evaluate(z, now.pairs)
        new = _step(now, z, slope, h, old)
        if model.quadratic:
            return new
        before = now.value(old, f)
        f_new, _, h_new = model.evaluate(np.einsum("bkr,br->bk", now.P, new), now.pairs)
        worse = np.flatnonzero(now.value(new, f_new) > before)
        if worse.size:  # majorise: the largest curvature makes the quadratic an upper bound
            sub = now.take(worse)
            bound = model.curvature(sub.pairs)
            new[worse] = _step(sub, z[worse], slope[worse], bound, old[worse])
        v[active] = new
        settled = np.all((h_new == h) | ~now.valid, axis=1)
        settled[worse] = np.max(np.abs(new[worse] - old[worse]), axis=1) <= 1e-12
        active = active[~settled]
        if not active.size:
            break
    return v


def minimise_rows_by_dual(rows: RowProblem, model: EdgeModel, v: Array) -> Array:
    """The row problem with its kinks, by coordinate ascent on its dual (Hu & Kwok 2015, eq. (22)).

    With v(y) = -(g + P'y) / mu0 each multiplier has the closed form that the proximal map of its
    loss gives.
    """
    if not rows.pairs.shape[1]:
        return -rows.g / rows.mu0[:, None]
    y = np.zeros(rows.pairs.shape)
    norm = np.einsum("bkr,bkr->bk", rows.P, rows.P) / rows.mu0[:, None]
    v = -rows.g / rows.mu0[:, None]
    for _ in range(DUAL_PASSES):
        largest = 0.0
        for k in range(rows.pairs.shape[1]):
            step = np.maximum(norm[:, k], 1e-300)
            z = np.einsum("br,br->b", rows.P[:, k], v)
            u = model.prox(z + step * y[:, k], step, rows.pairs[:, k])
            change = np.where(rows.valid[:, k], (z - u) / step, 0.0)
            y[:, k] += change
            v -= (change / rows.mu0)[:, None] * rows.P[:, k]
            largest = max(largest, float(np.max(np.abs(change), initial=0.0)))
        if largest <= 1e-11:
            break
    return v


def _step(rows: RowProblem, z: Array, slope: Array, h: Array, old: Array) -> Array:
    h = np.where(rows.valid, h, 0.0)
    pull = np.where(rows.valid, slope, 0.0) - h * z
    c = -rows.g - np.einsum("bkr,bk->br", rows.P, pull)
    return solve_quadratic(rows, h, c, old)


def solve_quadratic(rows: RowProblem, h: Array, c: Array, old: Array) -> Array:
    """Minimise mu0/2 ||v||^2 + a ||v||^4 + 1/2 v'P'HPv - c'v, ||v|| <= b, for each row."""
    radial = rows.radius is not None or bool(np.any(rows.quartic > 0))
    k, r = h.shape[1], c.shape[1]
    W = np.sqrt(h)[:, :, None] * rows.P
    if not radial:
        return shifted_solve(rows.mu0, W, c)
    if k >= r:
        values, E = np.linalg.eigh(np.einsum("bkr,bks->brs", W, W))
        directions = np.swapaxes(E, 1, 2)
        rest = np.zeros_like(c)
    elif k:
        values, E = np.linalg.eigh(np.einsum("bkr,blr->bkl", W, W))
        values = np.maximum(values, 0.0)
        values = np.where(values > 1e-14 * values[:, -1:], values, 0.0)
        scale = np.where(values > 0, values, np.inf) ** -0.5
        directions = np.einsum("bkl,bkr->blr", E, W) * scale[:, :, None]
        rest = c - np.einsum("bkr,bk->br", directions, np.einsum("bkr,br->bk", directions, c))
    else:
        values, directions = np.zeros((len(c), 0)), np.zeros((len(c), 0, r))
        rest = c
    alpha = np.einsum("bkr,br->bk", directions, c)
    low = -values[:, 0] if k >= r else np.zeros(len(c))
    spectrum = np.concatenate([values, np.zeros((len(c), 1))], axis=1)
    energy = np.concatenate([alpha**2, np.einsum("br,br->b", rest, rest)[:, None]], axis=1)
    if k >= r:
        spectrum, energy = values, alpha**2
    mu = _secular(rows, spectrum, energy, low, np.einsum("br,br->b", old, old))
    v = np.einsum("bkr,bk->br", directions, alpha / _apart(mu[:, None] + values))
    v += rest / _apart(mu)[:, None]
    return _fill(rows, v, mu, low, directions, values, old)


def shifted_solve(mu: Array, W: Array, c: Array) -> Array:
    """(mu I + W'W)^-1 c for each row, through the smaller Gram matrix (mu > 0)."""
    _, k, r = W.shape
    if not k:
        return c / mu[:, None]
    if k >= r:
        A = np.einsum("bkr,bks->brs", W, W) + mu[:, None, None] * np.eye(r)
        return np.linalg.solve(A, c[:, :, None])[:, :, 0]
    A = np.einsum("bkr,blr->bkl", W, W) + mu[:, None, None] * np.eye(k)
    inner = np.linalg.solve(A, np.einsum("bkr,br->bk", W, c)[:, :, None])[:, :, 0]
    return (c - np.einsum("bkr,bk->br", W, inner)) / mu[:, None]


def _apart(x: Array) -> Array:
    return np.where(np.abs(x) < 1e-300, np.inf, x)


def _norm2(mu: Array, spectrum: Array, energy: Array) -> tuple[Array, Array]:
    """s(mu) = sum energy / (mu + spectrum)^2 and its derivative."""
    shifted = mu[:, None] + spectrum
    shifted = np.where(energy > 0, np.maximum(shifted, 1e-100), 1.0)
    ratio = energy / shifted**2
    slope = ratio / shifted
    return ratio.sum(axis=1), -2 * slope.sum(axis=1)


def _secular(rows: RowProblem, spectrum: Array, energy: Array, low: Array, s_old: Array) -> Array:
    """Mu with ||v(mu)||^2 = (mu - mu0) / (4 a), or = b^2 where that would exceed the bound."""
    total = energy.sum(axis=1)
    quartic = rows.quartic
    with np.errstate(divide="ignore", over="ignore"):
        slope = np.where(quartic > 0, 1 / (4 * np.where(quartic > 0, quartic, 1.0)), 0.0)
    mu = np.maximum(rows.mu0, low)
    if bool(np.any(quartic > 0)):
        reach = np.maximum(2 * np.maximum(rows.mu0 - low, 0), np.cbrt(8 * quartic * total)) + 1e-300
        start = rows.mu0 + 4 * quartic * s_old
        found = _root(spectrum, energy, low, low + reach, start, slope, -slope * rows.mu0)
        mu = np.where(quartic > 0, found, mu)
    if rows.radius is not None:
        outside = _norm2(mu, spectrum, energy)[0] > rows.radius**2
        outside |= (mu <= low) & (rows.quartic == 0)
        if outside.any():
            reach = np.sqrt(total) / rows.radius + 1e-300
            level = np.full(len(mu), rows.radius**2)
            found = _root(spectrum, energy, low, low + reach, mu, np.zeros_like(mu), level)
            mu = np.where(outside, np.maximum(found, mu), mu)
    return mu


def _root(
    spectrum: Array, energy: Array, low: Array, high: Array, start: Array, slope: Array, level: Array
) -> Array:
    """Root in [low, high] of the decreasing function s(mu) - slope mu - level: safeguarded Newton."""
    a, b = low.copy(), high.copy()
    mu = np.clip(start, a + 1e-3 * (b - a), b)
    for _ in range(SECULAR_STEPS):
        s, ds = _norm2(mu, spectrum, energy)
        value = s - slope * mu - level
        a, b = np.where(value > 0, mu, a), np.where(value > 0, b, mu)
        step = value / np.maximum(slope - ds, 1e-300)
        newton = mu + step
        inside = (newton > a) & (newton < b)
        done = np.abs(step) <= LAST * np.abs(mu) + 1e-300
        mu = np.where(inside | done, newton, 0.5 * (a + b))
        if bool(np.all(done | (b - a <= 1e-15 * np.abs(b)))):
            break
    return mu


def _fill(
    rows: RowProblem, v: Array, mu: Array, low: Array, directions: Array, values: Array, old: Array
) -> Array:
    """The hard case: at mu = low the norm still falls short, a null direction makes it up."""
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(rows.quartic > 0, (mu - rows.mu0) / (4 * rows.quartic), 0.0)
    if rows.radius is not None:
        negative = (rows.quartic == 0) & (rows.mu0 < low)
        wanted = np.where(negative, rows.radius**2, np.minimum(wanted, rows.radius**2))
    missing = wanted - np.einsum("br,br->b", v, v)
    short = (mu - low <= 1e-8 * (1 + np.abs(low))) & (missing > 1e-8 * (1 + wanted))
    if not short.any():
        return v
    k, r = values.shape[1], v.shape[1]
    if k >= r:
        null = directions[:, 0]
    else:
        inside = np.einsum("bkr,bk->br", directions, np.einsum("bkr,br->bk", directions, old))
        null = old - inside
        size = np.linalg.norm(null, axis=1, keepdims=True)
        null = np.where(size > 1e-12, null / np.maximum(size, 1e-300), 0.0)
    along = np.einsum("br,br->b", v, null)
    tau = -along + np.sqrt(np.maximum(along**2 + missing, 0.0))
    return np.where(short[:, None], v + tau[:, None] * null, v)
