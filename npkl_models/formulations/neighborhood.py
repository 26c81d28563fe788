"""The pairs of neighbours whose distances an embedding keeps; their graph is connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree

from npkl_models.errors import ProblemError, chosen
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.basis import Basis, wavelets_of
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.graph import check_points
from npkl_models.model.neighbors import distances_of, nearest_between, nearest_neighbors, neighbors_among
from npkl_models.model.pairs import components as parts_of
from npkl_models.model.terms import LossTerm

PARTS = ("refuse", "connect")


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The set N: pairs of neighbours i < j, their squared distances, and the number of added edges."""

    n: int  # number of points
    pairs: Index  # (m, 2)
    squared: Array  # (m,)
    joined: int = 0  # number of edges added between components of the graph of nearest neighbours
    points: Array | None = None  # (n, d), if the distances are Euclidean distances of these points

    @property
    def graph(self) -> Matrix:
        """The adjacency matrix (n x n) of N; every edge has weight one."""
        both = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        return sp.coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(self.n, self.n)).tocsr()

    @property
    def centred(self) -> Basis:
        """A sparse basis of all centred vectors, in an order in which neighbours are close."""
        return wavelets_of(self.graph)

    def term(self, weight: float) -> LossTerm:
        """The loss term with a square loss for each distance."""
        functional = SquaredDistances(self.n, (self.pairs[:, 0], self.pairs[:, 1]))
        return LossTerm(functional, "square", self.squared, weight, "distances")

    def named(self, name: str) -> str:
        """The name of a problem; it tells whether components of the graph were joined."""
        return f"{name}, {self.joined + 1} parts of the graph joined" if self.joined else name


def neighborhood(
    X: Any, n_neighbors: int, metric: str, components: str = "refuse", angles: bool = False
) -> Neighborhood:
    """Pairs of points (n x d) of which at least one is among the ``n_neighbors`` < n nearest of the other.

    A disconnected graph is an error. With ``components="connect"``, the shortest edges that join all
    components (a minimum spanning tree of the components) are added instead. With ``angles``, every two
    neighbours of one point are a pair, too: their distance fixes the angle at that point (Weinberger, Sha &
    Saul 2004).
    """
    chosen("components", components, PARTS)
    points = check_points(X)
    n = points.shape[0]
    n_neighbors = neighbors_among(n, n_neighbors)
    distance, neighbor = nearest_neighbors(points, n_neighbors, metric)
    ordered = np.sort(np.stack([np.repeat(np.arange(n), n_neighbors), neighbor.ravel()], axis=1), axis=1)
    pairs, first = np.unique(ordered, axis=0, return_index=True)
    length, joined = distance.ravel()[first], 0
    if angles:
        across = _beside(n, pairs, neighbor)
        pairs, length = _merged((pairs, length), (across, distances_of(points, across, metric)))
    count, label = parts_of(n, pairs)
    if count > 1:
        if components == "refuse":
            sizes = np.sort(np.bincount(label))[::-1][:5].tolist()
            raise ProblemError(
                f"the neighbourhood graph must be connected, got {count} components (the largest hold "
                f"{sizes} points) that could move apart without limit; raise n_neighbors, or use "
                "components='connect'"
            )
        bridges, lengths = _bridges(points, label, metric)
        pairs, length = _merged((pairs, length), (bridges, lengths))
        joined = len(bridges)
    if metric == "euclidean" and isinstance(points, np.ndarray):  # without the rounding of a search
        differences = points[pairs[:, 0]] - points[pairs[:, 1]]
        return Neighborhood(n, pairs, np.einsum("ed,ed->e", differences, differences), joined, points)
    return Neighborhood(n, pairs, length**2, joined)


def pairs_within(members: Index) -> tuple[Index, Index]:
    """All pairs of points in a common group, each once (p, 2), and the places of each group's pairs (n, m).

    A row of ``members`` (n, size) is a group; its m = size (size - 1) / 2 pairs are in the order of
    `numpy.triu_indices`.
    """
    a, b = np.triu_indices(members.shape[1], 1)
    ends = np.sort(np.stack([members[:, a].ravel(), members[:, b].ravel()], axis=1), axis=1)
    pairs, place = np.unique(ends, axis=0, return_inverse=True)
    return pairs, place.reshape(len(members), a.size)


def _beside(n: int, pairs: Index, neighbor: Index) -> Index:
    """Pairs (k, 2) of neighbours of one point, without pairs of points that are neighbours themselves."""
    code = np.setdiff1d(pairs_within(neighbor)[0] @ [n, 1], pairs @ [n, 1])
    return np.stack(np.divmod(code, n), axis=1).astype(np.intp)


def _merged(one: tuple[Index, Array], other: tuple[Index, Array]) -> tuple[Index, Array]:
    """The pairs and lengths of both lists, sorted by the pairs."""
    pairs = np.concatenate([one[0], other[0]])
    order = np.lexsort(pairs.T[::-1])
    return pairs[order], np.concatenate([one[1], other[1]])[order]


def _bridges(points: Any, label: Index, metric: str) -> tuple[Index, Array]:
    """The edges of a minimum spanning tree of the components, between nearest points, and lengths."""
    distance, own, other = nearest_between(points, label, metric)
    # ranks replace lengths: a length of zero, between equal points, would be no edge of a sparse matrix
    rank = np.unique(distance, return_inverse=True)[1].reshape(distance.shape) + 1.0
    tree = minimum_spanning_tree(np.triu(rank, 1)).tocoo()
    ends = np.stack([own[tree.row, tree.col], other[tree.row, tree.col]], axis=1)
    return np.sort(ends, axis=1), distance[tree.row, tree.col]
