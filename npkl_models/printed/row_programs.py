"""The row programs of BCDKL: a row of V with the kinks of its losses, by the dual.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, eqs. (19)-(22) and (26)-(28). They hand the dual, a quadratic
program on a box, to a general code; coordinate ascent solves it here.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.minimise import RowProblem

PASSES = 200
SETTLED = 1e-11  # change of a multiplier


def minimise_rows_by_dual(rows: RowProblem, model: EdgeModel) -> Array:
    """The row problem with its kinks, by coordinate ascent on its dual, eq. (22).

    With v(y) = -(g + P'y) / mu0 each multiplier has the closed form that the proximal map of its
    loss gives.
    """
    if not rows.pairs.shape[1]:
        return -rows.g / rows.mu0[:, None]
    y = np.zeros(rows.pairs.shape)
    norm = np.einsum("bkr,bkr->bk", rows.P, rows.P) / rows.mu0[:, None]
    v = -rows.g / rows.mu0[:, None]
    for _ in range(PASSES):
        largest = 0.0
        for k in range(rows.pairs.shape[1]):
            step = np.maximum(norm[:, k], 1e-300)
            z = np.einsum("br,br->b", rows.P[:, k], v)
            u = model.prox(z + step * y[:, k], step, rows.pairs[:, k])
            change = np.where(rows.valid[:, k], (z - u) / step, 0.0)
            y[:, k] += change
            v -= (change / rows.mu0)[:, None] * rows.P[:, k]
            largest = max(largest, float(np.max(np.abs(change), initial=0.0)))
        if largest <= SETTLED:
            break
    return v
