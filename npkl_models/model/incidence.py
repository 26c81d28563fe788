"""The linear map K -> z with z_e = <M_e, K> and sparse symmetric M_e, stored by the non-zeros of all M_e."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, positions
from npkl_models.linalg.compile import Loop, available
from npkl_models.linalg.owned import frozen

INNER = Loop("npkl_models.model.compiled_inner", "inner", 1.0)
DENSE = 8  # one dense product replaces rows of each triplet if n^2 is at most this many times their number
CACHED = 40_000  # numbers of two blocks of rows that stay in a processor's cache; for more a loop is compiled


@dataclass(frozen=True, eq=False)
class Incidence:
    """z[owner] += coefficient * K[row, column], over all triplets."""

    owner: Index
    row: Index
    column: Index
    coefficient: Array
    n: int  # number of points
    size: int  # number of values

    @classmethod
    def entries(cls, i: Index, j: Index, n: int) -> Incidence:
        """The map z_e = K[i_e, j_e]."""
        return cls(np.arange(i.size), i, j, np.broadcast_to(1.0, i.shape), n, i.size)

    @classmethod
    def stack(cls, parts: Sequence[Incidence]) -> Incidence:
        """The values of several maps, one after the other."""
        if len(parts) == 1:
            return parts[0]
        at = np.cumsum([0, *(part.size for part in parts)])
        owner = np.concatenate([part.owner + start for part, start in zip(parts, at, strict=False)])
        row, column, coefficient = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("row", "column", "coefficient")
        )
        return cls(owner, row, column, coefficient, parts[0].n, int(at[-1]))

    def contract(self, label: Index, share: Array, count: int) -> Incidence:
        """The same values of a kernel K' (count x count), K_ij = share_i share_j K'[label_i, label_j]."""
        row, column = label[self.row], label[self.column]
        coefficient = self.coefficient * share[self.row] * share[self.column]
        return Incidence(self.owner, row, column, coefficient, count, self.size)

    @cached_property
    def identity(self) -> bool:
        """Whether every value has one triplet, in order."""
        return self.owner.size == self.size and bool(np.all(np.diff(self.owner) == 1))

    def ends(self) -> tuple[Index, Index]:
        """Rows and columns of all triplets in both orders."""
        return np.concatenate([self.row, self.column]), np.concatenate([self.column, self.row])

    def collect(self, parts: Array) -> Array:
        """Sums of coefficient * parts by owner."""
        if self.identity:
            return self.coefficient * parts
        weights = self.coefficient * parts
        return np.bincount(self.owner, weights=weights, minlength=self.size).astype(float)

    def of_product(self, V: Array, U: Array, once: bool = False) -> Array:
        """Values on the (possibly asymmetric) product V U'; for a single one no loop is compiled."""
        return self.collect(self._inner(V, U, once))

    def along(self, V: Array, D: Array) -> Array:
        """Derivative of the values on V V' along D."""
        return self.collect(self._inner(V, D) + self._inner(D, V))

    def _inner(self, V: Array, U: Array, once: bool = False) -> Array:
        """The inner products of the rows of V and U that the triplets name."""
        if self.n * self.n <= DENSE * self.row.size:
            return (V @ U.T)[self.row, self.column]
        if self.row.size * V.shape[1] <= CACHED:
            return np.einsum("er,er->e", V[self.row], U[self.column])
        fits = V.shape == U.shape and len(V) == self.n  # the loop checks no index
        if fits and not once and available():
            out = np.empty(self.row.size)
            INNER(*self.indices, *(np.require(part, float, ["C", "W"]) for part in (V, U)), out)
            return out
        out = np.einsum("nr,nr->n", V, U)[self.row]
        step = max(CACHED // V.shape[1], 1)
        for at in range(0, self.off_diagonal.size, step):
            e = self.off_diagonal[at : at + step]
            out[e] = np.einsum("er,er->e", V[self.row[e]], U[self.column[e]])
        return out

    @cached_property
    def indices(self) -> tuple[Index, Index]:
        """Row and column of each triplet, as compiled loops take them: read-only."""
        row, column = (np.ascontiguousarray(end, dtype=np.intp).view() for end in (self.row, self.column))
        return frozen(row), frozen(column)

    @cached_property
    def off_diagonal(self) -> Index:
        """The triplets whose row is not their column."""
        return np.flatnonzero(self.row != self.column)

    def halves(self, y: Array) -> Array:
        """Half of coefficient * y[owner], the entry of each order of a triplet in sum_e y_e M_e."""
        return 0.5 * self.coefficient * (y if self.identity else y[self.owner])

    def row_sums(self, y: Array, x: Array | None = None) -> tuple[Array, Array]:
        """Row sums of (sum_e abs(y_e) abs(M_e)) Diag(x), x = 1 by default, and numbers of summands (n,)."""
        (ends, others), half = self.ends(), np.abs(self.halves(y))
        size = np.concatenate([half, half]) * (1.0 if x is None else x[others])
        count = np.bincount(ends, minlength=self.n).astype(float)
        return np.bincount(ends, weights=size, minlength=self.n).astype(float), count

    def diagonal_sizes(self, y: Array) -> Array:
        """The diagonal of sum_e abs(y_e) abs(M_e) (n,)."""
        own = np.flatnonzero(self.row == self.column)
        size = np.abs(self.coefficient[own] * np.asarray(y, dtype=float)[self.owner[own]])
        return np.bincount(self.row[own], weights=size, minlength=self.n).astype(float)

    def symmetric_operator(self) -> sp.csr_array:
        """The matrix A (m x n^2) with symmetric rows and z = A vec(K)."""
        half = 0.5 * np.asarray(self.coefficient, dtype=float)
        flat = np.concatenate([self.row * self.n + self.column, self.column * self.n + self.row])
        owner = np.concatenate([self.owner, self.owner])
        shape = (self.size, self.n * self.n)
        return sp.csr_array((np.concatenate([half, half]), (owner, flat)), shape=shape)

    def adjoint(self, y: Array) -> Matrix:
        """sum_e y_e M_e as a symmetric sparse array (n x n)."""
        half = self.halves(y)
        return sp.coo_array((np.concatenate([half, half]), self.ends()), shape=(self.n, self.n)).tocsr()

    def pattern(self) -> Matrix:
        """The number of triplets, in both orders, at each entry (n x n), with sorted indices."""
        out = sp.coo_array((np.ones(2 * self.row.size), self.ends()), shape=(self.n, self.n)).tocsr()
        out.sort_indices()
        return out


class Adjoint:
    """The common pattern of base + sum_e y_e M_e for all y, and operations on such matrices.

    The triplets of all M_e are those of ``incidence``. The pattern has all places that ``base`` stores, and
    the whole ``diagonal`` if asked to. scipy's constructors and sums check every index again, which takes
    most of the time with a few hundred points.
    """

    def __init__(self, incidence: Incidence, base: Matrix | None = None, diagonal: bool = False) -> None:
        n = incidence.n
        own, every = sp.coo_array((n, n) if base is None else base), np.arange(n if diagonal else 0)
        row, column = incidence.ends()
        at = (np.concatenate([row, own.row, every]), np.concatenate([column, own.col, every]))
        self.incidence, whole = incidence, sp.coo_array((np.ones(at[0].size), at), shape=(n, n)).tocsr()
        whole.sort_indices()
        whole.data = np.zeros(whole.nnz)
        self.last: Matrix = sp.csr_array(whole)
        self.where = positions(whole, row, column)
        self.diagonal: Index = positions(whole, every, every)
        at_base = positions(whole, own.row, own.col)
        self.base: Array = np.bincount(at_base, weights=own.data, minlength=whole.nnz).astype(float)

    @cached_property
    def flat(self) -> Index:
        """The places of the numbers in a matrix that is stored row by row."""
        start = np.repeat(np.arange(self.incidence.n), np.diff(self.last.indptr)) * self.incidence.n
        return np.asarray(start + self.last.indices)

    def numbers(self, y: Array) -> Array:
        """The numbers of sum_e y_e M_e."""
        half = self.incidence.halves(y)
        out = np.bincount(self.where, weights=np.concatenate([half, half]), minlength=self.base.size)
        return out.astype(float, copy=False)

    def matrix(self, numbers: Array) -> Matrix:
        """The CSR array with the given numbers; all such arrays share their indices."""
        out = copy(self.last)
        out.data = numbers
        return out

    def inner(self, numbers: Array, X: Array) -> float:
        """<A, X> for the matrix A with the given numbers and a dense contiguous X."""
        return float(numbers @ X.ravel(order="K").take(self.flat))

    def __call__(self, y: Array) -> Matrix:
        """The matrix base + sum_e y_e M_e; the next call overwrites it."""
        self.last.data = self.base + self.numbers(y)
        return self.last
