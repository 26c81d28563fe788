"""The Schur complement H_ef = <M_e, K M_f Z> of the HKM direction, gathered from K and Z.

For entries (i, j) and (k, l), H_ef is (K_ik Z_jl + K_jl Z_ik + K_il Z_jk + K_jk Z_il) / 4. These are eight
numbers from four rows, which stay in the cache while f runs. Source of the direction: Helmberg, Rendl,
Vanderbei & Wolkowicz 1996; Kojima, Shindoh & Hara 1997; Monteiro 1997.

For squared distances, M_e = d d' with d = e_i - e_j, and H_ef is (d_e'K d_f)(d_e'Z d_f). The differences are
computed before the product. Neighbours have nearly the same rows in K and in Z, so a sum of products would
lose the digits of the differences.

A value of many entries (a combination of distances, a trace) over a small basis has few coordinates in the
basis, and these are used (`Values.coordinates`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import blas

from npkl_models.interior.steps import solved
from npkl_models.interior.values import Values
from npkl_models.linalg import Array, Index, dense, raised_cholesky, symmetrize
from npkl_models.linalg.compile import Loop, worth
from npkl_models.linalg.nearly_dependent import Rows

EDGES = Loop("npkl_models.interior.compiled", "edges", 1.0)
ENTRIES = Loop("npkl_models.interior.compiled", "entries", 1.5)
USUAL = 20  # predicted number of iterations
IN_NUMPY = 4e-7  # seconds for an entry of H in the usual number of iterations
BLOCK = 16_000  # numbers of H that numpy computes at a time


def schur(values: Values, K: Array, Z: Array) -> Array:
    """H (m x m), symmetric positive semidefinite, stored by columns."""
    if values.coordinates is not None:
        return _by_coordinates(values.coordinates, K, Z)
    at, near = values.points, [X if X.flags.c_contiguous else X.T for X in (K, Z)]
    if values.Q is not None:
        at, near = np.arange(at.size), [np.asarray(values.Q @ X @ values.Q.T) for X in near]
    if values.edges is not None:
        i, j = (at[end] for end in values.edges)
        H = (EDGES if worth(IN_NUMPY * i.size**2) else _edges)(i, j, *near)
    else:
        row, column, coefficient, sums = values.entries
        H = gathered(at[row], at[column], coefficient, *near)
        H = H if sums is None else np.asarray(sums @ (sums @ H).T)
    return _bordered(values, H, K, Z)


def _bordered(values: Values, H: Array, K: Array, Z: Array) -> Array:
    """H with a row and a column for the bound on the trace, if there is one."""
    if values.trace:
        across = values.of_product(K, Z)
        H = np.block([[H, across[:-1, None]], [across[None, :-1], across[-1:, None]]])
    return H.T  # the same numbers stored by columns, which LAPACK can overwrite


def _by_coordinates(A: Array, K: Array, Z: Array) -> Array:
    """A P A' with P_ab = <E_a, K E_b Z> in the basis of `svec`."""
    i, j = np.triu_indices(len(K))
    unit = np.where(i == j, 1.0, np.sqrt(2.0))
    P = _in_numpy(i, j, unit, K, Z)
    return symmetrize(A @ P @ A.T).T


def inverse_of(
    values: Values, K: Array, Z: Array, bend: Array, factors: tuple[Array, Array]
) -> Callable[[Array], Array]:
    """The map of ``right`` to the solution x of (H + diag(bend)) x = right; ``factors`` are those of K and S.

    If the values are forms p'Kp, H is the Gram matrix of the matrices L_K'p p'L_S^-T. If these are nearly
    linearly dependent, H in memory has only half of their digits, so the matrices themselves are used.
    """
    if values.forms:
        P = dense(values.Q)
        rows = Rows.of(P @ factors[0], blas.dtrsm(1.0, factors[1], P.T, lower=1).T)
        if rows is not None:
            return rows.solve
    H = schur(values, K, Z)
    H.reshape(-1, order="F")[:: len(H) + 1] += bend
    return partial(solved, raised_cholesky(H, "the Schur complement"))


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
