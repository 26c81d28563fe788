"""Sparse symmetric matrices that share one pattern: each further matrix is a vector of numbers."""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, positions
from npkl_models.model.incidence import Incidence


class Pattern:
    """The common pattern of base + sum_e y_e M_e for all y, and operations on such matrices.

    The triplets of all M_e are those of ``incidence``, over the rows of the matrix; the pattern has the whole
    diagonal. scipy's constructors and sums check every index again, which takes most of the time with a few
    hundred points.
    """

    def __init__(self, incidence: Incidence, base: Matrix) -> None:
        n = incidence.n
        own, every = sp.coo_array(base), np.arange(n)
        row, column = incidence.ends()
        at = (np.concatenate([row, own.row, every]), np.concatenate([column, own.col, every]))
        self.incidence, whole = incidence, sp.coo_array((np.ones(at[0].size), at), shape=(n, n)).tocsr()
        whole.sort_indices()
        whole.data = np.zeros(whole.nnz)
        self.empty: Matrix = sp.csr_array(whole)
        self.where = positions(whole, *incidence.ends())
        self.flat: Index = np.repeat(np.arange(n), np.diff(whole.indptr)) * n + whole.indices
        self.diagonal: Index = positions(whole, every, every)
        at_base = positions(whole, own.row, own.col)
        self.base: Array = np.bincount(at_base, weights=own.data, minlength=whole.nnz).astype(float)

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
