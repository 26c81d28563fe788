"""One step of minimum volume embedding: large eigenvalues of K grow, and small eigenvalues shrink."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.formulations.unfolding import with_distances
from npkl_models.linalg import Array, Matrix, dense, doubly_centred
from npkl_models.linalg.owned import real_array, whole_number
from npkl_models.model.graph import check_points
from npkl_models.model.regularizers import NoRegularizer, TracePower
from npkl_models.problem import Problem

ALIKE = 1e-8  # relative to the largest singular value: directions below add nothing to the others


def mve(
    X: Any,
    size: int = 2,
    *,
    directions: ArrayLike | None = None,
    n_neighbors: int = 4,
    C: float = 1.0,
    trace_bound: float | None = None,
    metric: str = "euclidean",
    components: str = "refuse",
) -> Problem:
    r"""One step of minimum volume embedding.

    .. math::

        \min_{K \succeq 0} - \operatorname{tr}\bigl((2 P - I) K\bigr) + \tfrac{C}{2} \sum_{(i,j) \in N}
        \bigl(K_{ii} + K_{jj} - 2 K_{ij} - d_{ij}^2\bigr)^2
        \quad [\text{s.t. } \operatorname{tr} K^2 \le B]

    with P the projector on d directions, which are the leading eigenvectors of the last kernel.
    `npkl_models.applications.volume.minimum_volume` runs the steps.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    size : int
        Dimension d of the embedding.
    directions : array_like of shape (n, d), optional
        Directions; P projects onto the span of their centred columns. By default, the first d principal
        components of X.
    n_neighbors : int
        Number of neighbours of each point, as in `mvu`.
    C : float
        Weight of the distances, positive. ``numpy.inf`` makes the distances equalities, as in Shaw & Jebara,
        and excludes ``trace_bound``.
    trace_bound : float, optional
        Positive number B.
    metric, components : str
        Same as in `mvu`.

    Raises
    ------
    ProblemError
        If the directions do not span d dimensions, or if d is not between 1 and n - 1.

    Notes
    -----
    Shaw & Jebara, AISTATS 2007; Zhuang, Tsang & Hoi, JMLR 12, 2011, section 6.2, eq. (32).
    """
    found = neighborhood(X, n_neighbors, metric, components)
    if whole_number(size, "size (the dimension)", 1) >= found.n:
        raise ProblemError(f"size (the dimension) must be at most n - 1 = {found.n - 1}, got {size}")
    cost = _cost(principal_directions(X, size) if directions is None else directions, found.n, size)
    regularizer = NoRegularizer() if trace_bound is None else TracePower(2, bound=trace_bound)
    return with_distances(cost, found, C, regularizer, "mve")


def turned(problem: Problem, directions: Array) -> Problem:
    """The step of an `mve` problem along other directions (n x size)."""
    return replace(problem, cost=_cost(directions, problem.n, directions.shape[1]))


def _cost(directions: ArrayLike, n: int, size: int) -> Matrix:
    axes = _axes(directions, n, size)
    return sp.csr_array(np.eye(n) - 2 * axes @ axes.T)


def principal_directions(X: Any, size: int) -> Array:
    """The leading left singular vectors of centred points (n x size)."""
    points = check_points(X)
    G = doubly_centred(dense(points @ points.T))
    return np.linalg.eigh(G)[1][:, ::-1][:, :size]


def _axes(directions: ArrayLike, n: int, size: int) -> Array:
    """An orthonormal basis of the centred directions."""
    D = real_array(directions, "directions")
    if D.shape != (n, size) or not np.isfinite(D).all():
        raise ProblemError(f"directions must have shape ({n}, {size}) and finite numbers, got {D.shape}")
    U, s, _ = np.linalg.svd(D - D.mean(axis=0), full_matrices=False)
    if not s[-1] > ALIKE * s[0]:
        raise ProblemError(
            f"directions must span {size} dimensions besides the constant, got singular values {s.tolist()}"
        )
    return U
