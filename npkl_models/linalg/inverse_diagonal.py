"""The diagonal of the inverse of a sparse positive definite matrix, from its Cholesky factor.

The inverse is computed only where the factor has entries, a block of columns with equal rows below at a time
(Takahashi, Fagan & Chen 1973; Erisman & Tinney 1975). This takes about as many operations as the
factorisation.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from npkl_models.linalg import Array, Index, Matrix


def inverse_diagonal(L: Matrix) -> Array:
    """The diagonal (n,) of the inverse of L L', for a lower triangle L (n x n, CSC, sorted indices)."""
    start = _blocks(L)
    rows, above = _fronts(L, start)
    children = np.bincount(above[above >= 0], minlength=above.size)
    out = np.empty(L.shape[0])
    kept: dict[int, tuple[Index, Array]] = {}  # the inverse in the rows of a block that children wait for
    for s in range(above.size - 1, -1, -1):
        first, last, below = start[s], start[s + 1], rows[s]
        w, parent = last - first, above[s]
        front = np.concatenate([np.arange(first, last), below])
        corner, lower = _columns(L, first, last, front)
        own = dtrtri(corner, lower=1)[0]
        Z = np.empty((front.size, front.size))
        Z[:w, :w] = own.T @ own
        if parent >= 0:
            index, inverse = kept[parent]
            at = np.searchsorted(index, below)
            Z[w:, w:] = inverse[np.ix_(at, at)]
            share = lower @ own
            Z[w:, :w] = -(Z[w:, w:] @ share)
            Z[:w, w:] = Z[w:, :w].T
            Z[:w, :w] -= share.T @ Z[w:, :w]
            children[parent] -= 1
            if not children[parent]:
                del kept[parent]
        if children[s]:
            kept[s] = front, Z
        out[first:last] = Z[range(w), range(w)]
    return out


def _blocks(L: Matrix) -> Index:
    """The first column of each block of neighbouring columns with equal rows below, and n at the end."""
    n, count = L.shape[0], np.diff(L.indptr)
    second = np.full(n, -1)
    more = count > 1
    second[more] = L.indices[L.indptr[:-1][more] + 1]
    joined = (second[:-1] == np.arange(1, n)) & (count[:-1] == count[1:] + 1)
    return np.concatenate([[0], np.flatnonzero(~joined) + 1, [n]])


def _fronts(L: Matrix, start: Index) -> tuple[list[Index], Index]:
    """The rows below each block, and the block of the first of them (-1 if there is none).

    Rows of a block are rows of the next one, which holds even if entries are missing that are zero by chance.
    """
    size = start.size - 1
    block = np.repeat(np.arange(size), np.diff(start))
    above = np.full(size, -1)
    rows: list[Index] = [np.empty(0, dtype=np.intp)] * size
    for s in range(size):
        last = start[s + 1]
        own = L.indices[L.indptr[start[s]] : L.indptr[last]]
        below = np.union1d(rows[s], own)
        rows[s] = below = below[np.searchsorted(below, last) :]
        if below.size:
            above[s] = parent = block[below[0]]
            rows[parent] = below if not rows[parent].size else np.union1d(rows[parent], below)
    return rows, above


def _columns(L: Matrix, first: int, last: int, front: Index) -> tuple[Array, Array]:
    """The columns of a block: its triangle, and what is below."""
    at = slice(L.indptr[first], L.indptr[last])
    columns = np.repeat(np.arange(last - first), np.diff(L.indptr[first : last + 1]))
    dense = np.zeros((front.size, last - first), order="F")
    dense[np.searchsorted(front, L.indices[at]), columns] = L.data[at]
    w = last - first
    return dense[:w], dense[w:]
