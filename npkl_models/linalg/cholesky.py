"""Sparse Cholesky factorisations of matrices that share a pattern, by CHOLMOD where it is installed.

CHOLMOD (Chen, Davis, Hager & Rajamanickam, "Algorithm 887", ACM Transactions on Mathematical Software 35,
2008) works on dense blocks. It comes with the optional package cvxopt, whose licence is the GPL.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Matrix

SUPERNODAL = 2  # CHOLMOD's name for factors in dense blocks


@cache
def _package() -> Any:
    """The package cvxopt, or None."""
    try:
        importlib.import_module("cvxopt.cholmod")
    except ImportError:
        return None
    return importlib.import_module("cvxopt")


def available() -> bool:
    """Whether CHOLMOD is installed."""
    return _package() is not None


class Cholesky:
    """Factorisations P = L L' of symmetric matrices with one pattern, without a change of the order.

    Parameters
    ----------
    pattern : sparse matrix of shape (n, n)
        A symmetric matrix. Its values are numbers of a caller's list, from 0: see ``positions``.

    Attributes
    ----------
    positions : ndarray of int
        For each entry of the lower triangle, the place of its value in the caller's list.
    """

    def __init__(self, pattern: Matrix) -> None:
        lower = sp.tril(pattern, format="csc").tocoo()
        self.positions = np.asarray(lower.data, dtype=np.intp)
        package = _package()
        n = int(pattern.shape[0])
        at = (package.matrix(part.astype(np.int64)) for part in lower.coords)
        self._matrix = package.spmatrix(1.0, *at, (n, n))
        self._symbolic = self._with_options(
            lambda: package.cholmod.symbolic(self._matrix, p=package.matrix(np.arange(n, dtype=np.int64)))
        )

    def factorise(self, values: Array) -> Callable[[Array], Array] | None:
        """The map of right-hand sides (n, or n x k) to solutions; None if the matrix is not definite.

        ``values`` is the caller's list. The map of an earlier call must not be used any more.
        """
        package = _package()
        self._matrix.V = package.matrix(np.ascontiguousarray(values[self.positions]))
        try:
            self._with_options(lambda: package.cholmod.numeric(self._matrix, self._symbolic))
        except ArithmeticError:
            return None
        return self._solve

    def _solve(self, right: Array) -> Array:
        x = _package().matrix(np.array(right, dtype=float))
        _package().cholmod.solve(self._symbolic, x)
        return np.array(x).reshape(np.shape(right))

    def _with_options(self, work: Callable[[], Any]) -> Any:
        """Do the work with factors in dense blocks; options of CHOLMOD belong to the whole process."""
        options = _package().cholmod.options
        before = dict(options)
        options["supernodal"] = SUPERNODAL
        try:
            return work()
        finally:
            options.clear()
            options.update(before)
