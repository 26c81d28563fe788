"""Colouring of the graph of interacting points, vectorised.

Points of one colour share no cost entry and no pair, so their rows of V can be minimised over at the same
time: block coordinate descent without a loop over points.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Index, Matrix


def color_graph(A: Matrix, random_state: int | np.random.Generator | None = 0) -> Index:
    """Proper colouring of the off-diagonal pattern of a symmetric sparse matrix.

    Each round colours the points that come before all their uncoloured neighbours in the order of degree,
    ties broken at random, with the smallest colour free (Jones & Plassmann 1993).

    Returns
    -------
    ndarray of int, shape (n,)
        Colours 0, 1, ...; neighbours differ.
    """
    n = A.shape[0]
    graph = _pattern(A)
    degree = np.diff(graph.indptr)
    row = np.repeat(np.arange(n), degree)
    col = graph.indices.astype(np.intp)
    rng = np.random.default_rng(random_state)
    priority = np.empty(n, dtype=np.intp)
    priority[np.lexsort((rng.random(n), degree))] = np.arange(n)
    later = priority[col] > priority[row]  # an edge holds its lower end back until the other is coloured
    row, col = row[later], col[later]
    color = np.full(n, -1, dtype=np.intp)
    while (color < 0).any():
        held = np.zeros(n, dtype=bool)
        held[row] = True
        ready = np.flatnonzero((color < 0) & ~held)
        color[ready] = _smallest_free(ready, graph, color)
        waiting = color[col] < 0
        row, col = row[waiting], col[waiting]
    return color


def _pattern(A: Matrix) -> Matrix:
    graph = sp.csr_array(A, copy=True)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def _smallest_free(points: Index, graph: Matrix, color: Index) -> Index:
    """Smallest colour that no coloured neighbour has, for each of the points."""
    part = graph[points]
    owner = np.repeat(np.arange(points.size), np.diff(part.indptr))
    seen = color[part.indices]
    owner, seen = owner[seen >= 0], seen[seen >= 0]
    if not seen.size:
        return np.zeros(points.size, dtype=np.intp)
    width = int(seen.max()) + 2
    taken = np.unique(owner * width + seen)
    owner, value = taken // width, taken % width
    start = np.searchsorted(owner, np.arange(points.size))
    rank = np.arange(owner.size) - start[owner]
    gap = value != rank  # the first place where the sorted colours skip one
    free = np.bincount(owner, minlength=points.size).astype(np.intp)
    np.minimum.at(free, owner[gap], rank[gap])
    return free


def color_classes(color: Index) -> list[Index]:
    """The points of each colour, in ascending order."""
    order = np.argsort(color, kind="stable")
    splits = np.cumsum(np.bincount(color))[:-1]
    return list(np.split(order, splits))
