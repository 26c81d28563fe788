"""Signed spectral clustering: pairs as edges of weight +1 and -1 beside the edges of the graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from npkl_models.applications.clustering import kernel_kmeans, unit_rows
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.owned import real_matrix
from npkl_models.model.pairs import Pairs

DENSE = 200  # up to this number of points all eigenvectors are computed
ACCURACY = 1e-5  # of the eigenvectors, which only k-means reads


def signed_spectral(
    graph: Matrix, pairs: Pairs, n_clusters: int, n_init: int = 20, random_state: int | None = 0
) -> Index:  # fmt: skip
    """Clusters by the k smallest eigenvectors of the normalised signed Laplacian.

    A pair replaces the affinity of its two points by +1 (must-link) or -1 (cannot-link); the largest affinity
    of the graph counts as 1. The degree of a point is the sum of the absolute weights of its edges. k-means
    runs on the rows of the eigenvectors, scaled to length 1.

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

    Returns
    -------
    ndarray of int, shape (n,)
        Cluster of each point.

    Notes
    -----
    Kunegis et al., "Spectral Analysis of Signed Graphs for Clustering, Prediction and Visualization", SDM
    2010, section 4; rows of length 1 as in Ng, Jordan & Weiss, NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import npkl_models as nm
    >>> from npkl_models.applications.signed import signed_spectral
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> pairs = nm.Pairs(6, must_link=[(0, 2)], cannot_link=[(2, 3)])
    >>> labels = signed_spectral(nm.knn_affinity(X, 2), pairs, 2)
    >>> bool(labels[0] == labels[1] != labels[4])
    True
    """
    if not 1 <= n_clusters <= pairs.n:
        raise ProblemError(f"n_clusters must be between 1 and n = {pairs.n}, got {n_clusters}")
    A = signed_graph(graph, pairs)
    scale = degree_scale(A)
    V = leading(sp.csr_array(scale @ A @ scale), n_clusters)
    return kernel_kmeans(unit_rows(V), n_clusters, n_init, random_state)


def signed_graph(graph: Matrix, pairs: Pairs) -> Matrix:
    """The affinities, at most 1, with +1 and -1 in the place of the pairs."""
    A = affinities(graph, pairs.n)
    ends = np.concatenate([pairs.i, pairs.j]), np.concatenate([pairs.j, pairs.i])
    told = sp.csr_array((np.ones(2 * len(pairs)), ends), shape=A.shape)
    sign = sp.csr_array((np.tile(pairs.sign, 2), ends), shape=A.shape)
    return sp.csr_array(A - A.multiply(told) + sign)


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
    """Eigenvectors of the largest eigenvalues (n x count)."""
    n = A.shape[0]
    if n <= DENSE or 2 * count + 2 >= n:
        return np.asarray(np.linalg.eigh(A.toarray())[1][:, ::-1][:, :count])
    start = np.cos(np.arange(n))  # the same in every process
    values, V = eigsh(A, count, which="LA", v0=start, tol=ACCURACY)
    for turn in range(1, count):
        value, v = _left(A, values, V, np.cos((turn + 1) * np.arange(n)))
        least = int(np.argmin(values))
        if value <= values[least] + ACCURACY:
            break
        values[least], V[:, least] = value, v
    return np.asarray(V)


def _left(A: Matrix, values: Array, V: Array, start: Array) -> tuple[float, Array]:
    """The largest eigenvalue that is left, and its vector; of equal eigenvalues, eigsh may miss some."""
    scale = values + 2.0  # eigenvalues are from -1 to 1: what is known becomes -2

    def times(x: Array) -> Array:
        return np.asarray(A @ x - V @ (scale * (V.T @ x)))

    value, v = eigsh(
        LinearOperator(A.shape, matvec=times, dtype=float), 1, which="LA", v0=start, tol=ACCURACY
    )
    return float(value[0]), v[:, 0]
