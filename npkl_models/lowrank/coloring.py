"""Colouring of the graph of interacting points, vectorised.

Points of one colour share no cost entry and no pair, so their rows of V can be minimised over at the same
time: block coordinate descent without a loop over points.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Index, Mask, Matrix


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
    pattern = sp.csr_array(A)
    coo = pattern.tocoo()
    keep = (coo.row != coo.col) & (coo.data != 0)
    row, col = coo.row[keep].astype(np.intp), coo.col[keep].astype(np.intp)
    degree = np.bincount(row, minlength=n)
    rng = np.random.default_rng(random_state)
    priority = np.empty(n, dtype=np.intp)
    priority[np.lexsort((rng.random(n), degree))] = np.arange(n)
    color = np.full(n, -1, dtype=np.intp)
    while (color < 0).any():
        both_open = (color[row] < 0) & (color[col] < 0)
        highest = np.full(n, -1, dtype=np.intp)
        np.maximum.at(highest, row[both_open], priority[col[both_open]])
        ready = (color < 0) & (priority > highest)
        color[ready] = _smallest_free(ready, row, col, color)
    return color


def _smallest_free(ready: Mask, row: Index, col: Index, color: Index) -> Index:
    """Smallest colour that no coloured neighbour has, for each point of the mask ``ready``."""
    points = np.flatnonzero(ready)
    position = np.full(color.size, -1)
    position[points] = np.arange(points.size)
    touching = ready[row] & (color[col] >= 0)
    if not touching.any():
        return np.zeros(points.size, dtype=np.intp)
    width = int(color.max()) + 2
    taken = np.unique(position[row[touching]] * width + color[col[touching]])
    owner, value = taken // width, taken % width
    start = np.searchsorted(owner, np.arange(points.size))
    rank = np.arange(owner.size) - start[owner]
    gap = value != rank  # the first place where the sorted colours skip one
    count = np.bincount(owner, minlength=points.size)
    free = count.copy()
    np.minimum.at(free, owner[gap], rank[gap])
    return free


def color_classes(color: Index) -> list[Index]:
    """The points of each colour, in ascending order."""
    order = np.argsort(color, kind="stable")
    splits = np.cumsum(np.bincount(color))[:-1]
    return list(np.split(order, splits))
