"""Coordinates from a learnt kernel, and their quality: neighbours, classes, and share of the eigenvalues.

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
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import finite, real_array, whole_number
from npkl_models.model.graph import check_points
from npkl_models.model.neighbors import nearest_neighbors


def scree(given: Solution | ArrayLike) -> Array:
    """Eigenvalues of the centred kernel, the largest first: n times the variance along each coordinate.

    Parameters
    ----------
    given : Solution or array_like
        As in `coordinates`.

    Returns
    -------
    ndarray of shape (k,)
        All n eigenvalues if a kernel is given; min(n, r) eigenvalues if a factor is given.

    Examples
    --------
    >>> from npkl_models.applications.embedding import scree
    >>> values = scree([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> values / values.sum()
    array([0.8, 0.2])
    """
    return principal(given)[1]


def held(given: Solution | ArrayLike, size: int = 2) -> float:
    """The share of the first eigenvalues in the trace of the centred kernel; 1 for the zero kernel.

    Examples
    --------
    >>> from npkl_models.applications.embedding import held
    >>> held([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]], 1)
    0.8
    """
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
        Number of neighbours of each point, from 1 to n - 1.
    metric : str
        Metric of the distances between the points in X.

    Returns
    -------
    float
        The share, between 0 and 1; a random embedding has n_neighbors / (n - 1) on average.

    Examples
    --------
    >>> from npkl_models.applications.embedding import neighborhood_preservation
    >>> X = [[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [6.5, 0.0]]
    >>> neighborhood_preservation(X, [[0.0], [2.0], [3.0], [7.0]], 1)
    0.5
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


def knn_accuracy(Z: ArrayLike, labels: ArrayLike, n_neighbors: int = 1) -> float:
    """Leave-one-out accuracy of the nearest-neighbour classifier: the share of points that it gets right.

    Parameters
    ----------
    Z : array_like of shape (n, s)
        The embedding.
    labels : array_like of shape (n,)
        Class of each point.
    n_neighbors : int
        Number of neighbours that vote, from 1 to n - 1. If two classes have equally many votes, the class
        with the smaller sum of ranks (the nearer neighbours) wins.

    Examples
    --------
    >>> from npkl_models.applications.embedding import knn_accuracy
    >>> knn_accuracy([[0.0], [1.0], [2.0], [9.0], [10.0], [2.5]], [0, 0, 0, 1, 1, 1], 1)
    0.6666666666666666
    """
    images = _images(Z)
    names, y = np.unique(np.asarray(labels), return_inverse=True)
    if y.shape != (len(images),):
        raise ProblemError(f"labels must have shape ({len(images)},), got {np.shape(labels)}")
    return float(np.mean(_votes(images, y, names.size, n_neighbors) == y))


def trustworthiness(X: Any, Z: ArrayLike, n_neighbors: int = 5, metric: str = "euclidean") -> float:
    """Trustworthiness, from 0 to 1: whether points that are near in the embedding are near in X, too.

    Venna & Kaski, ICANN 2001. `sklearn.manifold.trustworthiness` computes it and needs n_neighbors < n / 2.

    Examples
    --------
    >>> from npkl_models.applications.embedding import trustworthiness
    >>> X = [[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [6.5, 0.0]]
    >>> trustworthiness(X, [[0.0], [1.0], [5.0], [6.5]], 1)
    1.0
    """
    import sklearn.manifold

    points, images = check_points(X), _images(Z)
    return float(sklearn.manifold.trustworthiness(points, images, n_neighbors=n_neighbors, metric=metric))


def kernel_pca(X: Any, size: int = 2, kernel: str = "rbf", **options: Any) -> Array:
    """Coordinates by kernel PCA of scikit-learn, as a baseline; signs are fixed as in `coordinates`.

    Parameters
    ----------
    X : array_like or sparse of shape (n, d)
        The points.
    size : int
        Number of coordinates.
    kernel : str
        Kernel of `sklearn.decomposition.KernelPCA`.
    **options
        Further parameters of `sklearn.decomposition.KernelPCA`.

    Returns
    -------
    ndarray of shape (n, size)
        One row for each point.

    Examples
    --------
    >>> from npkl_models.applications.embedding import kernel_pca
    >>> kernel_pca([[5.0], [1.0], [0.0]], 1, kernel="linear").round(6)
    array([[ 3.],
           [-1.],
           [-2.]])
    """
    from sklearn.decomposition import KernelPCA

    Z = np.asarray(KernelPCA(size, kernel=kernel, **options).fit_transform(check_points(X)))
    if Z.shape[1] < len(Z):
        return coordinates(Z, size)
    return coordinates(Z[:, : len(Z) - 1], size)  # Z is centred, so the last of n coordinates is zero


def _images(Z: ArrayLike) -> Array:
    out = finite(real_array(Z, "an embedding"), "an embedding")
    if out.ndim != 2:
        raise ProblemError(f"an embedding must have shape (n, s), got {out.shape}")
    return out


def _votes(Z: Array, y: Index, count: int, n_neighbors: int) -> Index:
    """The class that the neighbours of each point vote for."""
    from sklearn.neighbors import NearestNeighbors

    if not 1 <= n_neighbors < len(Z):
        raise ProblemError(f"n_neighbors must be between 1 and n - 1 = {len(Z) - 1}, got {n_neighbors}")
    near = NearestNeighbors(n_neighbors=n_neighbors).fit(Z).kneighbors(return_distance=False)
    nearer = 1 - np.arange(n_neighbors) / n_neighbors**2 / 2  # a larger number of votes always wins
    cells = (np.arange(len(Z))[:, None] * count + y[near]).ravel()
    votes = np.bincount(cells, weights=np.tile(nearer, len(Z)), minlength=len(Z) * count)
    return votes.reshape(len(Z), count).argmax(axis=1)
