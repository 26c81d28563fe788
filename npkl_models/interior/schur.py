"""The Schur complement H_ef = <M_e, K M_f Z> of the HKM direction, gathered from K and Z.

For entries (i, j) and (k, l) it is (K_ik Z_jl + K_jl Z_ik + K_il Z_jk + K_jk Z_il) / 4: eight numbers out
of four rows that stay in the cache while f runs. Source of the direction: Helmberg, Rendl, Vanderbei &
Wolkowicz 1996; Kojima, Shindoh & Hara 1997; Monteiro 1997.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.interior.values import Values
from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import available, compiled

BLOCK = 256  # rows of H that numpy gathers at a time


def schur(values: Values, K: Array, Z: Array) -> Array:
    """H (m x m), symmetric positive semidefinite, in the order of columns."""
    t = values.incidence
    if values.Q is None:
        whole = values.points.size == values.order
        at = np.ix_(values.points, values.points)
        near_K, near_Z = (K, Z) if whole else (K[at], Z[at])
    else:
        near_K, near_Z = values.Q @ K @ values.Q.T, values.Q @ Z @ values.Q.T
    gather = _compiled if available() else _blocks
    H = gather(t.row, t.column, np.asarray(t.coefficient, dtype=float), near_K, near_Z)
    if not t.identity:
        owner = sp.csr_array(
            (np.ones(t.owner.size), (t.owner, np.arange(t.owner.size))), shape=(t.size, t.owner.size)
        )
        H = np.asarray(owner @ (owner @ H).T)
    if values.trace:
        across = values.of_product(K, Z)
        H = np.block([[H, across[:-1, None]], [across[None, :-1], across[-1:, None]]])
    return H.T  # the same numbers, in the order that LAPACK overwrites


def _blocks(row: Index, column: Index, coefficient: Array, K: Array, Z: Array) -> Array:
    m = row.size
    H = np.empty((m, m))
    for start in range(0, m, BLOCK):
        i, j = row[start : start + BLOCK], column[start : start + BLOCK]
        Ki, Kj, Zi, Zj = K[i], K[j], Z[i], Z[j]
        part = Ki[:, row] * Zj[:, column] + Kj[:, column] * Zi[:, row]
        part += Ki[:, column] * Zj[:, row] + Kj[:, row] * Zi[:, column]
        H[start : start + BLOCK] = 0.25 * coefficient[start : start + BLOCK, None] * part * coefficient
    return H


@compiled
def _compiled(row: Index, column: Index, coefficient: Array, K: Array, Z: Array) -> Array:  # pragma: no cover
    m = row.shape[0]
    H = np.empty((m, m))
    for e in range(m):
        i, j, c = row[e], column[e], 0.25 * coefficient[e]
        Ki, Kj, Zi, Zj = K[i], K[j], Z[i], Z[j]
        for f in range(e + 1):
            k, h = row[f], column[f]
            total = Ki[k] * Zj[h] + Kj[h] * Zi[k] + Ki[h] * Zj[k] + Kj[k] * Zi[h]
            H[e, f] = c * coefficient[f] * total
    for e in range(m):
        for f in range(e + 1, m):
            H[e, f] = H[f, e]
    return H
