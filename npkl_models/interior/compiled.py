"""The compiled sums of `schur`: whole rows, whose sums are vectorised, take no longer than half of them."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import compiled

SIGNATURES = {
    "edges": "f8[:, ::1](intp[::1], intp[::1], f8[:, ::1], f8[:, ::1])",
    "entries": "f8[:, ::1](intp[::1], intp[::1], f8[::1], f8[:, ::1], f8[:, ::1])",
}


@compiled
def edges(i: Index, j: Index, K: Array, Z: Array) -> Array:  # pragma: no cover
    """H (m x m) if all values are squared distances."""
    m = i.shape[0]
    H = np.empty((m, m))
    for e in range(m):
        a, b = i[e], j[e]
        for f in range(m):
            c, d = i[f], j[f]
            of_K = (K[a, c] - K[b, c]) - (K[a, d] - K[b, d])
            of_Z = (Z[a, c] - Z[b, c]) - (Z[a, d] - Z[b, d])
            H[e, f] = of_K * of_Z
    return H


@compiled
def entries(row: Index, column: Index, coefficient: Array, K: Array, Z: Array) -> Array:  # pragma: no cover
    """H (m x m) for entries of K."""
    m = row.shape[0]
    H = np.empty((m, m))
    for e in range(m):
        i, j, c = row[e], column[e], 0.25 * coefficient[e]
        Ki, Kj, Zi, Zj = K[i], K[j], Z[i], Z[j]
        for f in range(m):
            k, h = row[f], column[f]
            total = Ki[k] * Zj[h] + Kj[h] * Zi[k] + Ki[h] * Zj[k] + Kj[k] * Zi[h]
            H[e, f] = c * coefficient[f] * total
    return H
