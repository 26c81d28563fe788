"""Exact minimisation over one row of V, for many rows at once.

The row problem of point i, with all other rows fixed, is

    minimise over v:  mu0/2 ||v||^2 + a ||v||^4 + g'v + sum_j f_j(p_j'v)   [||v|| <= b]

with the rows p_j of the pairs of i. If quadratics of curvature h_j replace the f_j (exact for the square
loss, a Newton step for piecewise quadratic losses), the minimiser solves

    (mu I + P'HP) v = c,    mu = mu0 + 4 a ||v||^2    [mu larger and ||v|| = b at the bound],

one secular equation in mu, as in a trust region (`secular`). The smaller of the two Gram matrices P'HP
(r x r) and H^(1/2) P P' H^(1/2) (k x k) serves for the solution, by the Sherman-Morrison-Woodbury formula.
`apart` minimises over rows with distances ||v - p_j||^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.secular import CANCELLED, GramSystem, SpectralSystem, secular_root
from npkl_models.lowrank.tolerances import HALVED, INNER_STEPS, ROUNDING

SAME = 1e-12  # smaller relative differences of slopes count as rounding


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
    apart: Mask | None = None  # (b, k), which of the values are ||v - p_j||^2; None if none are

    def values(self, v: Array) -> Array:
        """The value (b, k) of each pair at v (b, r)."""
        z = np.einsum("bkr,br->bk", self.P, v)
        if self.apart is None:
            return z
        off = v[:, None] - self.P
        return np.where(self.apart, np.einsum("bkr,bkr->bk", off, off), z)

    def pulled(self, slope: Array, v: Array) -> Array:
        """The gradient (b, r) of the values at v, summed with the given slopes as weights."""
        slope = np.where(self.valid, slope, 0.0)
        if self.apart is None:
            return np.einsum("bkr,bk->br", self.P, slope)
        far = np.where(self.apart, 2 * slope, 0.0)
        toward = np.einsum("bkr,bk->br", self.P, np.where(self.apart, -far, slope))
        return toward + far.sum(axis=1)[:, None] * v

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
            None if self.apart is None else self.apart[which],
        )  # fmt: skip


def minimise_rows(rows: RowProblem, model: EdgeModel, v: Array) -> Array:
    """Minimise every row problem of the batch from v (b, r); no objective rises."""
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
        z_new = np.einsum("bkr,br->bk", now.P, new)
        f_new, slope_new, _ = model.evaluate(z_new, now.pairs)
        halved = np.zeros(len(new), dtype=bool)
        for _ in range(HALVED):
            after = now.value(new, f_new)
            worse = np.flatnonzero(after > before + ROUNDING * (np.abs(after) + np.abs(before)))
            if not worse.size:
                break
            halved[worse] = True
            new[worse] = 0.5 * (new[worse] + old[worse])
            z_new = np.einsum("bkr,br->bk", now.P, new)
            f_new, slope_new, _ = model.evaluate(z_new, now.pairs)
        else:
            new[worse] = old[worse]
            halved[worse] = False
        v[active] = new
        off = np.abs(slope_new - slope - h * (z_new - z))  # zero if the new point lies on the same piece
        settled = np.all((off <= SAME * (np.abs(slope) + np.abs(slope_new))) | ~now.valid, axis=1)
        active = active[(~settled | halved) & np.any(new != old, axis=1)]
        if not active.size:
            break
    return v


def measure(rows: RowProblem, model: EdgeModel, old: Array, new: Array) -> tuple[float, float]:
    """The fall of the objective from old to new rows (b x r), and the squared gradient at the old rows.

    The gradient counts without the part that a tight norm bound balances.
    """
    size = np.einsum("br,br->b", old, old)
    gradient = (rows.mu0 + 4 * rows.quartic * size)[:, None] * old + rows.g
    z, none = rows.values(old), np.zeros(rows.pairs.shape)
    f, slope, _ = model.evaluate(z, rows.pairs) if rows.pairs.shape[1] else (none, none, none)
    gradient += rows.pulled(slope, old)
    f_new = model.evaluate(rows.values(new), rows.pairs)[0] if rows.pairs.shape[1] else none
    steep = float(np.sum(gradient**2))
    if rows.radius is not None:
        across = np.einsum("br,br->b", gradient, old)
        tight = (size >= rows.radius**2 * (1 - 1e-9)) & (across < 0)
        steep -= float(np.sum(across[tight] ** 2 / size[tight]))
    return float(np.sum(rows.value(old, f) - rows.value(new, f_new))), max(steep, 0.0)


def _step(rows: RowProblem, z: Array, slope: Array, h: Array, old: Array) -> Array:
    h = np.where(rows.valid, h, 0.0)
    pull = np.where(rows.valid, slope, 0.0) - h * z
    c = -rows.g - np.einsum("bkr,bk->br", rows.P, pull)
    return solve_quadratic(rows, h, c, old)


def solve_quadratic(rows: RowProblem, h: Array, c: Array, old: Array) -> Array:
    """Minimise mu0/2 ||v||^2 + a ||v||^4 + 1/2 v'P'HPv - c'v, ||v|| <= b, for each row."""
    W = np.sqrt(h)[:, :, None] * rows.P
    if rows.radius is None and not bool(np.any(rows.quartic > 0)):
        return shifted_solve(rows.mu0, W, c)
    s_old = np.einsum("br,br->b", old, old)
    if len(W) == 1 or W.shape[1] >= W.shape[2]:  # one row is mostly one that compiled code has left
        return _by_directions(rows, W, c, old, s_old)
    gram = GramSystem(W, c)
    mu = secular_root(gram, rows.mu0, rows.quartic, rows.radius, s_old)
    v = gram.solution(mu)
    kept = np.einsum("br,br->b", v, v) * mu**2 > CANCELLED * gram.total
    hard = np.flatnonzero(~(kept & (mu > 0)))
    if hard.size:
        v[hard] = _by_directions(rows.take(hard), W[hard], c[hard], old[hard], s_old[hard])
    return v


def _by_directions(rows: RowProblem, W: Array, c: Array, old: Array, s_old: Array) -> Array:
    """Solve the same problem by the eigenvectors of W'W, for any mu, the hard case included."""
    system = SpectralSystem(W, c)
    mu = system.near
    easy = system.norm2(mu)[0] > _wanted(rows, mu, system.low)
    if easy.any():
        mu = np.where(easy, secular_root(system, rows.mu0, rows.quartic, rows.radius, s_old), mu)
    return _fill(rows, system.solution(mu), mu, system, old)


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


def _wanted(rows: RowProblem, mu: Array, low: Array) -> Array:
    """The squared norm that the secular equation asks for at mu; 0 without quartic term and bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(rows.quartic > 0, (mu - rows.mu0) / (4 * rows.quartic), 0.0)
    if rows.radius is not None:
        negative = (rows.quartic == 0) & (rows.mu0 < low)
        wanted = np.where(negative, rows.radius**2, np.minimum(wanted, rows.radius**2))
    return wanted


def _fill(rows: RowProblem, v: Array, mu: Array, system: SpectralSystem, old: Array) -> Array:
    """The hard case: if the norm is too small at mu = low, add a multiple of a null direction."""
    low, wanted = system.low, _wanted(rows, mu, system.low)
    missing = wanted - np.einsum("br,br->b", v, v)
    short = (mu - low <= 1e-8 * (1 + np.abs(low))) & (missing > 1e-8 * (1 + wanted))
    if not short.any():
        return v
    null = system.null_direction(old)
    along = np.einsum("br,br->b", v, null)
    tau = -along + np.sqrt(np.maximum(along**2 + missing, 0.0))
    return np.where(short[:, None], v + tau[:, None] * null, v)
