"""The unknown kernel of pairs as a part of the cone: values by triplets, perhaps over a basis, sparse slacks.

Without a basis the slacks and all their changes share one pattern (`Adjoint`), so that each further matrix
is a vector of numbers. They are sparse if the order is large. A bound on the trace adds one value, whose
matrix is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

from npkl_models.interior.part import Part
from npkl_models.interior.schur import by_coordinates, gathered, of_distances
from npkl_models.interior.steps import DENSE, cholesky, inverse, longest
from npkl_models.linalg import Array, Index, Matrix, dense, symmetrize
from npkl_models.linalg.nearly_dependent import Rows
from npkl_models.model.functional import smat, svec
from npkl_models.model.incidence import Adjoint, Incidence

CHUNK = 100_000  # numbers that are gathered at a time, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Unknown(Part):
    """K, or U over a basis, of one order, and the matrices of the multipliers that are not fixed."""

    order: int
    C: Matrix  # cost over the unknown, with the linear losses and the penalty on a trace added
    incidence: Incidence  # triplets over ``points``, numbered from 0
    points: Index  # the points that occur in any value
    Q: Array | None  # rows of the basis at the points; points that share a row are one point here
    trace: bool  # whether the last multiplier belongs to tr K <= B, whose matrix is the identity
    edges: tuple[Index, Index] | None  # ends of the values, if all are squared distances
    coordinates: Array | None = None  # each value's coefficients of `svec` of U (m, s(s+1)/2), if it has few
    forms: bool = False  # whether each value is q'Uq with its own row q of Q (`rescaling.edge_vectors`)

    @property
    def degree(self) -> int:
        return self.order

    @property
    def grows(self) -> bool:  # type: ignore[override]
        return self.edges is not None

    def unit(self, size: float) -> Array:
        return size * np.eye(self.order)

    @cached_property
    def _pattern(self) -> Adjoint:
        """The pattern of S(y) and the identity, without a basis; changes of a slack have it, too."""
        t, every = self.incidence, np.arange(self.order)
        own = Incidence(t.owner, self.points[t.row], self.points[t.column], t.coefficient, self.order, t.size)
        if self.trace:
            last = Incidence(np.zeros_like(every), every, every, np.ones(self.order), self.order, 1)
            own = Incidence.stack([own, last])
        return Adjoint(own, self.C, diagonal=True)

    @cached_property
    def _flat(self) -> Index:
        """The places of the triplets in a K that is stored row by row."""
        t = self.incidence
        return np.asarray(self.points[t.row] * self.order + self.points[t.column])

    @cached_property
    def entries(self) -> tuple[Index, Index, Array, Matrix | None]:
        """Row, column and coefficient (e,) of the entries of K at ``points`` that any value needs, each once.

        The values are ``sums`` (m, e) times the entries; ``sums`` is None if each value is one of them.
        """
        t = self.incidence
        if t.identity:
            return t.row, t.column, np.asarray(t.coefficient, dtype=float), None
        low, high = np.minimum(t.row, t.column), np.maximum(t.row, t.column)
        places, at = np.unique(low * t.n + high, return_inverse=True)
        sums = sp.csr_array((t.coefficient, (t.owner, at)), shape=(t.size, places.size))
        return places // t.n, places % t.n, np.ones(places.size), sums

    def adjoint(self, y: Array) -> Matrix:
        if self.Q is None:
            return self._matrix(self._pattern.numbers(y))
        if self.coordinates is not None:
            return smat(y @ self.coordinates, self.order)
        own = y[:-1] if self.trace else y
        M = symmetrize(self.Q.T @ (self.incidence.adjoint(own) @ self.Q))
        return M + y[-1] * np.eye(self.order) if self.trace else M

    def slack(self, y: Array, rho: float = 0.0, R: Matrix | None = None) -> Matrix:
        if self.Q is not None:
            S = self.C + self.adjoint(y)
        else:
            S = self._matrix(self._pattern.base + self._pattern.numbers(y))
        return S if R is None or not rho else self._plus(S, -rho, R)

    def change(self, y: Array, rho: float, R: Matrix) -> Matrix:
        return self._plus(self.adjoint(y), rho, R)

    def shifted(self, S: Matrix, by: float) -> Matrix:
        if not sp.issparse(S):
            return S + by * np.eye(self.order)
        numbers = S.data.copy()
        numbers[self._pattern.diagonal] += by
        return self._pattern.matrix(numbers)

    def _plus(self, S: Matrix, rho: float, R: Matrix) -> Matrix:
        """S + rho R for a residual R, which has the pattern of S."""
        return self._pattern.matrix(S.data + rho * R.data) if sp.issparse(S) else S + rho * R

    def _matrix(self, numbers: Array) -> Matrix:
        """The matrix of the pattern with these numbers, dense for a small order."""
        if self.order > DENSE:
            return self._pattern.matrix(numbers)
        out = np.zeros(self.order**2)
        out[self._pattern.flat] = numbers
        return out.reshape(self.order, self.order)

    def inner(self, S: Matrix, X: Array) -> float:
        if not sp.issparse(S):
            return float(np.vdot(S, X))
        return self._pattern.inner(S.data, X)

    def of_cost(self, X: Array) -> float:
        return self.inner(self.C, X) if self.Q is not None else self._pattern.inner(self._pattern.base, X)

    def of(self, X: Array) -> Array:
        if self.coordinates is not None:
            return np.asarray(self.coordinates @ svec(X))
        if self.Q is None:
            z = self.incidence.collect(X.ravel(order="K").take(self._flat))
        else:
            z = self._rows(self.Q @ X, self.Q)
        return np.append(z, np.trace(X)) if self.trace else z

    def _rows(self, X: Array, Y: Array) -> Array:
        t = self.incidence
        step = max(64, CHUNK // max(X.shape[1], 1))
        parts = [
            np.einsum("er,er->e", X[t.row[k : k + step]], Y[t.column[k : k + step]])
            for k in range(0, t.row.size, step)
        ]
        return t.collect(np.concatenate(parts) if parts else np.zeros(0))

    def factor(self, X: Matrix) -> Array:
        return cholesky(dense(X))

    def inverse(self, factor: Array) -> Array:
        return inverse(factor)

    def between(self, X: Array, D: Matrix, Z: Array) -> Array:
        return symmetrize(X @ np.asarray(D @ Z))

    def longest(self, factor: Array, D: Matrix, share: float) -> float:
        return longest(factor, D, share)

    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        own = self._schur(*(A if A.flags.c_contiguous else A.T for A in (X, Z)))
        if self.trace and self.coordinates is None:
            across = self.of(symmetrize(X @ Z))
            own = np.block([[own, across[:-1, None]], [across[None, :-1], across[-1:, None]]])
        return H + own.T if H.any() else own.T  # stored by columns, which LAPACK can overwrite

    def _schur(self, X: Array, Z: Array) -> Array:
        if self.coordinates is not None:
            return by_coordinates(self.coordinates, X, Z)
        at = self.points
        if self.Q is not None:
            at, X, Z = np.arange(at.size), self.Q @ X @ self.Q.T, self.Q @ Z @ self.Q.T
        if self.edges is not None:
            return of_distances(at[self.edges[0]], at[self.edges[1]], X, Z)
        row, column, coefficient, sums = self.entries
        H = gathered(at[row], at[column], coefficient, X, Z)
        return H if sums is None else np.asarray(sums @ (sums @ H).T)

    def rows(self, L_X: Array, L_S: Array) -> Rows | None:
        """If the values are forms p'Xp, H is the Gram matrix of the matrices L_X'p p'L_S^-T."""
        if not self.forms:
            return None
        P = dense(self.Q)
        return Rows.of(P @ L_X, blas.dtrsm(1.0, L_S, P.T, lower=1).T)
