"""A proved lower bound on the spectrum of a matrix without positive off-diagonals, by sparse products."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import cg

from npkl_models.linalg import UNIT, Matrix

PERRON_STEPS = 30


def perron_floor(C: Matrix) -> float:
    """A proved lower bound on the smallest eigenvalue of a sparse matrix without positive off-diagonals.

    For any x > 0 it is at least min_i (C x)_i / x_i (Collatz & Wielandt). Inverse iteration brings x near
    the Perron vector; the bound is evaluated with its rounding, so x itself need not be exact. -inf where the
    signs do not fit or no positive x was found. Sparse products only, at any order.
    """
    coo = C.tocoo()
    if bool(np.any(coo.data[coo.row != coo.col] > 0)):
        return float("-inf")
    size, terms = abs(C), float(np.diff(C.indptr).max()) + 2
    x, best = np.ones(C.shape[0]), float("-inf")
    for _ in range(PERRON_STEPS):
        y, failed = cg(C, x, rtol=1e-8, maxiter=500)
        if failed or not bool(np.all(y > 0)):
            break
        x = y / np.max(y)
        ratio = (C @ x) / x
        low = float(np.min(ratio - terms * UNIT * (size @ x) / x))
        best = max(best, low)
        if float(np.max(ratio)) - low <= 1e-3 * abs(low):
            break
    return best
