"""Products of matrices with twice the digits, from products of slices that BLAS computes without rounding.

A column is cut into slices of so few bits that sums of products of two slices are exact (Ozaki, Ogita, Oishi
& Rump 2012). The products of slices are added as twofold numbers.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import PART as ROWS
from npkl_models.linalg import Array
from npkl_models.linalg.twofold import ROUNDOFF, Twofold, add, twofold

SLICES = 4  # slices of floating-point numbers
LOW = 2  # slices of the lower parts of twofold numbers
DIGITS = 53


def inner_products(A: Twofold, B: Twofold) -> tuple[Twofold, Array]:
    """A'B for A (k x m) and B (k x n), and a bound on the error of each entry; in chunks of rows."""
    total, error = _of_chunk(_rows(A, 0), _rows(B, 0))
    for first in range(ROWS, A.high.shape[0], ROWS):
        more, own = _of_chunk(_rows(A, first), _rows(B, first))
        error = error + own + ROUNDOFF * (np.abs(total.high) + np.abs(more.high)) * (1 + 1e-9)
        total = add(total, more)
    return total, error


def _rows(A: Twofold, first: int) -> Twofold:
    """A chunk of rows."""
    return Twofold(A.high[first : first + ROWS], A.low[first : first + ROWS])


def _of_chunk(A: Twofold, B: Twofold) -> tuple[Twofold, Array]:
    k = A.high.shape[0]
    bits = (DIGITS - int(np.ceil(np.log2(max(k, 2))))) // 2
    left, of_left = _cut(A, bits)
    right, of_right = _cut(B, bits)
    parts = sorted(
        ((i + j, i, j) for i in range(len(left)) for j in range(len(right))), key=lambda part: -part[0]
    )
    shape = (A.high.shape[1], B.high.shape[1])
    out, size = twofold(np.zeros(shape)), np.zeros(shape)
    for _, i, j in parts:
        product = left[i].T @ right[j]
        size += np.abs(product)
        out = add(out, twofold(product))
    top = [2 * np.max(np.abs(X.high), axis=0, initial=0.0) for X in (A, B)]
    error = k * (np.outer(of_left, top[1]) + np.outer(top[0] + of_left, of_right))
    error += len(parts) * ROUNDOFF * size
    return out, error * (1 + 1e-9)


def _cut(A: Twofold, bits: int) -> tuple[list[Array], Array]:
    """Slices of each column, and the largest entry of the rest of each column."""
    slices: list[Array] = []
    left = np.zeros(A.high.shape[1])
    for part, count in ((A.high, SLICES), (A.low, LOW)):
        rest = part
        for _ in range(count if part.any() else 0):
            top = np.max(np.abs(rest), axis=0, initial=0.0)
            unit = 1.5 * np.ldexp(1.0, np.frexp(top)[1] + DIGITS - 1 - bits)
            own = np.where(top > 0, (rest + unit) - unit, 0.0)
            slices.append(own)
            rest = rest - own
        left = left + np.max(np.abs(rest), axis=0, initial=0.0)
    return slices, left
