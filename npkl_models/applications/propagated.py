"""Spectral clustering on a graph whose affinities are changed by pairs that spread along its edges."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.applications.clustering import kernel_kmeans, unit_rows
from npkl_models.applications.signed import affinities, degree_scale, leading
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.pairs import Pairs

REACH = 0.6  # share of the word of the neighbours in each step along the graph
STEPS = 12  # number of steps
FAINT = 1e-3  # smaller entries of the spread are left out
AT_ONCE = 5_000_000  # number of entries that are looked at together, which may take 0.1 GB


def propagated_spectral(
    graph: Matrix, pairs: Pairs, n_clusters: int, n_init: int = 20, random_state: int | None = 0,
    everywhere: bool = False,
) -> Index:  # fmt: skip
    """Clusters by spectral clustering, with affinities that the pairs change, also far from their points.

    The pairs, +1 and -1, spread along both their ends as a walk does that goes on with probability 0.6. The
    value F_ij of an edge is what arrives there, divided by the largest. The affinity w of the edge becomes
    1 - (1 - F)(1 - w) if F >= 0, and (1 + F) w otherwise. A pair counts as an edge, with affinity 0 if the
    graph has none.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Affinities of neighbouring points, or a Laplacian.
    pairs : Pairs
        Must-links and cannot-links.
    n_clusters : int
        Number of clusters.
    n_init : int
        Number of restarts of k-means.
    random_state : int
        Seed of k-means.
    everywhere : bool
        Whether the affinities of all pairs of points change. This takes dense matrices (n x n).

    Returns
    -------
    ndarray of int, shape (n,)
        Cluster of each point.

    Notes
    -----
    Lu & Peng, "Exhaustive and Efficient Constraint Propagation", International Journal of Computer Vision
    103, 2013, algorithm 1. They change the affinities of all pairs of points, as ``everywhere`` does. Without
    it only edges and pairs are changed, and a spread below 0.001 is left out, so that all matrices stay
    sparse.

    Examples
    --------
    >>> import numpy as np
    >>> import npkl_models as nm
    >>> from npkl_models.applications.propagated import propagated_spectral
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> pairs = nm.Pairs(6, must_link=[(0, 2)], cannot_link=[(2, 3)])
    >>> labels = propagated_spectral(nm.knn_affinity(X, 2), pairs, 2)
    >>> bool(labels[0] == labels[1] != labels[4])
    True
    """
    if not 1 <= n_clusters <= pairs.n:
        raise ProblemError(f"n_clusters must be between 1 and n = {pairs.n}, got {n_clusters}")
    A = propagated_graph(graph, pairs, everywhere)
    scale = degree_scale(A)
    V = leading(sp.csr_array(scale @ A @ scale), n_clusters)
    return kernel_kmeans(unit_rows(V), n_clusters, n_init, random_state)


def propagated_graph(graph: Matrix, pairs: Pairs, everywhere: bool = False) -> Matrix:
    """The changed affinities, a sparse matrix (n x n) with the edges and the pairs, or with all entries."""
    W = affinities(graph, pairs.n)
    scale = degree_scale(W)
    W = sp.csr_array(scale @ W @ scale)
    ends = np.concatenate([pairs.i, pairs.j]), np.concatenate([pairs.j, pairs.i])
    Z = sp.csr_array((np.tile(pairs.sign, 2), ends), shape=W.shape)
    if everywhere:
        return sp.csr_array(_changed(W.toarray(), _everywhere(W, Z)))
    where = sp.coo_array(abs(W) + abs(Z))
    i, j = where.row, where.col
    w = np.asarray(W[i, j]).ravel()
    return sp.csr_array((_changed(w, _on_edges(_spread(W), Z, i, j)), (i, j)), shape=W.shape)


def _changed(w: Array, F: Array) -> Array:
    """Affinities w after the spread F, which is divided by its largest value."""
    F = F / max(float(np.abs(F).max(initial=0.0)), 1e-300)
    return np.asarray(np.where(F >= 0, 1 - (1 - F) * (1 - w), (1 + F) * w))


def _everywhere(W: Matrix, Z: Matrix) -> Array:
    """The spread of the pairs Z to all entries: R Z R' with R = (1 - a) (I - a W)^-1 and a = 0.6."""
    R = np.linalg.solve(np.eye(W.shape[0]) - REACH * W.toarray(), (1 - REACH) * np.eye(W.shape[0]))
    F = R @ (Z @ R.T)
    return np.asarray((F + F.T) / 2)


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
