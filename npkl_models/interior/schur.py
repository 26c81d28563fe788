"""The Schur complement H_ef = <M_e, K M_f Z> of the HKM direction, gathered from K and Z.

For entries (i, j) and (k, l), H_ef is (K_ik Z_jl + K_jl Z_ik + K_il Z_jk + K_jk Z_il) / 4. These are eight
numbers from four rows, which stay in the cache while f runs. Source of the direction: Helmberg, Rendl,
Vanderbei & Wolkowicz 1996; Kojima, Shindoh & Hara 1997; Monteiro 1997.

For squared distances, M_e = d d' with d = e_i - e_j, and H_ef is (d_e'K d_f)(d_e'Z d_f). The differences are
computed before the product. Neighbours have nearly the same rows in K and in Z, so a sum of products would
lose the digits of the differences.

A value of many entries (a combination of distances, a trace) over a small basis has few coordinates in the
basis, and these are used (`Unknown.coordinates`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npkl_models.linalg import Array, Index, symmetrize
from npkl_models.linalg.compile import Loop, worth

EDGES = Loop("npkl_models.interior.compiled", "edges", 1.0)
ENTRIES = Loop("npkl_models.interior.compiled", "entries", 1.5)
USUAL = 20  # predicted number of iterations
IN_NUMPY = 4e-7  # seconds for an entry of H in the usual number of iterations
BLOCK = 16_000  # numbers of H that numpy computes at a time


def by_coordinates(A: Array, K: Array, Z: Array) -> Array:
    """A P A' with P_ab = <E_a, K E_b Z> in the basis of `svec`."""
    i, j = np.triu_indices(len(K))
    unit = np.where(i == j, 1.0, np.sqrt(2.0))
    P = _in_numpy(i, j, unit, K, Z)
    return symmetrize(A @ P @ A.T)


def of_distances(i: Index, j: Index, K: Array, Z: Array) -> Array:
    """H (m x m) for squared distances; K and Z are stored by rows."""
    return np.asarray((EDGES if worth(IN_NUMPY * i.size**2) else _edges)(i, j, K, Z))


def gathered(row: Index, column: Index, coefficient: Array, K: Array, Z: Array) -> Array:
    """H (m x m) for entries of K times coefficients; K and Z are stored by rows."""
    if np.array_equal(row, column):
        own = np.ix_(row, row)
        return np.asarray(coefficient[:, None] * K[own] * Z[own] * coefficient)
    return (ENTRIES if worth(IN_NUMPY * row.size**2) else _in_numpy)(row, column, coefficient, K, Z)


def _in_numpy(row: Index, column: Index, coefficient: Array, K: Array, Z: Array) -> Array:
    """H for entries, by blocks of the half below the diagonal."""

    def block(part: slice) -> Array:
        upto = slice(part.stop)
        return rows_of(part, row[upto], column[upto], coefficient[upto], K, Z)

    return _by_blocks(row.size, block)


def _by_blocks(m: int, block: Callable[[slice], Array]) -> Array:
    """H (m x m), symmetric, from blocks of rows up to their diagonal; a block stays in the cache."""
    H, step = np.empty((m, m)), max(BLOCK // max(m, 1), 1)
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        own = block(part)
        H[part, : part.stop] = own
        H[: part.stop, part] = own.T
    return H


def rows_of(part: slice, row: Index, column: Index, coefficient: Array, K: Array, Z: Array) -> Array:
    """Some rows of H for entries."""
    i, j = row[part], column[part]
    Ki, Kj, Zi, Zj = K[i], K[j], Z[i], Z[j]
    out = Ki[:, row] * Zj[:, column]
    out += Kj[:, column] * Zi[:, row]
    out += Ki[:, column] * Zj[:, row]
    out += Kj[:, row] * Zi[:, column]
    out *= 0.25 * coefficient[part, None]
    out *= coefficient
    return np.asarray(out)


def _edges(i: Index, j: Index, K: Array, Z: Array) -> Array:
    """H for squared distances, by the same blocks."""

    def block(part: slice) -> Array:
        of_K, of_Z, k, h = K[i[part]] - K[j[part]], Z[i[part]] - Z[j[part]], i[: part.stop], j[: part.stop]
        return np.asarray((of_K[:, k] - of_K[:, h]) * (of_Z[:, k] - of_Z[:, h]))

    return _by_blocks(i.size, block)
