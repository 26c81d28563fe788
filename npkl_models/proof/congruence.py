"""Proof that a slack is positive definite although its smallest eigenvalues are below its rounding errors.

Multipliers of distances may reach 1e6 to 1e8. The slack S then has eigenvalues between 1e-8 and 1e8. One
matrix of floating-point numbers cannot hold both ends, so no factorisation of S proves the small eigenvalues.
The proof uses other coordinates: the columns of T are eigenvectors of S, divided by the roots of their
eigenvalues, and T'ST is near the identity. T'ST is summed from the multipliers with twice the digits. If T'ST
is positive definite, so is S (Sylvester), and the bound of these multipliers needs no repair.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import UNIT, Array, Index, norm_bound, symmetrize
from npkl_models.linalg.exact_products import inner_products
from npkl_models.linalg.twofold import ROUNDOFF, Twofold, add, multiply, twofold
from npkl_models.proof.bounds import CHEAP_CHOLESKY
from npkl_models.proof.factorisation import eigenvalue_floor

LEAST = 1e-17  # relative to the largest eigenvalue: smaller ones count as this large in T
TURNS = 2  # changes of coordinates; the second uses the small eigenvalues that the first shows


def positive_definite(
    near: Array, Q: Array, row: Index, column: Index, entry: Array, factor: Array
) -> bool:  # fmt: skip
    """Whether Q'SQ is proved to be positive definite for the S with these summands factor * entry.

    Parameters
    ----------
    near : ndarray of shape (s, s)
        The rounded Q'SQ.
    Q : ndarray of shape (n, s)
        The basis.
    row, column, entry, factor : ndarray of shape (m,)
        Places of all summands of S, in both triangles, and two numbers whose product is the summand.
    """
    order = len(near)
    if not 1 < order <= CHEAP_CHOLESKY:
        return False
    T, given = np.eye(order), _sorted(row, column, multiply(twofold(factor), twofold(entry)))
    for _ in range(TURNS):
        values, vectors = np.linalg.eigh(near)
        if not values[-1] > 0:
            return False
        T = T @ (vectors / np.sqrt(np.maximum(np.abs(values), LEAST * values[-1])))
        found = _in_coordinates(Q, given, T)
        if found is None:
            return False
        near, error = found
        shift = float(np.linalg.norm(error))
        if eigenvalue_floor(near) > shift:
            return True
    return False


Summands = tuple[Index, Index, Twofold, Array]
"""Row, column, value and size of every summand of S, in the order of the rows."""


def _in_coordinates(Q: Array, given: Summands, T: Array) -> tuple[Array, Array] | None:
    """T'Q'SQT and a bound on the error of each entry; None if a number overflows."""
    Y, off = inner_products(twofold(np.ascontiguousarray(Q.T)), twofold(T))
    row, column, value, size = given
    n = len(Q)
    count = np.bincount(row, minlength=n)
    first, length = np.cumsum(count) - count, np.abs(Y.high) + off
    Z, sizes = twofold(np.zeros(Y.high.shape)), np.zeros(Y.high.shape)
    for k in range(int(count.max(initial=0))):
        at = np.flatnonzero(count > k)
        of_row = first[at] + k
        other = Twofold(Y.high[column[of_row]], Y.low[column[of_row]])
        entry = Twofold(value.high[of_row, None], value.low[of_row, None])
        part = add(Twofold(Z.high[at], Z.low[at]), multiply(entry, other))
        Z.high[at], Z.low[at] = part
        sizes[at] += size[of_row, None] * length[column[of_row]]
    found, error = inner_products(Y, Z)
    near = symmetrize(found.high)
    if not np.isfinite(near).all():
        return None
    # entries of S, and sums of them, err by a few roundings of their sizes; entries of Y err by ``off``
    doubt = length.T @ (4 * (int(count.max(initial=0)) + 4) * ROUNDOFF * sizes)
    spread = np.zeros_like(sizes)
    np.add.at(spread, row, size[:, None] * off[column])
    doubt += off.T @ sizes + length.T @ spread
    error = 1.01 * (error + doubt + doubt.T) + 2 * UNIT * np.abs(near)
    return (near, error) if norm_bound(near) < np.inf and np.isfinite(error).all() else None


def _sorted(row: Index, column: Index, value: Twofold) -> Summands:
    order = np.argsort(row, kind="stable")
    high, low = value.high[order], value.low[order]
    return row[order].astype(np.intp), column[order].astype(np.intp), Twofold(high, low), np.abs(high)
