"""Sparse factors of symmetric matrices of one pattern: CHOLMOD's where CVXOPT is installed, else SuperLU's.

CHOLMOD (Chen, Davis, Hager & Rajamanickam 2008) factorises dense blocks by BLAS, does half the operations
of an LU factorisation, and analyses a pattern once. It fails for a matrix that is not positive definite.
SuperLU can factorise that matrix, too. CVXOPT has the licence GPL, so it is optional (the extra `sparse`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, definite_lu, symmetric_lu

WORTH = 1_000  # order of a matrix from which on CHOLMOD is tried
OPTIONS = {"supernodal": 2, "nmethods": 1, "postorder": True}  # Cholesky factors, in the order that is given
INDEFINITE = "the matrix is not positive definite to rounding"
_lock = Lock()  # the options are CVXOPT's, one set for all threads


class Factor(Protocol):
    """A factorised matrix."""

    def solve(self, right: Array) -> Array:
        """The solution for a right-hand side (n,), or for k of them (n x k)."""


@cache
def installed() -> Any:
    """The package CVXOPT with CHOLMOD, or None where it cannot be imported."""
    try:
        import cvxopt
        import cvxopt.cholmod
    except ImportError:
        return None
    return cvxopt


class SymmetricFactors:
    """Factorises symmetric matrices (n x n) of one pattern, in the order of their rows.

    ``indptr`` and ``indices`` are the pattern of the upper triangle in CSR, with sorted indices and a full
    diagonal. Entries below the diagonal may be stored, but they are ignored.
    """

    def __init__(self, indptr: Index, indices: Index) -> None:
        self.indptr, self.indices, self.size = indptr, indices, indptr.size - 1
        self.rows = np.repeat(np.arange(self.size), np.diff(indptr))  # of the entries
        self.diagonal = np.flatnonzero(self.rows == indices)  # places of the diagonal
        self.turn = 0  # the number of factorisations by CHOLMOD, which share their memory
        self._analysed: tuple[Any, Any] | None = None
        self._spread: Any = None

    def at(self, data: Array, retry: bool = True, definite: bool = False) -> Factor:
        """The factors of the matrix with these entries in its pattern.

        CHOLMOD's factors are valid until the next call. A matrix that CHOLMOD refuses, because it is not
        positive definite to rounding, is factorised by SuperLU, which takes several times longer. Without
        ``retry``, a RuntimeError is raised instead. One is raised by SuperLU for a singular matrix, too.
        With ``definite``, a matrix that is not positive definite to rounding always raises one.
        """
        if not np.isfinite(data).all():
            raise RuntimeError("the matrix has entries that are not finite")
        if self.size >= WORTH and installed() is not None:
            found = self._cholesky(data)
            if found is not None:
                return found
            if not retry or definite:
                raise RuntimeError(INDEFINITE)
        if not definite:
            return symmetric_lu(self._whole(data), "NATURAL")
        factor = definite_lu(self._whole(data), "NATURAL")
        if factor is None:
            raise RuntimeError(INDEFINITE)
        return factor

    def triangle(self, data: Array) -> tuple[Matrix, Index]:
        """(L, order): the lower triangle (n x n, CSC) of L L' = A[order][:, order], for a definite matrix A.

        A matrix that is not positive definite to rounding raises a RuntimeError.
        """
        factor: Any = self.at(data, definite=True)
        if isinstance(factor, _Cholesky):
            return factor.triangle()
        L = sp.csc_array(factor.L @ sp.diags_array(np.sqrt(factor.U.diagonal())))
        L.sort_indices()
        return L, np.arange(self.size)

    def forget(self) -> None:
        """Make earlier factors and the analysis of the pattern invalid."""
        self.turn, self._analysed = self.turn + 1, None

    def _cholesky(self, data: Array) -> _Cholesky | None:
        """The factors by CHOLMOD; None if the matrix is not positive definite to rounding."""
        package, self.turn = installed(), self.turn + 1
        with _options(package.cholmod):
            if self._analysed is None:
                entries = (data, self.indices.astype(np.int64), self.rows.astype(np.int64))
                A = package.spmatrix(*map(package.matrix, entries), (self.size, self.size))
                order = package.matrix(np.arange(self.size, dtype=np.int64))
                self._analysed = A, package.cholmod.symbolic(A, order)
            A, factor = self._analysed
            A.V = package.matrix(data)
            try:
                package.cholmod.numeric(A, factor)
            except ArithmeticError:
                return None
        return _Cholesky(self, factor)

    def _whole(self, data: Array) -> Any:
        """The whole matrix in CSC."""
        if self._spread is None:
            places = np.arange(1, data.size + 1)  # not from zero, because sums drop zeros
            upper = sp.csr_array((places, self.indices, self.indptr), shape=(self.size, self.size))
            self._spread = sp.csc_array(sp.triu(upper) + sp.triu(upper, 1).T)
            self._spread.data -= 1
        out = self._spread
        return sp.csc_array((data[out.data], out.indices, out.indptr), shape=out.shape)


def negative_pivots(factor: Factor) -> int:
    """The number of negative eigenvalues of a factorised symmetric matrix, by the signs of its pivots.

    It is the order of the matrix if SuperLU has left the diagonal, because the signs then tell nothing.
    """
    if isinstance(factor, _Cholesky):
        return 0
    lu: Any = factor
    if not np.array_equal(lu.perm_r, lu.perm_c):
        return int(lu.shape[0])
    return int(np.sum(lu.U.diagonal() < 0))


class _Cholesky:
    """The factors of the last matrix that a `SymmetricFactors` has factorised by CHOLMOD."""

    def __init__(self, owner: SymmetricFactors, factor: Any) -> None:
        self.owner, self.factor, self.turn = owner, factor, owner.turn

    def solve(self, right: Array, system: int = 0) -> Array:
        if self.turn != self.owner.turn:
            raise RuntimeError("a later factorisation has overwritten these factors")
        package = installed()
        x = package.matrix(np.asarray(right, dtype=float))
        with _options(package.cholmod):
            package.cholmod.solve(self.factor, x, sys=system)
        out: Array = np.array(x).reshape(right.shape)
        return out

    def triangle(self) -> tuple[Matrix, Index]:
        """The lower triangle L in CSC, with the entries that are zero by chance, and the order of its rows.

        CVXOPT takes the factors apart for this, so they are of no use afterwards.
        """
        package, size = installed(), self.owner.size
        order = self.solve(np.arange(size, dtype=float), system=7)  # a postorder may have changed the order
        with _options(package.cholmod):
            L = package.cholmod.getfactor(self.factor)
        self.owner.forget()
        indptr, indices, data = (np.array(part).ravel() for part in L.CCS)
        whole = sp.csc_array((data, indices, indptr), shape=(size, size))
        whole.sort_indices()
        return whole, order.astype(np.intp)


@contextmanager
def _options(cholmod: Any) -> Iterator[None]:
    """Our options of CHOLMOD; the caller's are there again afterwards."""
    with _lock:
        before = dict(cholmod.options)
        cholmod.options.update(OPTIONS)
        try:
            yield
        finally:
            cholmod.options.clear()
            cholmod.options.update(before)
