"""Coordinates from a learnt kernel, and their quality: neighbours, and share of the eigenvalues.

Examples
--------
>>> import numpy as np
>>> import npkl_models as nm
>>> from npkl_models.applications import embedding
>>> angle = np.linspace(0.0, 4.0, 20)
>>> X = np.column_stack([np.cos(angle), np.sin(angle)])  # an arc, which is unrolled
>>> Z = embedding.coordinates(nm.mvu(X, n_neighbors=2).solve(), 1)
>>> bool(abs(np.corrcoef(Z[:, 0], angle)[0, 1]) > 0.999)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.answer.coordinates import coordinates as coordinates
from npkl_models.answer.coordinates import principal
from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import finite, real_array, whole_number
from npkl_models.model.graph import check_points
from npkl_models.model.neighbors import nearest_neighbors


def scree(given: Solution | ArrayLike) -> Array:
    """Eigenvalues of the centred kernel, the largest first: n times the variance along each coordinate.

    ``given`` is as in `coordinates`: a kernel has all n of them, a factor (n x r) min(n, r).
    """
    return principal(given)[1]


def held(given: Solution | ArrayLike, size: int = 2) -> float:
    """The share of the first eigenvalues in the trace of the centred kernel; 1 for the zero kernel."""
    size, values = whole_number(size, "size", 1), scree(given)
    total = float(values.sum())
    return float(values[:size].sum()) / total if total > 0 else 1.0


def neighborhood_preservation(X: Any, Z: ArrayLike, n_neighbors: int = 5, metric: str = "euclidean") -> float:
    """The share of the points' nearest neighbours that are nearest neighbours in the embedding, too.

    Parameters
    ----------
    X : array_like or sparse of shape (n, d)
        The points.
    Z : array_like of shape (n, s)
        The embedding of the points; its distances are Euclidean.
    n_neighbors : int
        Number of neighbours, from 1 to n - 1; a random embedding has the share n_neighbors / (n - 1).
    metric : str
        Metric of the distances between the points in X.
    """
    given, images = check_points(X), _images(Z)
    n = len(images)
    if given.shape[0] != n:
        raise ProblemError(f"X and Z must be of the same points, got {given.shape[0]} and {n}")
    if not 1 <= n_neighbors < n:
        raise ProblemError(f"n_neighbors must be between 1 and n - 1 = {n - 1}, got {n_neighbors}")
    one = nearest_neighbors(given, n_neighbors, metric)[1]
    two = nearest_neighbors(images, n_neighbors)[1]
    before, after = ((np.arange(n)[:, None] * n + found).ravel() for found in (one, two))
    return float(np.isin(before, after).mean())


def _images(Z: ArrayLike) -> Array:
    out = finite(real_array(Z, "an embedding"), "an embedding")
    if out.ndim != 2:
        raise ProblemError(f"an embedding must have shape (n, s), got {out.shape}")
    return out
