"""Operations on a large matrix and its transpose, block by block, so that the blocks stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npkl_models.linalg import Array

BLOCK = 128  # rows and columns of a block: two blocks fit into the cache
WHOLE = 256  # the largest order of a matrix that fits into the cache without blocks


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """The blocks below and on the diagonal."""
    for i in range(0, n, BLOCK):
        for j in range(0, i + 1, BLOCK):
            yield slice(i, i + BLOCK), slice(j, j + BLOCK)


def symmetric_part(P: Array, scale: float = 1.0) -> Array:
    """Replace P by ``scale`` times its symmetric part, in place."""
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
    """Fill the upper half of A, which is zero, with the lower half, in place."""
    if len(A) <= WHOLE:
        A += np.tril(A, -1).T
        return A
    for at, to in _blocks(len(A)):
        if at == to:
            A[at, at] += np.tril(A[at, at], -1).T
        else:
            A[to, at] = A[at, to].T
    return A
