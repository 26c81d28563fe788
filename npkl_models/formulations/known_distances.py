"""Known distances, bounds on distances, and anchors: read, checked, and drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import qr

from npkl_models.errors import ProblemError
from npkl_models.formulations.completion import known_entries
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.linalg import UNIT, Array, Index
from npkl_models.linalg.owned import finite, real_array, whole_array, whole_number
from npkl_models.model.basis import Basis
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Entries

FLAT = 1e-5  # anchors lie in fewer dimensions if a singular value is below this share of the largest


@dataclass(frozen=True, eq=False)
class Anchors:
    """The points whose positions are known."""

    points: Index  # their numbers, ascending (m,)
    positions: Array  # their positions (m, d)

    @property
    def centre(self) -> Array:
        """The mean of the positions (d,), which is the origin of the kernel."""
        return np.asarray(self.positions.mean(axis=0))

    @property
    def centred(self) -> Array:
        """The positions relative to the centre (m, d)."""
        return self.positions - self.centre

    def basis(self, n: int) -> Basis:
        """Kernels of n points in which the anchors span d dimensions: d columns, then one for each sensor."""
        U = np.linalg.svd(self.centred, full_matrices=False)[0]
        d, free = U.shape[1], self.others(n)
        rows = np.concatenate([np.repeat(self.points, d), free])
        columns = np.concatenate([np.tile(np.arange(d), len(U)), d + np.arange(free.size)])
        entries = np.concatenate([U.ravel(), np.ones(free.size)])
        return Basis(sp.csr_array((entries, (rows, columns)), shape=(n, d + free.size)))

    def held(self, n: int) -> Constraint:
        """The inner products of d anchors that span all dimensions; over the basis they fix all others."""
        A = self.centred
        chosen = np.sort(qr(A.T, mode="r", pivoting=True)[1][: A.shape[1]])
        a, b = (chosen[end] for end in np.triu_indices(A.shape[1]))
        inner = np.einsum("ed,ed->e", A[a], A[b])
        return Constraint(Entries(n, (self.points[a], self.points[b])), equal=inner, name="anchors")

    def others(self, n: int) -> Index:
        """The numbers of all other points of n, the sensors."""
        return np.setdiff1d(np.arange(n), self.points)

    def located(self, V: Array) -> tuple[Array, Array]:
        """Positions (n, d) in a kernel VV' of points, and the trace of each point that they leave (n,).

        With X' the upper right block of the matrix of Biswas & Ye, the positions are the rows of X. What is
        left of the trace is ``Y_ii - |x_i|^2``: the variance of the position in their interpretation, and
        zero where the kernel is that of points in d dimensions.
        """
        A = self.centred
        X = V @ (V[self.points].T @ np.linalg.pinv(A).T)
        left = np.einsum("ir,ir->i", V, V) - np.einsum("id,id->i", X, X)
        X, left = X + self.centre, np.maximum(left, 0.0)
        X[self.points], left[self.points] = self.positions, 0.0
        return X, left


def read_anchors(given: Any, n: int) -> Anchors:
    """The anchors of a mapping {point: position}, or of a pair (points, positions)."""
    if isinstance(given, Anchors):
        given = (given.points, given.positions)
    if isinstance(given, Mapping):
        given = (list(given.keys()), list(given.values()))
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ProblemError(
            f"anchors must be a dictionary {{point: position}} or a pair (points, positions), got {given!r}"
        )
    points, X = (
        whole_array(given[0], "points of anchors"),
        finite(real_array(given[1], "positions of anchors"), "positions of anchors"),
    )
    if X.ndim != 2 or points.shape != (len(X),) or not X.size:
        raise ProblemError(
            f"anchors must have m points and positions of shape (m, d), got {points.shape} and {X.shape}"
        )
    if points.min() < 0 or points.max() >= n or np.unique(points).size < points.size:
        raise ProblemError(f"anchors must name different points of 0..{n - 1}, got {points[:5].tolist()}")
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    least = max(FLAT * float(sizes[0]), len(X) * UNIT * float(np.abs(X).max()), 1e-300)
    rank = int(np.sum(sizes > least))
    if rank < X.shape[1]:
        raise ProblemError(
            f"anchors must not lie on a flat of fewer dimensions: {X.shape[1] + 1} of them in general "
            f"position fix {X.shape[1]} dimensions, got {len(X)} that span {rank}"
        )
    order = np.argsort(points)
    return Anchors(points[order].astype(np.intp), X[order])


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on distances: for each pair (i, j), lower <= distance <= upper; 0 and inf say nothing."""

    i: Index
    j: Index
    lower: Array
    upper: Array


def read_bounds(given: Any, n: int) -> Bounds:
    """The bounds of a tuple (i, j, lower, upper)."""
    if not isinstance(given, (tuple, list)) or len(given) != 4:
        raise ProblemError(f"bounds must be a tuple (i, j, lower, upper), got {type(given).__name__}")
    i, j = (whole_array(part, "indices of bounds") for part in given[:2])
    if i.ndim != 1 or i.shape != j.shape:
        raise ProblemError(f"indices of bounds must be vectors of one length, got {i.shape} and {j.shape}")
    if i.size and (min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= n or bool((i == j).any())):
        raise ProblemError(f"bounds must be on distances of different points of 0..{n - 1}")
    lower, upper = (np.broadcast_to(real_array(part, "bounds"), i.shape) for part in given[2:])
    right = (lower >= 0) & (lower <= upper) & np.isfinite(lower)
    if not right.all():
        wrong = np.flatnonzero(~right)[:3]
        rows = [(int(i[k]), int(j[k]), float(lower[k]), float(upper[k])) for k in wrong]
        raise ProblemError(f"bounds must have 0 <= lower <= upper, got {rows}")
    return Bounds(i.astype(np.intp), j.astype(np.intp), lower, upper)


def read_distances(
    observed: Any, n_points: int | None, weights: ArrayLike | None
) -> tuple[Index, Index, Array, Array, int]:
    """Each known distance once, i < j: (i, j, distances, weights, number of points)."""
    if not (isinstance(observed, tuple) or sp.issparse(observed)):
        observed = real_array(observed, "observed")
        if observed.ndim == 2 and observed.shape[0] == observed.shape[1]:
            np.fill_diagonal(observed, np.nan)
    i, j, d, w, n = known_entries(observed, weights, n_points)
    if (d < 0).any():
        wrong = np.flatnonzero(d < 0)[:3]
        rows = [(int(i[k]), int(j[k]), float(d[k])) for k in wrong]
        raise ProblemError(f"distances must not be negative, got {rows}")
    distinct = i != j
    return i[distinct], j[distinct], d[distinct], w[distinct], n


def neighbor_distances(X: Any, n_neighbors: int = 5) -> tuple[Index, Index, Array]:
    """The distances (i, j, d) of neighbours, and of a spanning tree between parts of their graph."""
    found = neighborhood(X, n_neighbors, "euclidean", "connect")
    i, j = found.pairs.T
    return i, j, np.sqrt(found.squared)


def drawn_anchors(X: Any, count: int, random_state: int | None = 0) -> tuple[Index, Array]:
    """Anchors (points, positions): so many points of X (n x d), drawn at random."""
    points = np.asarray(real_array(X, "points"), dtype=float)
    if whole_number(count, "anchors", 2) > len(points):
        raise ProblemError(f"anchors must be at most the {len(points)} points, got {count}")
    chosen = np.sort(np.random.default_rng(random_state).choice(len(points), count, replace=False))
    return chosen.astype(np.intp), points[chosen]


def radio_network(
    n_sensors: int, n_anchors: int, radius: float, *, noise: float = 0.0,
    random_state: int | None = 0,
) -> tuple[tuple[Index, Index, Array], Array]:  # fmt: skip
    """A random network of sensors in the unit square around the origin, and its measured distances.

    Two points measure their distance if it is below the radius, and not if both are anchors. A measured
    distance is the true one times 1 + noise times a standard normal number (Biswas & Ye 2004, section 5;
    Wang, Zheng, Boyd & Ye 2008, section 4).

    Parameters
    ----------
    n_sensors, n_anchors : int
        The anchors are the last points. Four anchors are at (+-0.3, +-0.3), any other number is at random.
    radius, noise : float
    random_state : int, optional

    Returns
    -------
    (i, j, d), X
        The known distances, and the true positions (n_sensors + n_anchors, 2).
    """
    rng = np.random.default_rng(random_state)
    count, m = whole_number(n_sensors, "n_sensors", 1), whole_number(n_anchors, "n_anchors", 0)
    X = rng.uniform(-0.5, 0.5, size=(count + m, 2))
    if m == 4:
        X[count:] = [[-0.3, -0.3], [-0.3, 0.3], [0.3, -0.3], [0.3, 0.3]]
    from scipy.spatial import cKDTree

    pairs = cKDTree(X).query_pairs(radius, output_type="ndarray").astype(np.intp)
    pairs = pairs[pairs[:, 0] < count]
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    d = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    d = d * np.abs(1 + noise * rng.standard_normal(d.size))
    return (pairs[:, 0], pairs[:, 1], d), X
