"""Semidefinite blocks as parts of a cone: dense ones, and small ones of one order together.

The Schur complement H_ef = <M_e, X M_f S^-1> is gathered entry by entry where the M_e have few entries. A
matrix with many entries is multiplied instead, and gives a whole row of H (Fujisawa, Kojima & Nakata 1997,
"Exploiting sparsity in primal-dual interior-point methods").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from npkl_models.feasibility.constraint_map import FULL
from npkl_models.interior.part import CALLS, Vector
from npkl_models.interior.schur import IN_NUMPY, USUAL, gathered, rows_of
from npkl_models.interior.steps import RATE, cholesky, inverse, longest
from npkl_models.linalg import Array, Index, Matrix, symmetrize

DENSE = 6.0  # operations of an iteration, in units of the cube of the order
ROW = 1e-4  # seconds of the interpreter for a matrix that is multiplied
WIDE = 2**24  # numbers that are held at a time


@dataclass(frozen=True, eq=False)
class Block(Vector):
    """A positive semidefinite block X: the places of its rows, the cost, and A (m x order^2)."""

    @property
    def block(self) -> int:
        return self.order

    @property
    def seconds(self) -> float:
        return CALLS + DENSE * float(self.order) ** 3 / RATE + self._order[2]

    def unit(self, size: float) -> Array:
        return size * np.eye(self.order)

    def factor(self, X: Array) -> Array:
        return cholesky(X)

    def inverse(self, factor: Array) -> Array:
        return inverse(factor)

    @cached_property
    def _pattern(self) -> tuple[Index, Index] | None:
        """Indices and row starts of the entries that slacks may have; None if they are many."""
        entries = np.unique(np.concatenate([
            self.A.indices, np.flatnonzero(self.C), np.arange(self.order) * (self.order + 1)
        ]))  # fmt: skip
        if entries.size > FULL * self.order**2:
            return None
        return entries, np.searchsorted(entries, np.arange(self.order + 1) * self.order)

    def between(self, X: Array, D: Array, Z: Array) -> Array:
        """The symmetric part of XDZ, for a change D of slacks."""
        if self._pattern is None:
            return symmetrize(X @ D @ Z)
        entries, starts = self._pattern
        own = sp.csr_array((D.ravel()[entries], entries % self.order, starts), shape=D.shape)
        return symmetrize(X @ np.asarray(own @ Z))

    def longest(self, factor: Array, D: Array, share: float) -> float:
        return longest(factor, D, share)

    def fill(self, V: Array, factor: Array) -> None:
        V[np.ix_(self.places, self.places)] = factor

    @cached_property
    def _order(self) -> tuple[Index, int, float]:
        """The values with entries here, most entries first, how many are multiplied, and the seconds."""
        count = np.diff(self.A.indptr)
        order = np.argsort(-count, kind="stable")[: int(np.sum(count > 0))]
        many = count[order].astype(float)
        left = np.append(np.cumsum(many[::-1])[::-1], 0.0)
        left = np.minimum(left, float(self.order) * (self.order + 1)) / 2  # entries of one half
        row = 2 * self.order**2 * np.minimum(self.order, many) + 2 * self.order * many + 2 * many.sum()
        seconds = np.append(0.0, np.cumsum(row / RATE + ROW)) + IN_NUMPY / USUAL * left**2
        multiplied = int(np.argmin(seconds))
        order[multiplied:].sort()
        return order, multiplied, float(seconds.min())

    @cached_property
    def _entries(self) -> tuple[Index, Index, Array, Matrix | None]:
        """Rows, columns and coefficients of the entries (upper half) that the gathered values need.

        The values are sums of the entries; there are no sums if each value is one entry.
        """
        order, multiplied, _ = self._order
        A = sp.coo_array(self.A[order[multiplied:]])
        row, column = A.coords[1] // self.order, A.coords[1] % self.order
        upper = row <= column
        value = A.data[upper] * np.where(row == column, 1.0, 2.0)[upper]
        owner, place = A.coords[0][upper], A.coords[1][upper]
        if owner.size == A.shape[0]:
            place, value = place[np.argsort(owner)], value[np.argsort(owner)]
            return place // self.order, place % self.order, value, None
        place, where = np.unique(place, return_inverse=True)
        sums = sp.csr_array((value, (owner, where)), shape=(A.shape[0], place.size))
        return place // self.order, place % self.order, np.ones(place.size), sums

    @cached_property
    def _rows(self) -> list[tuple[Index, Matrix]]:
        """The rows that are not zero of each M_e that is multiplied, and these rows as a matrix."""
        out = []
        order, multiplied, _ = self._order
        for e in order[:multiplied]:
            own = slice(*self.A.indptr[e : e + 2])
            at, value = self.A.indices[own], self.A.data[own]
            rows, where = np.unique(at // self.order, return_inverse=True)
            M = sp.csr_array((value, (where, at % self.order)), shape=(rows.size, self.order))
            out.append((rows, M))
        return out

    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        order, multiplied, _ = self._order
        X, Z = np.ascontiguousarray(X), np.ascontiguousarray(Z)
        for k, (rows, M) in enumerate(self._rows):
            U = X[:, rows] @ np.asarray(M @ Z)  # the M_f are symmetric
            own, later, found = order[k], order[k + 1 :], self.plain @ U.ravel()
            H[own, own] += found[own]
            H[own, later] += found[later]
            H[later, own] += found[later]
        self._gather(order[multiplied:], X, Z, H)
        return H

    def _gather(self, own: Index, X: Array, Z: Array, H: Array) -> None:
        """Add the rows and columns of the values with few entries, from the entries that they need."""
        i, j, coefficient, sums = self._entries
        if i.size**2 <= 4 * WIDE:
            found = gathered(i, j, coefficient, X, Z)
            found = found if sums is None else np.asarray(sums @ (sums @ found).T)
        else:
            T = sp.eye_array(own.size, format="csr") if sums is None else sums
            found = np.zeros((own.size, own.size))
            step = max(1, WIDE // i.size)
            for k in range(0, i.size, step):
                part = rows_of(slice(k, k + step), i, j, coefficient, X, Z)
                found += np.asarray(T[:, k : k + step] @ np.asarray(T @ part.T).T)
        if own.size == len(H):
            H += found
        else:
            H[np.ix_(own, own)] += found


@dataclass(frozen=True, eq=False)
class Stack(Vector):
    """Many small blocks of one order n: places (k, n), costs C (k, n, n) and coefficients A (m x k n^2)."""

    @property
    def block(self) -> int:
        return int(self.C.shape[1])

    def unit(self, size: float) -> Array:
        return np.broadcast_to(size * np.eye(self.block), self.C.shape).copy()

    def factor(self, X: Array) -> Array:
        return np.linalg.cholesky(X)

    def inverse(self, factor: Array) -> Array:
        L = np.linalg.inv(factor)
        return np.asarray(L.transpose(0, 2, 1) @ L)

    def between(self, X: Array, D: Array, Z: Array) -> Array:
        P = X @ D @ Z
        return np.asarray(0.5 * (P + P.transpose(0, 2, 1)))

    def longest(self, factor: Array, D: Array, share: float) -> float:
        L = np.linalg.inv(factor)
        low = float(np.linalg.eigvalsh(L @ D @ L.transpose(0, 2, 1)).min())
        return 1.0 if low >= -share else share / -low

    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        """H gains A (X kron Z) A' over all blocks."""
        k, n = self.places.shape
        pairs = np.einsum("kac,kbd->kabcd", X, Z).reshape(k, n * n, n * n)
        every = np.arange(k + 1)
        H += (self.A @ sp.bsr_array((pairs, every[:-1], every)) @ self.A.T).toarray()
        return H

    def fill(self, V: Array, factor: Array) -> None:
        V[self.places[:, :, None], self.places[:, None, :]] = factor
