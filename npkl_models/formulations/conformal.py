"""Conformal eigenmaps: distances are kept up to a scale for each point."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.formulations.neighborhood import neighborhood, pairs_within
from npkl_models.linalg import Array, Index
from npkl_models.model.constraint import Constraint
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.functionals import DistanceCombinations, SquaredDistances, Trace
from npkl_models.model.graph import check_points, laplacian
from npkl_models.model.neighbors import distances_of, nearest_neighbors
from npkl_models.model.terms import LossTerm
from npkl_models.problem import Problem


def conformal_eigenmaps(
    X: Any,
    n_neighbors: int = 5,
    n_basis: int = 10,
    *,
    metric: str = "euclidean",
    components: str = "refuse",
) -> Problem:
    r"""Conformal eigenmaps: neighbourhoods keep their shape, and each has a scale of its own.

    .. math::

        \min_{P \succeq 0,\; s \ge 0} \sum_i \sum_{(j,k) \in T_i}
        \bigl(D_{jk} - s_i\, d_{jk}^2\bigr)^2 \quad\text{s.t.}\quad \operatorname{tr} K = 1, \quad K = QPQ'

    with D the squared distances of K, and T_i all pairs among point i and its neighbours. Q consists of the
    eigenvectors 2 to s + 1 of the unnormalised Laplacian of the graph, whose edges all have weight one.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    n_neighbors : int
        Number k of neighbours of each point, at least 2 (for triangles); T_i has k (k + 1) / 2 pairs.
    n_basis : int
        Number s of eigenvectors.
    metric : str
        Metric of the distances d_jk.
    components : {"refuse", "connect"}
        Treatment of a disconnected graph, as in `mvu`; it concerns the graph of Q.

    Raises
    ------
    ProblemError
        If the graph is disconnected and ``components="refuse"``, if there is a single neighbour, or if a
        point coincides with all its neighbours, so that it has no scale (the message names the point).

    Notes
    -----
    Sha & Saul, ICML 2005, "Analysis and extension of spectral methods for nonlinear dimensionality
    reduction".

    The scales are not variables here. Let z_i be the squared distances of T_i in K, and d_i the given squared
    distances. The best s_i is d_i'z_i / d_i'd_i, which is never negative. The sum then becomes the squared
    length of (I - d_i d_i' / d_i'd_i) z_i, whose entries are sparse linear combinations of distances of K.
    """
    found = neighborhood(X, n_neighbors, metric, components)
    if n_neighbors < 2:
        raise ProblemError(f"n_neighbors must be at least 2, since angles need triangles, got {n_neighbors}")
    pairs, place, squared = _triangles(X, n_neighbors, metric)
    term = LossTerm(_misfits(found.n, pairs, place, squared), "square", 0.0, name="angles")
    basis = eigenbasis(laplacian(found.graph, normalized=False), n_basis, skip=1)
    whole = Constraint(Trace(found.n), equal=1.0, name="trace")
    cost = sp.csr_array((found.n, found.n))
    return Problem(cost, (term, whole), basis=basis, name=found.named("conformal_eigenmaps"))


def scales(X: Any, V: Array, n_neighbors: int = 5, metric: str = "euclidean") -> Array:
    """The best scales s_i (n,) of points X (n x d) that are embedded as the rows of V (n x r)."""
    pairs, place, squared = _triangles(X, n_neighbors, metric)
    z = SquaredDistances(len(place), (pairs[:, 0], pairs[:, 1])).value_of_factor(V)[place]
    d, unit = _in_units(squared[place])
    out: Array = np.einsum("ie,ie->i", d, z) / np.einsum("ie,ie->i", d, d) / unit[:, 0]
    return out


def _triangles(X: Any, n_neighbors: int, metric: str) -> tuple[Index, Index, Array]:
    """Pairs (p, 2) of points that are in a neighbourhood, their places in each T_i (n, m), and their d^2."""
    points = check_points(X)
    neighbor = nearest_neighbors(points, n_neighbors, metric)[1]
    pairs, place = pairs_within(np.column_stack([np.arange(points.shape[0]), neighbor]))
    squared = distances_of(points, pairs, metric) ** 2
    lost = np.flatnonzero(~squared[place].any(axis=1))
    if lost.size:
        raise ProblemError(
            f"points must not coincide with all their neighbours, got {lost.size} such points: "
            f"{lost[:5].tolist()}; raise n_neighbors, or remove repeated points"
        )
    return pairs, place, squared


def _in_units(d: Array) -> tuple[Array, Array]:
    """Rows divided by their largest numbers, so that squares stay in range, and these numbers (n, 1)."""
    unit = d.max(axis=1, keepdims=True)
    return d / unit, unit


def _misfits(n: int, pairs: Index, place: Index, squared: Array) -> DistanceCombinations:
    """(I - dd'/d'd) z of each T_i, one after the other: the error of each distance after the best scaling."""
    m = place.shape[1]
    d = _in_units(squared[place])[0]
    d /= np.sqrt(np.einsum("ie,ie->i", d, d))[:, None]
    blocks = np.eye(m) - d[:, :, None] * d[:, None, :]
    rows = np.repeat(np.arange(n * m), m)
    columns = np.broadcast_to(place[:, None, :], blocks.shape)
    A = sp.coo_array((blocks.ravel(), (rows, columns.ravel())), shape=(n * m, len(pairs))).tocsr()
    return DistanceCombinations(n, (pairs[:, 0], pairs[:, 1]), A)
