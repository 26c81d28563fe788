"""The cliques into which a sparse semidefinite inequality falls, and what Clarabel needs for them.

A matrix whose entries outside a chordal pattern are zero is a sum of positive semidefinite ones, each on a
clique (Agler, Helton, McCullough & Rodman 1988; Vandenberghe & Andersen 2015, section 9.2), and the kernel
that is dual to it is only known on the cliques: its completion is unique where its inverse has the pattern.
Clarabel decomposes and completes; here is what it will find, from a factorisation by minimum degree.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from npkl_models.linalg import Array, Index
from npkl_models.model.statement import Statement

DENSE = 0.2  # of all entries: a pattern so full is one clique
LARGEST = 5_000  # beyond, nothing is factorised to find out


def slack_cliques(problem: Statement) -> Index:
    """Sizes of the maximal cliques of the pattern of the dual slack, once it is made chordal, descending."""
    pattern = slack_pattern(problem)
    return np.array([problem.order]) if pattern is None else clique_sizes(pattern)


def slack_pattern(problem: Statement) -> sp.csc_array | None:
    """Where the slack may have entries; None where that is everywhere."""
    n, R = problem.n, problem.regularizer.spectral
    if n > LARGEST or problem.basis is not None or not sp.issparse(problem.cost):
        return None
    if R is not None and R.p != 1:
        return None
    columns = [part.functional.operator(None).indices for part in (*problem.terms, *problem.equalities)]
    flat = np.unique(np.concatenate(columns)) if columns else np.zeros(0, dtype=int)
    if flat.size > DENSE * n * n:
        return None
    linked = sp.coo_array((np.ones(flat.size), (flat // n, flat % n)), shape=(n, n))
    pattern = abs(problem.cost) + linked + linked.T + sp.eye_array(n)
    return sp.csc_array(pattern) if pattern.nnz <= DENSE * n * n else None


def clique_sizes(pattern: sp.csc_array) -> Index:
    """Of a symmetric pattern (n x n), by the columns of a Cholesky factor of minimum degree."""
    n = pattern.shape[0]
    A = pattern.copy()
    A.data[:] = -1.0
    A = sp.csc_array(A + (n + 1.0) * sp.eye_array(n))  # diagonally dominant: no pivot is moved
    factor = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    L = sp.csc_array(factor.L)
    L.sort_indices()
    counts = np.diff(L.indptr)
    swallowed = np.zeros(n, dtype=bool)
    for column in np.flatnonzero(counts > 1):
        parent = L.indices[L.indptr[column] + 1]
        swallowed[parent] |= counts[column] == counts[parent] + 1
    return np.sort(counts[~swallowed])[::-1]


def dense_order(sizes: Index) -> float:
    """The order of one dense cone for which Clarabel stores as many numbers as for cliques of those sizes."""
    numbers = np.sqrt(float(np.sum(triangle_numbers(sizes) ** 2)))
    return float(np.sqrt(2 * numbers + 0.25) - 0.5)


def triangle_numbers(sizes: Index) -> Array:
    """Entries of the triangles of matrices of those sizes."""
    s = np.asarray(sizes, dtype=float)
    out: Array = s * (s + 1) / 2
    return out
