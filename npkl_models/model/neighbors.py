"""Nearest neighbours: exact by scikit-learn or a tree of scipy, approximate by faiss."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import MissingDependencyError, ProblemError, UnsupportedError, chosen
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_number

APPROXIMATE_FROM = 50_000  # points
HIGH_DIMENSION = 50  # in so many dimensions, approximate searches begin at MANY points
MANY = 10_000  # points from which on threads save time, and cells in an approximate search
TREE = 4  # largest dimension in which exact search by a tree is the quickest at any size
TREE_EXACT = 15  # largest dimension in which a tree is the quickest exact search of many points
CELLS, PROBED = 4.0, 48  # cells, over the square root of n, and cells that are searched for each point
BLURRED = 1e-4  # share of a point's size: single precision cannot tell nearer neighbours apart
SEARCHES = ("auto", "exact", "approximate")
Search = Callable[[Any], tuple[Array, Index]]


def nearest_neighbors(
    X: Any, count: int, metric: str = "euclidean", search: str = "auto"
) -> tuple[Array, Index]:
    """Distances and indices (n, count) of the nearest other points, the nearest first."""
    chosen("search", search, SEARCHES)
    if isinstance(metric, str) and metric == "precomputed":
        return nearest_given(X, count, np.arange(X.shape[0]))
    euclidean = isinstance(metric, str) and metric == "euclidean" and isinstance(X, np.ndarray)
    able = euclidean and find_spec("faiss") is not None
    if search == "approximate" and not euclidean:
        raise UnsupportedError(f"search='approximate' must be Euclidean, of dense points, got {metric!r}")
    if search == "approximate" and not able:
        raise MissingDependencyError(
            'approximate neighbours need faiss; install it with: pip install "npkl_models[neighbors]"'
        )
    if able and search != "exact" and (search == "approximate" or _is_large(*X.shape)):
        return _by_cells(X, count)
    return _exact(X, count, metric, euclidean)


def nearest_given(D: Any, count: int, own: Index | None = None) -> tuple[Array, Index]:
    """Distances and indices (m, count) of the nearest points by a matrix of distances (m x n).

    A sparse matrix has the known distances; if a row has fewer than ``count``, all rows have so many as the
    shortest one. ``own`` (m,) are points that are no neighbours of themselves.
    """
    if not sp.issparse(D):
        away = np.array(D)
        if own is not None:
            away[np.arange(len(own)), own] = np.inf
        near = np.argpartition(away, min(count, away.shape[1] - 1), axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(away, near, axis=1), axis=1, kind="stable")
        near = np.take_along_axis(near, order, axis=1)
        return np.take_along_axis(away, near, axis=1), near
    C = sp.coo_array(D)
    kept = np.ones(C.nnz, dtype=bool) if own is None else C.col != own[C.row]
    row, column, away = C.row[kept], C.col[kept], C.data[kept]
    order = np.lexsort((column, away, row))
    known = np.bincount(row, minlength=C.shape[0])
    first = np.cumsum(known) - known
    place = order[first[:, None] + np.arange(min(count, known.min()))]
    return away[place], column[place].astype(np.intp)


def neighbors_among(n: int, n_neighbors: Any) -> int:
    """The number of neighbours of each of n points, or a ProblemError."""
    count = whole_number(n_neighbors, "n_neighbors", 1)
    if count >= n:
        raise ProblemError(f"n_neighbors must be between 1 and n - 1 = {n - 1}, got {count}")
    return count


def _is_large(n: int, d: int) -> bool:
    return d > TREE and (n >= APPROXIMATE_FROM or (d >= HIGH_DIMENSION and n >= MANY))


def _exact(X: Any, count: int, metric: str, euclidean: bool) -> tuple[Array, Index]:
    if euclidean and X.shape[1] <= TREE_EXACT:  # scikit-learn takes a second to import
        from scipy.spatial import cKDTree

        ask: Search = partial(cKDTree(X).query, k=count + 1, workers=_threads(X))
    else:
        ask = _asked_of_sklearn(X, count, metric)
    return _without_self(*ask(X))


def _threads(X: Any) -> int:
    return -1 if X.shape[0] >= MANY else 1


def _asked_of_sklearn(X: Any, count: int, metric: str) -> Search:
    from sklearn.neighbors import NearestNeighbors

    try:
        index = NearestNeighbors(n_neighbors=count + 1, metric=metric, n_jobs=_threads(X)).fit(X)
    except (ValueError, TypeError) as error:
        raise ProblemError(
            f"metric must be one that scikit-learn's neighbours know, got {metric!r}: {error}"
        ) from error
    return lambda points: index.kneighbors(points)


def _by_cells(X: Array, count: int) -> tuple[Array, Index]:
    """Search the nearest cells of an inverted file (Jegou, Douze & Schmid 2011), from a fixed seed.

    Candidates are found in single precision; their distances are then computed from the given points. If
    single precision cannot tell a point from its neighbours, the search for this point is exact.
    """
    import faiss

    n, d = X.shape
    centred = X - np.median(X, axis=0)
    farthest = max(float(np.abs(centred).max()), 1e-300)
    centred /= farthest
    points = np.ascontiguousarray(centred, dtype=np.float32)
    index: Any = faiss.IndexFlatL2(d)
    if n >= MANY:
        index = faiss.IndexIVFFlat(index, d, int(CELLS * np.sqrt(n)))
        index.cp.min_points_per_centroid = 1  # or faiss complains
        index.nprobe = PROBED
        index.train(points)
    index.add(points)
    neighbor = index.search(points, count + 1)[1].astype(np.intp)
    found = np.maximum(neighbor, 0)
    distance = np.stack([np.linalg.norm(X[near] - X, axis=1) for near in found.T], axis=1)
    sizes = farthest * np.abs(points).max(axis=1).astype(float)
    blurred = distance[:, -1] <= BLURRED * sizes
    lacking = np.flatnonzero((neighbor < 0).any(axis=1) | blurred)  # too few points in the cells, or blurred
    if lacking.size:
        distance[lacking], neighbor[lacking] = _asked_of_sklearn(X, count, "euclidean")(X[lacking])
    order = np.argsort(distance, axis=1, kind="stable")
    ordered = np.take_along_axis(distance, order, axis=1), np.take_along_axis(neighbor, order, axis=1)
    return _without_self(*ordered)


def _without_self(distance: Array, neighbor: Index) -> tuple[Array, Index]:
    """Drop each point from its own list, or the last neighbour if duplicates hide the point."""
    m, k = neighbor.shape
    keep = neighbor != np.arange(m)[:, None]
    keep[keep.all(axis=1), -1] = False
    return distance[keep].reshape(m, k - 1), neighbor[keep].reshape(m, k - 1)


def distances_of(X: Any, pairs: Index, metric: str = "euclidean") -> Array:
    """Distances (m,) of pairs of points i, j (m, 2), from chunks of all distances from the points i."""
    from sklearn.metrics import pairwise_distances_chunked

    if not len(pairs):
        return np.zeros(0)
    first, place = np.unique(pairs[:, 0], return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(first.size + 1))
    out = np.empty(len(pairs))

    def taken(distances: Array, start: int) -> list[float]:
        own = order[ends[start] : ends[start + len(distances)]]
        out[own] = distances[place[own] - start, pairs[own, 1]]
        return [0.0] * len(distances)  # scikit-learn requires a result

    try:
        for _ in pairwise_distances_chunked(X[first], X, reduce_func=taken, metric=metric):
            pass
    except ValueError as error:  # some metrics exist for searches only
        raise UnsupportedError(f"distances of all pairs by the metric {metric!r}: {error}") from error
    return out


def nearest_between(X: Any, label: Index, metric: str = "euclidean") -> tuple[Array, Index, Index]:
    """The distance of every two groups of points, and the nearest points in the row's and the column's group.

    ``label`` (n,) is the group of each point, from 0. Each result has the shape (groups, groups).
    """
    from sklearn.neighbors import NearestNeighbors

    groups = [np.flatnonzero(label == k) for k in range(int(label.max()) + 1)]
    distance = np.zeros((len(groups), len(groups)))
    own, other = np.zeros(distance.shape, dtype=np.intp), np.zeros(distance.shape, dtype=np.intp)
    for k, members in enumerate(groups):
        index = NearestNeighbors(n_neighbors=1, metric=metric).fit(X[members])
        away, found = (column.ravel() for column in index.kneighbors(X))
        for part, points in enumerate(groups):
            best = points[np.argmin(away[points])]
            distance[part, k], own[part, k], other[part, k] = away[best], best, members[found[best]]
    return np.minimum(distance, distance.T), own, other
