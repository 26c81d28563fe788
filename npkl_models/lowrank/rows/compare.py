"""A step of each row of V whose values are comparisons D_ij - D_ik, for many rows at once.

With all other rows fixed, row v of a point p has the problem

    minimise over v:  mu0/2 ||v||^2 + g'v + sum_e f_e(z_e),

where z_e is linear in v if p is the point i of the comparison, z_e = ||v - v_i||^2 - ... if p is j, and
z_e = ... - ||v - v_i||^2 if p is k. Let s_e be 0, 1 or -1. Let d_e be half the gradient of z_e: v_k - v_j,
v - v_i or v_i - v. Along a step u the value is exactly z_e + 2 d_e'u + s_e ||u||^2. Newton's step solves

    (mu I + sum_e 4 f_e'' d_e d_e') u = -(mu0 v + g + sum_e 2 f_e' d_e),    mu = mu0 + 2 sum_e s_e f_e'.

At a stationary point of all rows, mu is 2 S_pp, so it is not negative near an optimum. If mu is below a share
of mu0, its negative terms are left out: a tangent replaces what is concave, which lies nowhere below. A few
steps of conjugate gradients solve the system to a hundredth, which lowers the objective as fast per sweep as
exact solutions. The step is halved until the objective of the row falls. Halving needs no further products
of rows, as the values along u are known. So no step raises the objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.tolerances import HALVED, ROUNDING

TURNS = 8  # the largest number of steps of conjugate gradients for a row
SOLVED = 1e-4  # they end below this share of the first squared residual
MOSTLY_CONVEX = 1e-2  # below this share of mu0, mu is taken without its negative terms
ENOUGH = 1e-4  # the share of the fall along the tangent that a step must reach


@dataclass(frozen=True)
class ComparedRows:
    """A batch of b rows, each with k comparisons (padded by ``valid`` = False)."""

    mu0: Array  # (b,)
    g: Array  # (b, r)
    D: Array  # (b, k, r), the vectors d
    bent: Array  # (b, k), the signs s
    which: Index  # (b, k), the numbers of the comparisons
    valid: Mask  # (b, k)


def step_compared(
    rows: ComparedRows, model: EdgeModel, v: Array, z: Array
) -> tuple[Array, Array, Array, Array]:
    """One step of every row of the batch from v (b, r), where the comparisons have the values z (b, k).

    Returns
    -------
    tuple of ndarray
        The new rows and values, the falls of the objective (b,) and the squared gradients at v (b,).
    """
    f, slope, h = (np.where(rows.valid, part, 0.0) for part in model.evaluate(z, rows.which))
    gradient = rows.mu0[:, None] * v + rows.g + 2 * np.einsum("bkr,bk->br", rows.D, slope)
    turned = rows.bent * slope
    mu = rows.mu0 + 2 * turned.sum(axis=1)
    mu = np.where(mu < MOSTLY_CONVEX * rows.mu0, rows.mu0 + 2 * np.maximum(turned, 0.0).sum(axis=1), mu)
    steep = np.einsum("br,br->b", gradient, gradient)
    u = _solved(mu, rows.D, 4 * h, gradient, steep)
    length = np.einsum("br,br->b", u, u)
    linear = 2 * np.einsum("bkr,br->bk", rows.D, u)
    pulled = np.einsum("br,br->b", rows.mu0[:, None] * v + rows.g, u)
    total = np.einsum("br,br->b", gradient, u)
    size = 0.5 * rows.mu0 * np.einsum("br,br->b", v, v) + np.abs(f).sum(axis=1)
    share, fall, new = np.ones(len(v)), np.zeros(len(v)), z.copy()
    left = np.arange(len(v))
    for _ in range(HALVED):
        t = share[left]
        at = z[left] + t[:, None] * linear[left] + (t**2 * length[left])[:, None] * rows.bent[left]
        losses = np.where(rows.valid[left], model.evaluate(at, rows.which[left])[0], 0.0)
        change = t * pulled[left] + 0.5 * rows.mu0[left] * t**2 * length[left]
        change += (losses - f[left]).sum(axis=1)
        good = change <= ENOUGH * t * total[left] + ROUNDING * size[left]
        new[left[good]], fall[left[good]] = at[good], -change[good]
        left = left[~good]
        share[left] *= 0.5
        if not left.size:
            break
    share[left] = 0.0
    return v + share[:, None] * u, new, fall, steep


def _solved(mu: Array, D: Array, bend: Array, gradient: Array, steep: Array) -> Array:
    """Solve (mu I + sum_e bend_e d_e d_e') u = -gradient for each row, to the accuracy `SOLVED`."""
    u, left = np.zeros_like(gradient), -gradient
    toward, size = left.copy(), steep.copy()
    for _ in range(TURNS):
        active = size > SOLVED * steep
        if not active.any():
            break
        along = bend * np.einsum("bkr,br->bk", D, toward)
        product = mu[:, None] * toward + np.einsum("bkr,bk->br", D, along)
        bends = np.einsum("br,br->b", toward, product)
        share = np.where(active, size, 0.0) / np.where(active, bends, 1.0)
        u += share[:, None] * toward
        left = left - share[:, None] * product
        new = np.where(active, np.einsum("br,br->b", left, left), size)
        toward = left + (new / np.where(active, size, 1.0))[:, None] * toward
        size = new
    return u
