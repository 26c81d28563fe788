"""Locally rigid embedding: a basis from local positions, and square losses on distances of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.formulations.neighborhood import neighborhood, pairs_within
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.owned import whole_number
from npkl_models.model.basis import Basis, orthonormal
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.graph import check_points
from npkl_models.model.neighbors import distances_of, nearest_neighbors
from npkl_models.problem import Problem

BESIDE = 1e-10  # squared length of u over k: a smaller u means that all neighbours lie beside the point
HALF = 0.5  # a direction that keeps at most this length without its mean counts as the constant
RIDGE = 1e-3  # ridge of `barycentric`, as a share of the trace of the Gram matrix (Roweis & Saul 2000)


def locally_rigid(
    X: Any,
    n_neighbors: int = 6,
    n_basis: int = 10,
    *,
    dimension: int = 2,
    metric: str = "euclidean",
    components: str = "refuse",
) -> Problem:
    r"""Locally rigid embedding: square losses on distances of neighbours, over a basis of local positions.

    .. math::

        \min_{U \succeq 0} \sum_{(i,j) \in N}
        \bigl((QUQ')_{ii} - 2 (QUQ')_{ij} + (QUQ')_{jj} - d_{ij}^2\bigr)^2

    with Q orthogonal to the constant vector, and spanned by the s eigenvectors of the smallest eigenvalues of
    (I - W)'(I - W). W describes each point as a weighted mean of its neighbours.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points; only their distances are used.
    n_neighbors : int
        Number k of neighbours of each point, more than the dimension. (i, j) is in N if i is among the k
        neighbours of j, or j among the k neighbours of i.
    n_basis : int
        Number s of eigenvectors, at least the dimension.
    dimension : int
        Dimension in which each neighbourhood is laid out.
    metric : str
        Metric of the distances.
    components : {"refuse", "connect"}
        Treatment of a disconnected graph, as in `mvu`. Added edges are in N, but W does not use them.

    Raises
    ------
    ProblemError
        If the graph is disconnected and ``components="refuse"``, or if the dimension needs more neighbours or
        a larger basis.

    Notes
    -----
    Singer, PNAS 105(28), 2008, "A remark on global positioning from local distances".

    Point i and its k neighbours are laid out by classical multidimensional scaling of their own distances, in
    the given dimension. Let y_j be the positions of the neighbours relative to i. Row i of W has the smallest
    weights w with sum one and sum w_j y_j = 0: w = u / (u'u), where u is the component of the vector of ones
    orthogonal to the span of the coordinates. If all neighbours lie on a hyperplane that does not contain the
    point, there are no such weights. The weights then minimise ``|sum w_j y_j|^2`` + 1e-3 ``|w|^2`` sum
    ``|y_j|^2``.
    """
    dimension = whole_number(dimension, "dimension", 1)
    found = neighborhood(X, n_neighbors, metric, components)
    size = whole_number(n_basis, "size of a basis", 1)
    if n_neighbors <= dimension:
        raise ProblemError(
            f"n_neighbors must be more than the dimension, {dimension}, to fix the position of a point, "
            f"got {n_neighbors}"
        )
    if not dimension <= size < found.n:
        raise ProblemError(
            f"n_basis must be between the dimension, {dimension}, and n - 1 = {found.n - 1}, got {n_basis}"
        )
    W = placing(X, n_neighbors, dimension, metric)
    cost = sp.csr_array((found.n, found.n))
    return Problem(cost, found.term(1.0), basis=_smooth(W, size), name=found.named("locally_rigid"))


def placing(X: Any, n_neighbors: int, dimension: int, metric: str = "euclidean") -> Matrix:
    """The matrix W (n x n) of points (n x d); row i writes point i as a weighted mean of its neighbours."""
    points = check_points(X)
    n, k = points.shape[0], n_neighbors
    neighbor = nearest_neighbors(points, k, metric)[1]
    Y = _laid_out(points, np.column_stack([np.arange(n), neighbor]), dimension, metric)
    ones = np.ones((n, k, 1))
    u = (ones - Y @ (np.linalg.pinv(Y) @ ones))[:, :, 0]
    inside = np.einsum("nk,nk->n", u, u)
    beside = np.flatnonzero(inside <= BESIDE * k)
    w = u / np.where(inside > 0, inside, 1.0)[:, None]
    if beside.size:
        w[beside] = barycentric(Y[beside])
    return sp.coo_array((w.ravel(), (np.repeat(np.arange(n), k), neighbor.ravel())), shape=(n, n)).tocsr()


def barycentric(differences: Array) -> Array:
    """Weights (m, k) with sum one that bring the means of differences (m, k, d) nearest to zero."""
    G = differences @ differences.transpose(0, 2, 1)
    trace, k = np.trace(G, axis1=1, axis2=2), G.shape[1]
    G[:, range(k), range(k)] += np.where(trace > 0, RIDGE * trace, 1.0)[:, None]
    weights = np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[:, :, 0]
    return weights / weights.sum(axis=1, keepdims=True)


def _laid_out(points: Any, members: Index, dimension: int, metric: str) -> Array:
    """Positions (n, k, dimension) of each row's members relative to the first, from their distances."""
    n, size = members.shape
    a, b = np.triu_indices(size, 1)
    pairs, place = pairs_within(members)
    D = np.zeros((n, size, size))
    D[:, a, b] = D[:, b, a] = (distances_of(points, pairs, metric) ** 2)[place]
    mean = D.mean(axis=1, keepdims=True)
    B = -0.5 * (D - mean - mean.transpose(0, 2, 1) + mean.mean(axis=2, keepdims=True))
    values, vectors = np.linalg.eigh(B)
    values, vectors = values[:, -dimension:], vectors[:, :, -dimension:]
    Z = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return Z[:, 1:] - Z[:, :1]


def _smooth(W: Matrix, size: int) -> Basis:
    """The eigenvectors of the smallest eigenvalues of (I - W)'(I - W), without the constant vector."""
    left = sp.csr_array(sp.eye_array(W.shape[0]) - W)
    found = eigenbasis(sp.csr_array(left.T @ left), size + 1)  # with the constant, or a vector as smooth
    U, lengths, _ = np.linalg.svd(found.dense - found.dense.mean(axis=0), full_matrices=False)
    U = U[:, lengths > HALF]
    A = left @ U
    Q = U @ np.linalg.eigh(A.T @ A)[1][:, :size]
    return Basis(orthonormal(Q - Q.mean(axis=0)))
