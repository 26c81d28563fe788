"""Whole numbers in place of doubles: nothing is rounded, and a number is zero or it is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from npkl_models.linalg import Array


def fractions(x: Array) -> Array:
    """The numbers of an array as fractions, exactly."""
    out = np.empty(x.size, dtype=object)
    out[:] = [Fraction(one) for one in x.ravel().tolist()]
    return out.reshape(x.shape)


def semidefinite(A: list[list[int]]) -> bool:
    """Whether an integer matrix is PSD: LDL' without fractions (Bareiss 1968); zero pivots have zero rows.

    After step k all entries are minors of the matrix, so that the division by the last pivot leaves no rest.
    """
    last = 1
    for k, row in enumerate(A):
        pivot = row[k]
        if pivot < 0 or (pivot == 0 and any(row[k:])):
            return False
        if pivot:
            for i in range(k + 1, len(A)):
                factor, own = A[i][k], A[i]
                A[i] = own[: k + 1] + [
                    (pivot * own[j] - factor * row[j]) // last for j in range(k + 1, len(A))
                ]
            last = pivot
    return True


def annihilated(A: Array, W: Array) -> Array:
    """Whole numbers W' (s x r) near a multiple of W with A W' = 0, for fractions A (k x s) and doubles W."""
    A, W, pivots = A.copy(), fractions(W), []
    for row in range(len(A)):
        k = max(range(A.shape[1]), key=lambda j: abs(A[row, j]))
        if A[row, k]:
            A[row] = A[row] / A[row, k]
            others = [i for i in range(len(A)) if i != row and A[i, k]]
            A[others] = A[others] - np.multiply.outer(A[others, k], A[row])
            pivots.append((k, row))
    for k, row in pivots:
        W[k] = W[k] - A[row].dot(W)
    return W
