"""The compiled sums of `schur`: one half of a symmetric matrix, which is then mirrored."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import compiled, inlined

BLOCK = 32  # rows and columns of a block
SIGNATURES = {
    "edges": "f8[:, ::1](intp[::1], intp[::1], f8[:, ::1], f8[:, ::1])",
    "entries": "f8[:, ::1](intp[::1], intp[::1], f8[::1], f8[:, ::1], f8[:, ::1])",
}


@inlined
def _mirror(H: Array) -> None:  # pragma: no cover
    """Copy the half below the diagonal to the half above, by blocks that stay in the cache."""
    m = H.shape[0]
    for top in range(0, m, BLOCK):
        for left in range(0, top + 1, BLOCK):
            for e in range(top, min(top + BLOCK, m)):
                for f in range(left, min(left + BLOCK, e)):
                    H[f, e] = H[e, f]


@compiled
def edges(i: Index, j: Index, K: Array, Z: Array) -> Array:  # pragma: no cover
    """H (m x m) if all values are squared distances."""
    m = i.shape[0]
    H = np.empty((m, m))
    for e in range(m):
        a, b = i[e], j[e]
        for f in range(e + 1):
            c, d = i[f], j[f]
            of_K = (K[a, c] - K[b, c]) - (K[a, d] - K[b, d])
            of_Z = (Z[a, c] - Z[b, c]) - (Z[a, d] - Z[b, d])
            H[e, f] = of_K * of_Z
    _mirror(H)
    return H


@compiled
def entries(row: Index, column: Index, coefficient: Array, K: Array, Z: Array) -> Array:  # pragma: no cover
    """H (m x m) for entries of K."""
    m = row.shape[0]
    H = np.empty((m, m))
    for e in range(m):
        i, j, c = row[e], column[e], 0.25 * coefficient[e]
        Ki, Kj, Zi, Zj = K[i], K[j], Z[i], Z[j]
        for f in range(e + 1):
            k, h = row[f], column[f]
            total = Ki[k] * Zj[h] + Kj[h] * Zi[k] + Ki[h] * Zj[k] + Kj[k] * Zi[h]
            H[e, f] = c * coefficient[f] * total
    _mirror(H)
    return H
