"""Nearest neighbours: exact by scikit-learn, approximate by pynndescent, with progress on large sets."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from npkl_models.errors import MissingDependencyError, ProblemError, UnsupportedError, chosen
from npkl_models.linalg import Array, Index

APPROXIMATE_FROM = 50_000  # points
HIGH_DIMENSION, HIGH_FROM = 50, 10_000  # in so many dimensions trees do not help, from fewer points on
BAR_FROM = 20_000
CHUNK = 5_000  # points asked for at a time
SEARCHES = ("auto", "exact", "approximate")


def nearest_neighbors(
    X: Any, count: int, metric: str = "euclidean", search: str = "auto", progress: bool | None = None
) -> tuple[Array, Index]:
    """Distances and indices (n, count) of the nearest other points, nearest first."""
    chosen("search", search, SEARCHES)
    shown = progress if progress is not None else X.shape[0] >= BAR_FROM and sys.stderr.isatty()
    if search == "approximate" or (search == "auto" and _is_large(*X.shape)):
        found = _approximate(X, count, metric, shown)
        if found is not None:
            return found
        if search == "approximate":
            raise MissingDependencyError(
                "approximate neighbours need pynndescent; install it with: pip install npkl_models[neighbors]"
            )
    return _exact(X, count, metric, shown)


def _is_large(n: int, d: int) -> bool:
    return n >= APPROXIMATE_FROM or (d >= HIGH_DIMENSION and n >= HIGH_FROM)


def _exact(X: Any, count: int, metric: str, shown: bool) -> tuple[Array, Index]:
    from sklearn.neighbors import NearestNeighbors

    jobs = -1 if X.shape[0] >= CHUNK else None  # threads of which each has little to do cost more than that
    try:
        index = NearestNeighbors(n_neighbors=count + 1, metric=metric, n_jobs=jobs).fit(X)
    except (ValueError, TypeError) as error:
        raise ProblemError(
            f"metric must be one that scikit-learn's neighbours know, got {metric!r}: {error}"
        ) from error
    starts: Any = range(0, X.shape[0], CHUNK)
    if shown:
        from rich.console import Console
        from rich.progress import track

        starts = track(starts, "neighbours", console=Console(stderr=True))
    parts = []
    for start in starts:
        own = np.arange(start, min(start + CHUNK, X.shape[0]))
        distance, neighbor = index.kneighbors(X[start : start + CHUNK])
        parts.append(_without_self(distance, neighbor, own))
    return np.concatenate([d for d, _ in parts]), np.concatenate([i for _, i in parts])


def _approximate(X: Any, count: int, metric: str, shown: bool) -> tuple[Array, Index] | None:
    try:
        from pynndescent import NNDescent
    except ImportError:
        return None
    found = NNDescent(X, metric=metric, n_neighbors=count + 1, random_state=0, verbose=shown)
    neighbor, distance = found.neighbor_graph
    return _without_self(distance.astype(float), neighbor.astype(np.intp), np.arange(X.shape[0]))


def _without_self(distance: Array, neighbor: Index, own: Index) -> tuple[Array, Index]:
    """Drop each point from its own list, or the last one where duplicates hid it."""
    m, k = neighbor.shape
    drop = neighbor == own[:, None]
    drop[~drop.any(axis=1), -1] = True
    keep = ~drop
    keep[keep.sum(axis=1) > k - 1, -1] = False
    return distance[keep].reshape(m, k - 1), neighbor[keep].reshape(m, k - 1)


def distances_of(X: Any, pairs: Index, metric: str = "euclidean") -> Array:
    """Distances (m,) of pairs of points i, j (m, 2), of all from each i a piece at a time."""
    from sklearn.metrics import pairwise_distances_chunked

    if not len(pairs):
        return np.zeros(0)
    first, place = np.unique(pairs[:, 0], return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(first.size + 1))
    out = np.empty(len(pairs))

    def taken(apart: Array, start: int) -> list[float]:
        own = order[ends[start] : ends[start + len(apart)]]
        out[own] = apart[place[own] - start, pairs[own, 1]]
        return [0.0] * len(apart)  # which scikit-learn asks for

    try:
        for _ in pairwise_distances_chunked(X[first], X, reduce_func=taken, metric=metric):
            pass
    except ValueError as error:  # names that only a search knows
        raise UnsupportedError(f"distances of all pairs by the metric {metric!r}: {error}") from error
    return out


def nearest_between(X: Any, label: Index, metric: str = "euclidean") -> tuple[Array, Index, Index]:
    """The distance of every two parts of the points, and the points of the row's and of the column's part.

    ``label`` (n,) says the part, from 0; each of the three is (parts, parts), symmetric but for the roles.
    """
    from sklearn.neighbors import NearestNeighbors

    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(int(label.max()) + 1))
    ends = np.append(starts[1:], label.size)
    near = [
        NearestNeighbors(n_neighbors=1, metric=metric).fit(X[order[a:b]])
        for a, b in zip(starts, ends, strict=True)
    ]
    count = len(near)
    distance = np.zeros((count, count))
    own, other = np.zeros((count, count), dtype=np.intp), np.zeros((count, count), dtype=np.intp)
    for k, index in enumerate(near):
        away, found = (column.ravel() for column in index.kneighbors(X[order]))
        for part, (a, b) in enumerate(zip(starts, ends, strict=True)):
            best = a + int(np.argmin(away[a:b]))
            distance[part, k], own[part, k] = away[best], order[best]
            other[part, k] = order[starts[k] + found[best]]
    return np.minimum(distance, distance.T), own, other
