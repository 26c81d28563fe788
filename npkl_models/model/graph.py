"""Neighbourhood graphs, affinity and Laplacian; and a warning where a few features decide the distances."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import UNIT, Array, Index, Matrix, without_diagonal
from npkl_models.linalg.owned import finite, real_matrix, real_number
from npkl_models.model.neighbors import nearest_neighbors, neighbors_among
from npkl_models.model.reading import ROOT, symmetric

WIDTH_NEIGHBORS = 10
METRICS = ("euclidean", "sqeuclidean", "l2", "minkowski")  # metrics with squares that are sums over features
FEW, SHARE = 5.0, 0.01  # see `unscaled`


class UnscaledWarning(UserWarning):
    """Warning that a few features with large numbers decide the distances."""


def unscaled(points: Any, names: Any = None, metric: str = "euclidean") -> str:
    """A sentence if a few features decide the distances; an empty text if none do, or for sparse points.

    The effective number of features is (sum s)^2 / sum s^2, s their variances. The scales are unlike if this
    number is below 5 and the smaller half of the features makes less than a hundredth of the distances.
    """
    if sp.issparse(points) or metric not in METRICS:
        return ""
    with np.errstate(over="ignore", invalid="ignore"):  # the graph refuses points out of range with an error
        variance = np.atleast_1d(np.var(np.asarray(points, dtype=float), axis=0))
        whole = float(variance.sum())
    if not 0 < whole < np.inf:
        return ""
    share = variance / whole
    varying = np.sort(share[share > 0])
    least = float(varying[: varying.size // 2].sum())
    if varying.size < 2 or least >= SHARE or 1.0 / float(np.sum(share**2)) >= FEW:
        return ""
    first = int(np.argmax(share))
    which = f"feature {first}" if names is None else repr(str(names[first]))
    return (
        f"the features of X have unlike scales: {which} makes {share[first]:.1%} of the squared distances, "
        f"and {varying.size // 2} of {varying.size} features make {least:.2g} of them; scale the features "
        "(scaling standard; in Python, sklearn's StandardScaler), unless this is intended"
    )


def warn_of_scales(points: Any, metric: str, stacklevel: int = 3) -> None:
    """Warn, by default at the line of the caller's caller, if a few features decide the distances."""
    try:
        words = unscaled(points, getattr(points, "columns", None), metric)
    except (TypeError, ValueError, OverflowError):  # no points, as whoever checks them will say
        return
    if words:
        warnings.warn(words, UnscaledWarning, stacklevel=stacklevel)


def knn_affinity(
    X: Any, n_neighbors: int = 5, sigma: float | str = "auto", metric: str = "euclidean",
    search: str = "auto", mutual: bool = False,
) -> Matrix:  # fmt: skip
    """Symmetric Gaussian affinity S of the k-nearest-neighbour graph.

    S_ij = exp(-d(x_i, x_j)^2 / (2 sigma^2)) if j is among the neighbours of i, or i among the neighbours of
    j. All other entries, and the diagonal, are 0. ``mutual=True, sigma="binary"`` gives the graph of Zhuang,
    Tsang & Hoi (JMLR 12, 2011, section 5.1). ``n_neighbors=20, sigma="last"`` gives the graph of Wu (thesis
    2011, section 3.4).

    Parameters
    ----------
    X : array_like or sparse of shape (n, d)
        The points.
    n_neighbors : int
        Number of neighbours of each point, from 1 to n - 1.
    sigma : float, "auto", "last" or "binary"
        Width, in the units of the metric. "auto" is half the average distance to the ten nearest neighbours;
        "last" is the average distance to the last of the ``n_neighbors``. If these distances are all 0, the
        width is 1. "binary" gives every edge the weight 1.
    metric : str
        Any metric of `sklearn.neighbors.NearestNeighbors`. With "precomputed", X is a matrix of distances, or
        a sparse one of some of them, as `sklearn.neighbors.kneighbors_graph` has it.
    search : {"auto", "exact", "approximate"}
        "exact" uses a tree of scipy for Euclidean distances in up to 15 dimensions, else scikit-learn.
        "approximate" uses faiss (extra ``neighbors``), seeded, for Euclidean distances. If it is installed,
        "auto" takes it from 50,000 points on in five or more dimensions, and from 10,000 points on in 50 or
        more dimensions.
    mutual : bool
        Whether an edge needs each of its two points among the neighbours of the other. Such graphs tend to
        fall apart into components.

    Warns
    -----
    UnscaledWarning
        If a few features with large numbers decide the distances.
    """
    warn_of_scales(X, metric)
    return affinity(X, n_neighbors, sigma, metric, search, mutual)


def affinity(
    X: Any, n_neighbors: int = 5, sigma: float | str = "auto", metric: str = "euclidean",
    search: str = "auto", mutual: bool = False,
) -> Matrix:  # fmt: skip
    """`knn_affinity` without its warning, for callers who say themselves what is wrong with the scales."""
    X = check_points(X)
    n = X.shape[0]
    n_neighbors = neighbors_among(n, n_neighbors)
    distance, neighbor = _near(X, n_neighbors, metric, search)
    width = _width(sigma, distance, n_neighbors)
    near, j = distance[:, :n_neighbors], neighbor[:, :n_neighbors]
    weight = np.exp(-((near / width) ** 2) / 2)
    i = np.repeat(np.arange(n), n_neighbors)
    S = sp.coo_array((weight.ravel(), (i, j.ravel())), shape=(n, n)).tocsr()
    return (S.minimum(S.T) if mutual else S.maximum(S.T)).tocsr()


def graph_width(
    X: Any, n_neighbors: int = 5, sigma: float | str = "auto", metric: str = "euclidean"
) -> float:
    """The width that `knn_affinity` uses for the graph of these points; inf for a binary graph."""
    if not isinstance(sigma, str):
        return _width(sigma, np.zeros((0, 0)), n_neighbors)
    X = check_points(X)
    return _width(sigma, _near(X, n_neighbors, metric, "auto")[0], n_neighbors)


def _near(X: Any, n_neighbors: int, metric: str, search: str) -> tuple[Array, Index]:
    """Distances and indices of the neighbours that graph and width need, the nearest first."""
    reach = min(max(n_neighbors, WIDTH_NEIGHBORS), X.shape[0] - 1)
    distance, neighbor = nearest_neighbors(X, reach, metric, search)
    if distance.shape[1] < n_neighbors:
        raise ProblemError(
            f"X must hold the distances from each point to n_neighbors = {n_neighbors} others, got "
            f"{distance.shape[1]} for some point"
        )
    return distance, neighbor


def _width(sigma: float | str, distance: Array, n_neighbors: int) -> float:
    """The width that ``sigma`` stands for; inf for a binary graph."""
    if isinstance(sigma, str) and sigma == "binary":
        return np.inf
    means = {
        "auto": lambda: distance[:, :WIDTH_NEIGHBORS].mean() / 2,
        "last": lambda: distance[:, n_neighbors - 1].mean(),
    }
    if isinstance(sigma, str) and sigma in means:
        return float(means[sigma]()) or 1.0
    width = np.nan if isinstance(sigma, str) else real_number(sigma, "sigma")
    if not (np.isfinite(width) and width > 0):
        raise ProblemError(f"sigma must be positive, 'auto', 'last' or 'binary', got {sigma!r}")
    return width


APART = "; points are kept apart by cannot-links (cannot_link=), not by a negative weight"


def laplacian(
    X_or_affinity: Any, n_neighbors: int = 5, normalized: bool = True, shift: float = 0.0,
    sigma: float | str = "auto", metric: str = "euclidean", search: str = "auto",
) -> Matrix:  # fmt: skip
    """Graph Laplacian of points or of an affinity, plus ``shift`` on the diagonal.

    The normalised Laplacian is (1 + shift) I - D^(-1/2) S D^(-1/2) (Hu & Kwok 2015, eq. (1), whose delta is
    the shift). The unnormalised Laplacian is shift I + D - S. The numbers in memory are positive semidefinite
    even without a shift: D exceeds the row sums by a relative amount of about 1e-14.

    Parameters
    ----------
    X_or_affinity : array_like or sparse
        Points (n x d), or a symmetric non-negative affinity (n x n). The input is an affinity if it is sparse
        and square, or if ``metric="precomputed"``.
    n_neighbors, sigma, metric, search
        Parameters of `knn_affinity`; unused for an affinity.
    normalized : bool
        Whether the Laplacian is normalised.
    shift : float
        Number that is added to the diagonal, at least 0.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0]]
    >>> L = nm.laplacian(X, n_neighbors=1, shift=0.1)
    >>> L.diagonal().round(6)
    array([1.1, 1.1, 1.1])
    """
    given = X_or_affinity
    square = sp.issparse(given) and given.shape[:1] == given.shape[1:]
    if square or (isinstance(metric, str) and metric == "precomputed"):
        S = weights_of_graph(given, "an affinity")
    else:
        warn_of_scales(given, metric)
        S = affinity(given, n_neighbors, sigma, metric, search)
    shift = real_number(shift, "shift")
    if not (np.isfinite(shift) and shift >= 0):
        raise ProblemError(f"shift must be a finite number >= 0, got {shift}")
    n = S.shape[0]
    degree = np.asarray(S.sum(axis=1)).ravel()
    spare = 2 * (float(np.max(np.diff(S.indptr), initial=0)) + 8) * UNIT
    if not normalized:
        return (sp.diags_array(degree * (1 + spare) + shift) - S).tocsr()
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1.0)), 0.0)
    half = sp.diags_array(root * np.sqrt(1 - spare))
    return (sp.diags_array(np.full(n, 1.0 + shift)) - half @ S @ half).tocsr()


def check_points(X: Any, least: int = 2) -> Any:
    """X as a finite two-dimensional float array (or sparse matrix) with at least ``least`` rows."""
    X = real_matrix(X, "X")
    if X.ndim != 2 or X.shape[0] < least:
        raise ProblemError(f"X must have shape (n, d) with n >= {least}, got {X.shape}")
    finite(X, "X")
    largest = float(np.max(np.abs(X.data if sp.issparse(X) else X), initial=0.0))
    if largest > ROOT:
        raise ProblemError(
            f"entries of X must be at most {ROOT:g} in size, so that squares are finite, got {largest:g}"
        )
    return X


def weights_of_graph(given: Any, what: str, least: int = 1, remedy: str = APART) -> Matrix:
    """The weights of a graph (n x n), symmetric and not negative, without the diagonal."""
    S = symmetric(given, what, least)
    if (S.data < 0).any():
        raise ProblemError(f"{what} must be non-negative, got {lowest(S)}{remedy}")
    return without_diagonal(S)


def lowest(S: Matrix) -> str:
    """The smallest number of a matrix and its first place, in words."""
    A = sp.coo_array(S)
    k = int(np.argmin(A.data))
    return f"{A.data[k]} at ({A.row[k]}, {A.col[k]})"
