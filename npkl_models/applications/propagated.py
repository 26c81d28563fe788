"""Spectral clustering with pairs that spread along the edges of the graph."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lobpcg

from npkl_models.applications.clustering import check_clusters, kernel_kmeans, unit_rows
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix, symmetrize
from npkl_models.linalg.owned import real_matrix
from npkl_models.model.pairs import Pairs

REACH = 0.6  # share of the word of the neighbours in each step along the graph
STEPS = 12  # number of steps
FAINT = 1e-3  # smaller entries of the spread are left out
AT_ONCE = 5_000_000  # number of entries that are looked at together, which may take 0.1 GB
RESIDUAL, MOST = 1e-4, 200  # of the eigenvectors, which only k-means reads; steps to it


def affinities(graph: Matrix, n: int | None = None) -> Matrix:
    """The affinities of a graph or a Laplacian, divided by the largest; no point is its own neighbour."""
    C = sp.coo_array(real_matrix(graph, "graph"))
    n = C.shape[0] if n is None else n
    if C.shape != (n, n) or not np.isfinite(C.data).all():
        raise ProblemError(f"graph must be finite and of shape {(n, n)}, got shape {C.shape}")
    off = (C.row != C.col) & (C.data != 0)
    weight = np.abs(C.data[off])
    weight = weight / weight.max() if weight.size else weight
    return sp.csr_array((weight, (C.row[off], C.col[off])), shape=C.shape)


def degree_scale(A: Matrix) -> Matrix:
    """The diagonal matrix of 1 / sqrt(d), with d the sums of absolute values of the rows; 1 for d = 0."""
    degree = np.asarray(abs(A).sum(axis=1)).ravel()
    return sp.diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1.0)))


def leading(A: Matrix, count: int) -> Array:
    """Eigenvectors of the largest eigenvalues (n x count), by blocks (Knyazev 2001): equal ones, too."""
    start = np.random.default_rng(0).standard_normal((A.shape[0], count))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few points, and of an accuracy that k-means does not need
        return np.asarray(lobpcg(A, start, largest=True, tol=RESIDUAL, maxiter=MOST)[1])


def propagated_spectral(
    graph: Matrix, pairs: Pairs, n_clusters: int, n_init: int = 20, random_state: int | None = 0,
    everywhere: bool = False,
) -> Index:  # fmt: skip
    """Clusters by spectral clustering, with affinities that the pairs change, also far from their points.

    The pairs, +1 and -1, spread along both their ends as a walk does that goes on with probability 0.6. The
    value F_ij of an edge is what arrives there, divided by the largest. The affinity w of the edge becomes
    1 - (1 - F)(1 - w) if F >= 0, and (1 + F) w otherwise. A pair counts as an edge, with affinity 0 if the
    graph has none. With ``everywhere`` the affinities of all pairs of points change, in dense matrices, as in
    Lu & Peng, "Exhaustive and Efficient Constraint Propagation", International Journal of Computer Vision
    103, 2013, algorithm 1. Rows have length 1, as in Ng, Jordan & Weiss, NIPS 2001.
    """
    A = propagated_graph(graph, pairs, everywhere)
    check_clusters(n_clusters, A.shape[0])
    return kernel_kmeans(unit_rows(spectral_rows(A, n_clusters)), n_clusters, n_init, random_state)


def spectral_rows(A: Matrix, count: int) -> Array:
    """The leading eigenvectors (n x count) of the normalised affinities (n x n)."""
    scale = degree_scale(A)
    return leading(sp.csr_array(scale @ A @ scale), count)


def propagated_graph(graph: Matrix, pairs: Pairs, everywhere: bool = False) -> Matrix:
    """The changed affinities, a sparse matrix (n x n) with the edges and the pairs, or with all entries."""
    W = affinities(graph, pairs.n)
    scale = degree_scale(W)
    W = sp.csr_array(scale @ W @ scale)
    ends = np.concatenate([pairs.i, pairs.j]), np.concatenate([pairs.j, pairs.i])
    Z = sp.csr_array((np.tile(pairs.sign, 2), ends), shape=W.shape)
    if everywhere:
        whole, one = W.toarray(), np.eye(pairs.n)
        R = np.linalg.solve(one - REACH * whole, (1 - REACH) * one)
        return sp.csr_array(_changed(whole, symmetrize(R @ (Z @ R.T))))
    where = sp.coo_array(abs(W) + abs(Z))
    i, j = where.row, where.col
    w = np.asarray(W[i, j]).ravel()
    return sp.csr_array((_changed(w, _on_edges(_spread(W), Z, i, j)), (i, j)), shape=W.shape)


def _changed(w: Array, F: Array) -> Array:
    """Affinities w after the spread F, which is divided by its largest value."""
    F = F / max(float(np.abs(F).max(initial=0.0)), 1e-300)
    return np.asarray(np.where(F >= 0, 1 - (1 - F) * (1 - w), (1 + F) * w))


def _spread(W: Matrix) -> Matrix:
    """(1 - a) (I + a W + a^2 W^2 + ...) with a = 0.6, without faint entries."""
    first = sp.csr_array((1 - REACH) * sp.eye_array(W.shape[0]))
    R = first
    for _ in range(STEPS):
        R = sp.csr_array(first + REACH * (W @ R))
        R.data[R.data < FAINT] = 0.0
        R.eliminate_zeros()
    return R


def _on_edges(R: Matrix, Z: Matrix, i: Index, j: Index) -> Array:
    """The entries (i, j) of R Z R', symmetrised."""
    G, out = sp.csr_array(R @ Z), np.empty(i.size)
    longest = max(int(np.diff(A.indptr).max(initial=1)) for A in (G, sp.csr_array(R)))
    edges = max(AT_ONCE // longest, 1)
    for start in range(0, i.size, edges):
        part = slice(start, start + edges)
        one, two = G[i[part]].multiply(R[j[part]]), G[j[part]].multiply(R[i[part]])
        out[part] = np.asarray(one.sum(axis=1) + two.sum(axis=1)).ravel() / 2
    return out
