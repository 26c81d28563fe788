"""Small references of linear metric learners, for the tables: relevant components, large margin neighbours.

metric-learn 0.7 has both but does not run with scikit-learn 1.9; neighbourhood components are scikit-learn's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

RIDGE = 1e-2  # of the mean variance, added where fewer pairs than dimensions leave the covariance singular


def relevant_components(X: np.ndarray, similar: np.ndarray) -> np.ndarray:
    """RCA (Bar-Hillel, Hertz, Shental & Weinshall, ICML 2003): C^-1/2 of the covariance within chunklets."""
    n = len(X)
    joined = csr_array((np.ones(len(similar)), (similar[:, 0], similar[:, 1])), shape=(n, n))
    _, label = connected_components(joined, directed=False)
    inside = np.isin(np.arange(n), similar)
    _, chunk = np.unique(label[inside], return_inverse=True)
    points = X[inside]
    size = np.bincount(chunk)
    mean = np.stack([np.bincount(chunk, column) for column in points.T], axis=1) / size[:, None]
    apart = points - mean[chunk]
    C = apart.T @ apart / len(points)
    C += RIDGE * np.trace(C) / len(C) * np.eye(len(C))
    value, vector = np.linalg.eigh(C)
    return vector / np.sqrt(value) @ vector.T


def large_margin(
    X: np.ndarray, y: np.ndarray, neighbors: int = 3, impostors: int = 10, steps: int = 10, rounds: int = 1
) -> np.ndarray:
    """LMNN (Weinberger, Blitzer & Saul, NIPS 2006) by L-BFGS on the map L, impostors sought anew each round; few steps, which keeps it."""
    targets = np.concatenate([_neighbors_in(X, y, c, neighbors) for c in np.unique(y)])
    L = np.eye(X.shape[1])
    for _ in range(rounds):
        triples = _triples(X @ L.T, y, targets, impostors)
        pull = X[targets[:, 0]] - X[targets[:, 1]]
        close, wide = (X[triples[:, 0]] - X[triples[:, k]] for k in (1, 2))
        found = minimize(
            _loss, L.ravel(), (pull, close, wide), "L-BFGS-B", jac=True, options={"maxiter": steps}
        )
        L = found.x.reshape(L.shape)
    return L.T


def _loss(
    flat: np.ndarray, pull: np.ndarray, close: np.ndarray, wide: np.ndarray
) -> tuple[float, np.ndarray]:
    """Mean squared distance of targets, and the hinge of impostors' distances against theirs plus one."""
    M = flat.reshape(pull.shape[1], -1)
    near, far, drawn = close @ M.T, wide @ M.T, pull @ M.T
    over = 1 + (near**2).sum(1) - (far**2).sum(1)
    active = over > 0
    value = (drawn**2).sum() / len(pull) + over[active].sum() / len(over)
    slope = 2 * drawn.T @ pull / len(pull)
    slope += 2 * (near[active].T @ close[active] - far[active].T @ wide[active]) / len(over)
    return float(value), slope.ravel()


def _neighbors_in(X: np.ndarray, y: np.ndarray, c: Any, count: int) -> np.ndarray:
    own = np.flatnonzero(y == c)
    count = min(count, len(own) - 1)
    if count < 1:
        return np.zeros((0, 2), dtype=int)
    found = NearestNeighbors(n_neighbors=count).fit(X[own]).kneighbors(return_distance=False)
    return np.stack([np.repeat(own, count), own[found.ravel()]], axis=1)


def _triples(Z: np.ndarray, y: np.ndarray, targets: np.ndarray, count: int) -> np.ndarray:
    """Each target with the nearest points of other classes."""
    impostor = np.empty((len(Z), count), dtype=int)
    for c in np.unique(y):
        own, other = np.flatnonzero(y == c), np.flatnonzero(y != c)
        found = NearestNeighbors(n_neighbors=count).fit(Z[other]).kneighbors(Z[own], return_distance=False)
        impostor[own] = other[found]
    return np.column_stack([np.repeat(targets, count, axis=0), impostor[targets[:, 0]].ravel()])
