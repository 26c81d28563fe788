"""Sparse products on several threads by blocks of rows, and BLAS on one thread where this is quicker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from npkl_models.linalg import Array, Matrix

WORTHWHILE = 1_000_000  # stored entries from which on a product runs on several threads
SMALL = 500  # largest order of matrices at which one thread is as quick as several
LONG = 10_000  # numbers in a vector from which on idle threads of BLAS slow other work down
MOST = 8  # most threads


class RowBlocks:
    """A sparse matrix as blocks of rows (views), whose products run at the same time.

    Each row is summed as without threads, so that products are the same to the last bit.
    """

    def __init__(self, A: Matrix, threads: int) -> None:
        self.whole, self.shape = A, A.shape
        cuts = np.searchsorted(A.indptr, np.linspace(0, A.nnz, threads + 1)[1:-1])
        self.cuts = np.concatenate([[0], cuts, [A.shape[0]]])
        self.blocks = []
        for first, last in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            at, end = A.indptr[first], A.indptr[last]
            block = sp.csr_array((last - first, A.shape[1]))
            block.data, block.indices = A.data[at:end], A.indices[at:end]  # scipy would copy short views
            block.indptr = A.indptr[first : last + 1] - at
            self.blocks.append(block)

    def __matmul__(self, X: Array) -> Array:
        out = np.empty((self.shape[0], *X.shape[1:]))

        def multiply(k: int) -> None:
            out[self.cuts[k] : self.cuts[k + 1]] = self.blocks[k] @ X

        list(_pool(len(self.blocks)).map(multiply, range(len(self.blocks))))
        return out


def threaded(A: Matrix) -> Matrix:
    """A itself, or an operator with the same products on several threads, if this is quicker."""
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
    """Limit BLAS to one thread while matrices are small or vectors long.

    On small matrices, threads wait for each other longer than they work, thirty times as long on a busy
    machine. During sparse products on long vectors, idle threads of BLAS spin and slow the products down.
    """
    return _alone() if n <= SMALL or n >= LONG else nullcontext()


class _Count:
    """The number of blocks that want one thread now; the first sets the limit, the last removes it."""

    lock = Lock()
    inside = 0
    limiter: Any = None


@contextmanager
def _alone() -> Iterator[None]:
    with _Count.lock:
        if _Count.inside == 0:
            _in_command()
            _Count.limiter = _controller().limit(limits=1, user_api="blas")
        _Count.inside += 1
    try:
        yield
    finally:
        with _Count.lock:
            _Count.inside -= 1
            if _Count.inside == 0:
                _in_command()
                _Count.limiter.restore_original_limits()
                _in_command()


def _in_command() -> None:
    """Let this thread set the limit; threadpoolctl obeys only the first thread that limited OpenBLAS."""
    for library in _controller().lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="npkl_models")
