"""Bounds on the numbers of all feasible points, by interval propagation through rows and cones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx.program import ConicProgram
from npkl_models.linalg import Array, Index, gamma, longest_row

ROUNDS = 4  # of interval propagation


def boxes(program: ConicProgram) -> Array:
    """Bounds on |x_j| for all feasible x, by interval propagation through rows and cones; inf if unknown.

    Row i says that s_i = b_i - sum a_ij x_j is zero, or at least zero. In a second-order cone |s_i| is at
    most its first number, in a semidefinite one |S_ij| at most the root of S_ii S_jj. Every interval is
    widened outwards by more than its rounding.
    """
    m, n = program.A.shape
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    entry = sp.coo_array(program.A)
    (row, column), a = entry.coords, entry.data
    outward = gamma(8 * (longest_row(program.A) + 8))  # of the numbers that enter an end
    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(ROUNDS):
            below, above = np.full(m, -np.inf), np.full(m, np.inf)  # of s
            below[: program.at] = 0.0
            above[: program.zero] = 0.0
            parts = -a * low[column], -a * high[column]
            least, most = np.minimum(*parts), np.maximum(*parts)
            size = np.abs(program.b) + np.bincount(row, np.maximum(_finite(least), _finite(most)), m)
            below = np.maximum(below, program.b + _sums(row, least, m)[0] - outward * size)
            above = np.minimum(above, program.b + _sums(row, most, m)[0] + outward * size)
            for cone in program.cones:
                _through(cone.kind, cone.order, below[cone.rows], above[cone.rows])
            wide = outward * (size + _finite(below) + _finite(above))[row]
            to_low = program.b[row] + _others(row, least, m) - above[row] - wide  # a x = b + others - s
            to_high = program.b[row] + _others(row, most, m) - below[row] + wide
            ends = to_low / a, to_high / a
            np.maximum.at(low, column, np.minimum(*ends) - outward * _finite(np.minimum(*ends)))
            np.minimum.at(high, column, np.maximum(*ends) + outward * _finite(np.maximum(*ends)))
    beta = np.maximum(np.abs(low), np.abs(high))
    return np.where(np.isfinite(beta), beta, np.inf)


def _finite(x: Array) -> Array:
    """Absolute values, 0 for infinite ones."""
    return np.where(np.isfinite(x), np.abs(x), 0.0)


def _sums(row: Index, part: Array, m: int) -> tuple[Array, Array, Index]:
    """Sums by row, sums of the finite parts, and how many are infinite; infinite parts have one sign."""
    endless = ~np.isfinite(part)
    finite = np.bincount(row, np.where(endless, 0.0, part), m).astype(float)
    count = np.bincount(row[endless], minlength=m)
    sign = np.sign(part[endless][0]) if endless.any() else 1.0
    return np.where(count > 0, sign * np.inf, finite), finite, count


def _others(row: Index, part: Array, m: int) -> Array:
    """For each entry the sum of the other parts of its row."""
    _, finite, count = _sums(row, part, m)
    endless = ~np.isfinite(part)
    sign = np.sign(part[endless][0]) if endless.any() else 1.0
    own = np.where(endless, 0.0, part)
    return np.where(count[row] - endless > 0, sign * np.inf, finite[row] - own)


def _through(kind: str, order: int, below: Array, above: Array) -> None:
    """Narrow the intervals of one cone in place."""
    if kind == "soc":
        below[0] = max(below[0], 0.0)
        most = np.full(order - 1, above[0])
        np.minimum(above[1:], most, out=above[1:])
        np.maximum(below[1:], -most, out=below[1:])
        return
    j, i = np.tril_indices(order)
    own = i == j
    diagonal = np.maximum(above[own], 0.0) * (1 + gamma(8))
    below[own] = np.maximum(below[own], 0.0)
    most = np.sqrt(2.0 * diagonal[i] * diagonal[j])[~own] * (1 + gamma(8))
    most = np.where(np.isnan(most), np.inf, most)
    above[~own] = np.minimum(above[~own], most)
    below[~own] = np.maximum(below[~own], -most)
