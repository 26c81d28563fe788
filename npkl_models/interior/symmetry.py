"""Large matrices and their transposes, block by block: a whole transpose misses the cache at every number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npkl_models.linalg import Array

BLOCK = 128  # rows and columns of a block: two of them are in the cache
WHOLE = 256  # order up to which a transpose is


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Blocks below the diagonal, those on it included."""
    for i in range(0, n, BLOCK):
        for j in range(0, i + 1, BLOCK):
            yield slice(i, i + BLOCK), slice(j, j + BLOCK)


def symmetric_part(P: Array, scale: float = 1.0) -> Array:
    """``scale`` times the symmetric part of P, in its place."""
    if len(P) <= WHOLE:
        P += P.T.copy()
        P *= 0.5 * scale
        return P
    for at, to in _blocks(len(P)):
        part = P[at, to] + P[to, at].T
        part *= 0.5 * scale
        P[at, to], P[to, at] = part, part.T
    return P


def filled(A: Array) -> Array:
    """The symmetric matrix whose lower half is that of A, in its place; the upper half of A is zero."""
    if len(A) <= WHOLE:
        A += np.tril(A, -1).T
        return A
    for at, to in _blocks(len(A)):
        if at == to:
            A[at, at] += np.tril(A[at, at], -1).T
        else:
            A[to, at] = A[at, to].T
    return A
