"""Two or more threads where they help: sparse products by blocks of rows, while BLAS keeps to one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from npkl_models.linalg import Array, Matrix

WORTHWHILE = 1_000_000  # stored entries from which on a product is shared
LONG = 10_000  # numbers in a vector from which on idle threads of BLAS disturb
MOST = 8  # threads


class RowBlocks:
    """A sparse matrix as blocks of rows (views), whose products run at once.

    Each row is summed as before, so that products are the same to the last bit.
    """

    def __init__(self, A: Matrix, threads: int) -> None:
        self.whole, self.shape = A, A.shape
        cuts = np.searchsorted(A.indptr, np.linspace(0, A.nnz, threads + 1)[1:-1])
        self.cuts = np.concatenate([[0], cuts, [A.shape[0]]])
        self.blocks = []
        for first, last in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            at, end = A.indptr[first], A.indptr[last]
            own = (A.data[at:end], A.indices[at:end], A.indptr[first : last + 1] - at)
            self.blocks.append(sp.csr_array(own, shape=(last - first, A.shape[1]), copy=False))

    def __matmul__(self, X: Array) -> Array:
        out = np.empty((self.shape[0], *X.shape[1:]))

        def multiply(k: int) -> None:
            out[self.cuts[k] : self.cuts[k + 1]] = self.blocks[k] @ X

        list(_pool(len(self.blocks)).map(multiply, range(len(self.blocks))))
        return out


def threaded(A: Matrix) -> Matrix:
    """A itself, or where that pays an operator with the same products on several threads."""
    threads = min(available(), MOST)
    if threads < 2 or not sp.issparse(A) or A.nnz < WORTHWHILE:
        return A
    return RowBlocks(sp.csr_array(A), threads)


def available() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def quiet_blas(n: int) -> AbstractContextManager[object]:
    """One thread for BLAS while vectors are long: its idle threads spin, and hold sparse products up."""
    if n < LONG:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="npkl_models")
