"""The cone of a program, part by part: numbers, second-order cones, small blocks together, and blocks.

The blocks are the connected parts of the aggregate pattern of the cost and of all M_e: no number meets an
entry between them. All blocks of order one are one vector. For each part, the Schur complement
H_ef = <M_e, X M_f S^-1> is gathered entry by entry where the M_e have few entries. A matrix with many entries
is multiplied instead, and gives a whole row of H (Fujisawa, Kojima & Nakata 1997, "Exploiting sparsity in
primal-dual interior-point methods").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.feasibility.constraint_map import FULL
from npkl_models.interior.schur import IN_NUMPY, USUAL, gathered, rows_of
from npkl_models.interior.steps import cholesky, inverse, longest, ratio
from npkl_models.linalg import Array, Index, Matrix, norm_bound, symmetrize
from npkl_models.linalg.nearly_dependent import Rows
from npkl_models.model.pairs import components

RATE = 2.5e10  # operations of dense algebra per second
LEAST_SIZE = 10.0  # of the start, as Toh, Todd & Tutuncu (1999) have it
DENSE = 6.0  # operations of an iteration, in units of the cube of the order
MANY, SMALL = 4, 8  # so many blocks of one order are computed together, up to this order
CALLS, ROW = 1e-3, 1e-4  # seconds of the interpreter for a part, and for a matrix that is multiplied
WIDE = 2**24  # numbers that are held at a time


class Part(ABC):
    """Base class of the parts of a cone: X and S inside them, their products, and the values <M_e, X>."""

    C: Any
    grows: bool = False  # whether every M_e of a positive multiplier is positive semidefinite

    def norm(self, S: Matrix) -> float:
        """A bound on the size of the eigenvalues of S."""
        return norm_bound(S)

    @property
    @abstractmethod
    def degree(self) -> int:
        """The number of eigenvalues of X, whose products with those of S are mu on the central path."""

    @abstractmethod
    def unit(self, size: float) -> Array:
        """A multiple of the identity."""

    @abstractmethod
    def of(self, X: Array) -> Array:
        """<M_e, X> for all e."""

    @abstractmethod
    def adjoint(self, y: Array) -> Matrix:
        """sum y_e M_e, in the form of a slack."""

    def of_cost(self, X: Array) -> float:
        """<C, X>."""
        return self.inner(self.C, X)

    def inner(self, S: Matrix, X: Array) -> float:
        """<S, X>."""
        return float(np.vdot(S, X))

    def slack(self, y: Array, rho: float = 0.0, R: Matrix | None = None) -> Matrix:
        """S(y) - rho R."""
        S = self.C + self.adjoint(y)
        return S if R is None or not rho else S - rho * R

    def change(self, y: Array, rho: float, R: Matrix) -> Matrix:
        """sum y_e M_e + rho R."""
        return self.adjoint(y) + rho * R

    def shifted(self, S: Matrix, by: float) -> Matrix:
        """S plus a multiple of the identity."""
        return S + self.unit(by)

    @abstractmethod
    def factor(self, X: Matrix) -> Array:
        """A factor that `longest` and `inverse` take; LinAlgError if X is not inside the cone."""

    @abstractmethod
    def inverse(self, factor: Array) -> Array:
        """The inverse of S."""

    @abstractmethod
    def between(self, X: Array, D: Matrix, Z: Array) -> Array:
        """The symmetric part of X D Z."""

    @abstractmethod
    def longest(self, factor: Array, D: Matrix, share: float) -> float:
        """The step along D, ``share`` of the way to the boundary, at most 1."""

    @abstractmethod
    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        """H with this part of the Schur complement added, perhaps in place."""

    def rows(self, L_X: Array, L_S: Array) -> Rows | None:
        """The matrices whose Gram matrix is H, if they may nearly depend on each other."""
        return None


@dataclass(frozen=True, eq=False)
class Vector(Part):
    """Numbers x >= 0: their places in K (k,), costs (k,) and coefficients A (m x k)."""

    places: Index
    C: Array
    A: Matrix

    @property
    def order(self) -> int:
        """The number of rows of K in this part."""
        return int(self.places.size)

    @property
    def degree(self) -> int:
        return self.order

    @property
    def block(self) -> int:
        """The order of a block."""
        return 1

    @property
    def seconds(self) -> float:
        """Predicted seconds of an iteration in this part."""
        return CALLS

    def norm(self, S: Array) -> float:
        return self.block * float(np.max(np.abs(S), initial=0.0))

    def unit(self, size: float) -> Array:
        return np.full(self.order, size)

    def of(self, X: Array) -> Array:
        return np.asarray(self.A @ X.ravel())

    def sizes_of(self, X: Array) -> Array:
        """The sums of the absolute values of the summands of <M_e, X>."""
        return np.asarray(abs(self.A) @ np.abs(X.ravel()))

    def adjoint(self, y: Array) -> Array:
        return np.asarray(self._transposed @ y).reshape(self.C.shape)

    @cached_property
    def _transposed(self) -> Matrix:
        return self.A.T

    def factor(self, X: Array) -> Array:
        if not (X > 0).all():
            raise np.linalg.LinAlgError("not positive")
        return X

    def inverse(self, factor: Array) -> Array:
        return 1 / factor

    def between(self, X: Array, D: Array, Z: Array) -> Array:
        return X * D * Z

    def longest(self, factor: Array, D: Array, share: float) -> float:
        return ratio(factor, D, share)

    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        H += (self.A.multiply(X * Z) @ self.A.T).toarray()
        return H

    def sizes(self, b: Array) -> tuple[float, float]:
        """The sizes of the first X and S for targets b (m,)."""
        norms, root = np.sqrt(np.asarray(self.A.multiply(self.A).sum(axis=1)).ravel()), np.sqrt(self.block)
        far = self.block * float(np.max((1 + b) / (1 + norms), initial=1.0))
        size = max(float(np.max(norms, initial=0.0)), float(np.linalg.norm(self.C)))
        return max(LEAST_SIZE, root, far), max(LEAST_SIZE, root, size)

    def fill(self, V: Array, factor: Array) -> None:
        """Write the factor of X into its places of a factor V (n x n)."""
        V[self.places, self.places] = np.sqrt(factor)


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
            own, later, found = order[k], order[k + 1 :], self.A @ U.ravel()
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


def parts_of(C: Matrix, A: Matrix) -> list[Vector]:
    """The parts of a cone from the cost (n x n) and the coefficients of vec(X), A (m x n^2), both halves."""
    n = C.shape[0]
    C, A = sp.csr_array(C), sp.coo_array(A)
    row, column = A.coords[1] // n, A.coords[1] % n
    places = sp.coo_array(C).coords
    ends = np.stack([np.concatenate([places[0], row]), np.concatenate([places[1], column])], axis=1)
    label = components(n, ends)[1]
    sizes = np.bincount(label)
    order = np.argsort(label, kind="stable")
    start = np.cumsum(sizes) - sizes
    at = np.empty(n, dtype=np.intp)  # the place of each row within its part
    at[order] = np.arange(n) - np.repeat(start, sizes)
    parts: list[Vector] = []
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        number = np.full(sizes.size, -1)
        number[own] = np.arange(own.size)
        here = number[label[row]] >= 0
        flat = (number[label[row[here]]] * size + at[row[here]]) * size + at[column[here]]
        shape = (A.shape[0], own.size * int(size) ** 2)
        every = sp.csr_array((A.data[here], (A.coords[0][here], flat)), shape=shape)
        rows = order[start[own][:, None] + np.arange(size)]
        if size == 1:
            parts.append(Vector(rows[:, 0], C.diagonal()[rows[:, 0]], every))
        elif own.size >= MANY and size <= SMALL and own.size * float(size) ** 4 <= WIDE:
            parts.append(Stack(rows, np.stack([C[one][:, one].toarray() for one in rows]), every))
        else:
            blocks = (every[:, k * size**2 : (k + 1) * size**2] for k in range(own.size))
            parts += [
                Block(one, C[one][:, one].toarray(), sp.csr_array(block))
                for one, block in zip(rows, blocks, strict=True)
            ]
    return parts
