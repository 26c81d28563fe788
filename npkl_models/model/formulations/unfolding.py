"""Maximum variance unfolding: distances kept, variance as large as they allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.cliques import flatten
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.faces import complement
from npkl_models.model.functionals import SquaredDistances, TotalSum
from npkl_models.model.graph import check_points, laplacian
from npkl_models.model.neighbors import nearest_neighbors
from npkl_models.model.pairs import components
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Equality, LossTerm


def mvu(X: Any, n_neighbors: int = 4, metric: str = "euclidean", reduce: bool = True) -> Problem:
    r"""Maximum variance unfolding.

    .. math::

        \max_{K \succeq 0} \operatorname{tr} K \quad\text{s.t.}\quad
        K_{ii} + K_{jj} - 2 K_{ij} = d_{ij}^2 \;\; \forall (i,j) \in N, \quad \mathbf 1' K \mathbf 1 = 0

    Parameters
    ----------
    X : array_like of shape (n, d)
    n_neighbors : int
        (i, j) is in N if i is among the neighbours of j or j among those of i; the graph must be
        connected.
    metric : str
        Of the distances d_ij.
    reduce : bool
        State it on the face where all feasible kernels lie, by a basis; False gives the printed form, which
        solvers lose half of their digits to, or more.

    Raises
    ------
    ProblemError
        For a graph in parts, which nothing would hold together; for points whose distances (of a metric that
        is not Euclidean) no points have.

    Notes
    -----
    Weinberger, Sha & Saul, ICML 2004; Wu, thesis 2011, eqs. (3.1)-(3.4). Either form is dense (n x n), so
    this is for small n; `reg_mvu` has a small basis.

    1'K1 = 0 forbids any positive definite K, and so do points that are all neighbours of each other and lie
    in fewer dimensions than they could (five in a plane): then all their distances are known, and the rank
    of their part of K. The basis is orthogonal to the constant vector and to all that is so fixed
    (`npkl_models.model.cliques`; Krislock & Wolkowicz 2010), and distances that depend on others there are
    left out. In exact arithmetic it is the same problem. The distances in memory are rounded, though: those
    of five points in a plane are, to the last bit, of no points, or of points in four dimensions. What is
    certified is the optimum of the problem over that basis with the distances that it keeps; the others are
    met to rounding, and ``mvu(..., reduce=False).violation(V)`` says how well.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> angle = np.linspace(0.0, 4.0, 9)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])  # an arc in the plane
    >>> solution = nm.mvu(X, n_neighbors=2).solve()
    >>> solution.is_optimal(1e-6)
    True
    """
    pairs, squared, n = _neighborhood(X, n_neighbors, metric)
    kept = Equality(SquaredDistances(n, (pairs[:, 0], pairs[:, 1])), squared, "distances")
    cost = -sp.eye_array(n).tocsr()
    if reduce:
        flat = flatten(n, pairs, squared)
        if flat is None:
            return Problem(cost, (), (kept,), basis=complement(n), name="mvu")
        i, j = pairs[flat.kept].T
        stated = Equality(SquaredDistances(n, (i, j)), squared[flat.kept], "distances")
        return Problem(cost, (), (stated,), basis=flat.basis, name="mvu")
    return Problem(cost, (), (kept, Equality(TotalSum(n), 0.0, "centring")), name="mvu")


def reg_mvu(
    X: Any, n_neighbors: int = 4, n_basis: int = 20, nu: float = 1.0, metric: str = "euclidean"
) -> Problem:
    r"""Graph-regularised maximum variance unfolding.

    .. math::

        \max_{U \succeq 0} \operatorname{tr} U - \nu \sum_{(i,j) \in N}
        \bigl((QUQ')_{ii} - 2 (QUQ')_{ij} + (QUQ')_{jj} - d_{ij}^2\bigr)^2

    with Q the eigenvectors 2 to s + 1 of the unnormalised Laplacian of N, all of whose weights are one.

    Parameters
    ----------
    X : array_like of shape (n, d)
    n_neighbors : int
    n_basis : int
        s.
    nu : float
        Positive.
    metric : str

    Notes
    -----
    Weinberger, Sha, Zhu & Saul, NIPS 2007; Wu, thesis 2011, eq. (3.11).

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> angle = np.linspace(0.0, 4.0, 30)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> problem = nm.reg_mvu(X, n_neighbors=2, n_basis=5, nu=10.0)
    >>> problem.order, problem.solve().is_optimal()
    (5, True)
    """
    if not (np.isfinite(nu) and nu > 0):
        raise ProblemError(f"nu must be positive and finite, got {nu}")
    pairs, squared, n = _neighborhood(X, n_neighbors, metric)
    basis = eigenbasis(laplacian(_graph(pairs, n), normalized=False), n_basis, skip=1)
    term = LossTerm(SquaredDistances(n, (pairs[:, 0], pairs[:, 1])), "square", squared, nu, "distances")
    return Problem(-sp.eye_array(n).tocsr(), term, basis=basis, name="reg_mvu")


def _neighborhood(X: Any, n_neighbors: int, metric: str) -> tuple[Index, Array, int]:
    """Neighbour pairs (m, 2), their squared distances, and n."""
    points = check_points(X)
    n = points.shape[0]
    if not 1 <= n_neighbors < n:
        raise ProblemError(f"n_neighbors must be between 1 and n - 1 = {n - 1}, got {n_neighbors}")
    distance, neighbor = nearest_neighbors(points, n_neighbors, metric)
    ordered = np.sort(np.stack([np.repeat(np.arange(n), n_neighbors), neighbor.ravel()], axis=1), axis=1)
    pairs, first = np.unique(ordered, axis=0, return_index=True)
    count, label = components(n, pairs)
    if count > 1:
        sizes = np.sort(np.bincount(label))[::-1][:5].tolist()
        raise ProblemError(
            f"the neighbourhood graph must be connected, got {count} components (the largest hold {sizes} "
            "points) that could move apart without limit; raise n_neighbors"
        )
    if metric == "euclidean" and isinstance(points, np.ndarray):  # free of what a search rounds
        apart = points[pairs[:, 0]] - points[pairs[:, 1]]
        return pairs, np.einsum("ed,ed->e", apart, apart), n
    return pairs, distance.ravel()[first] ** 2, n


def _graph(pairs: Index, n: int) -> Matrix:
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return sp.coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(n, n)).tocsr()
