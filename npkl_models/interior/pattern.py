"""Sparse symmetric matrices that share one pattern: each further matrix is a vector of numbers."""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, positions
from npkl_models.model.incidence import Incidence


class Pattern:
    """The common pattern of base + sum_e y_e M_e for all y, and operations on such matrices.

    scipy's constructors and sums check every index again. With a few hundred points this takes most of the
    time.

    Parameters
    ----------
    incidence : Incidence
        The triplets of all M_e, over the rows of the matrix.
    base : sparse array, optional
        The matrix base. If it is given, the pattern also has its non-zeros and the whole diagonal.
    """

    def __init__(self, incidence: Incidence, base: Matrix | None = None) -> None:
        n = incidence.n
        self.incidence, whole = incidence, incidence.pattern()
        if base is not None:
            known = sp.csr_array(base, copy=True)
            known.data = np.ones(known.nnz)
            whole = (whole + known + sp.eye_array(n, format="csr")).tocsr()
        whole.sort_indices()
        whole.data = np.zeros(whole.nnz)
        self.empty: Matrix = sp.csr_array(whole)
        self.where = positions(whole, *incidence.ends())
        self.flat: Index = np.repeat(np.arange(n), np.diff(whole.indptr)) * n + whole.indices
        self.base, self.diagonal = np.zeros(whole.nnz), np.zeros(0, dtype=np.intp)
        if base is not None:
            every, own = np.arange(n), sp.coo_array(base)
            self.diagonal = positions(whole, every, every)
            self.base = np.bincount(
                positions(whole, own.row, own.col), weights=own.data, minlength=whole.nnz
            ).astype(float)

    def numbers(self, y: Array) -> Array:
        """The numbers of sum_e y_e M_e."""
        half = self.incidence.halves(y)
        out = np.bincount(self.where, weights=np.concatenate([half, half]), minlength=self.flat.size)
        return out.astype(float, copy=False)

    def matrix(self, numbers: Array) -> Matrix:
        """The CSR array with the given numbers; all such arrays share their indices."""
        out = copy(self.empty)
        out.data = numbers
        return out

    def inner(self, numbers: Array, X: Array) -> float:
        """<A, X> for the matrix A with the given numbers and a dense contiguous X."""
        return float(numbers @ X.ravel(order="K").take(self.flat))
