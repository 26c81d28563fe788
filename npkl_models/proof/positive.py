"""The positive part of a symmetric matrix: all eigenvalues above zero, and their vectors."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from npkl_models.linalg import Array, Matrix, dense, norm_bound

logger = logging.getLogger("npkl_models")
FULL = 3_000  # largest order for a full eigendecomposition, or for a few dense factorisations
MARGIN = 10  # eigenpairs beyond the guess that Lanczos computes
SHARE = 0.08  # share of the order: for more pairs a full decomposition is cheaper (measured on a4a)
LARGEST = 10_000  # largest order for such a full decomposition, which needs some 3 n^2 numbers
LAST = 0.5  # largest share of the order that Lanczos computes


@dataclass(frozen=True)
class PositivePart:
    """sum values vectors vectors' is the positive part of A, except for eigenvalues up to ``tail``."""

    values: Array  # (k,), descending, all positive
    vectors: Array  # (n, k)
    tail: float  # no other eigenvalue is larger; 0 if the positive part is complete
    complete: bool


def positive_part(
    A: Matrix, guess: int = 0, start: Array | None = None, most: int | None = None,
    deadline: float = np.inf, lanczos: bool = False,
) -> PositivePart:  # fmt: skip
    """All positive eigenvalues of A: by a full decomposition up to order 3,000, else by Lanczos.

    Lanczos computes ``guess`` and a few more pairs at the upper end. It doubles their number until one of
    them is not positive, or until ``most`` or the ``deadline`` (in `time.perf_counter`) is reached. Up to
    order 10,000, a full decomposition takes over if many pairs are wanted. At the deadline the result is that
    of the round before, or no pairs and a bound on the largest eigenvalue. With ``lanczos``, Lanczos runs
    below order 3,000 too.
    """
    n = A.shape[0]
    whole = n if most is None else most
    if whole >= n if lanczos else n <= FULL:
        return _everything(A)
    cheap, limit = int(SHARE * n), whole if lanczos else min(whole, int(LAST * n))
    full = n <= LARGEST and not lanczos and whole > cheap
    count = min(max(guess, 1) + MARGIN, limit)
    begin = np.random.default_rng(0).standard_normal(n) if start is None else start
    found = PositivePart(np.zeros(0), np.zeros((n, 0)), norm_bound(A), False)
    if found.tail == 0.0:  # ARPACK fails on the zero matrix
        return replace(found, complete=True)
    try:
        while not (full and count > cheap):
            found = _by_lanczos(A, count, begin, deadline)
            if found.complete or count >= limit:
                return found
            count = min(2 * count, limit)
    except _LateError:
        return found
    return _everything(A)


def _by_lanczos(A: Matrix, count: int, begin: Array, deadline: float) -> PositivePart:
    operator = LinearOperator(A.shape, matvec=_until(deadline, A), dtype=float)
    values, vectors = _upper_end(operator, count, begin)
    logger.info("%d eigenpairs at the upper end, the smallest is %.2e", values.size, values[-1:].sum())
    complete = bool(values.size and values[-1] <= 0)
    last = float(values[-1]) if values.size else norm_bound(A)
    kept = values > 0
    return PositivePart(values[kept], vectors[:, kept], 0.0 if complete else last, complete)


class _LateError(Exception):
    """The deadline has passed."""


def _until(deadline: float, A: Matrix) -> Callable[[Array], Array]:
    """Products with A, which raise a `_LateError` after the deadline."""

    def product(v: Array) -> Array:
        if time.perf_counter() > deadline:
            raise _LateError
        return np.asarray(A @ v)

    return product


def _everything(A: Matrix) -> PositivePart:
    values, vectors = scipy.linalg.eigh(dense(A), driver="evd", check_finite=False)
    kept = np.flatnonzero(values > 0)[::-1]
    return PositivePart(values[kept], vectors[:, kept], 0.0, True)


def _upper_end(operator: Any, count: int, begin: Array) -> tuple[Array, Array]:
    """The largest eigenvalues that Lanczos finds, descending, and their vectors."""
    try:
        values, vectors = eigsh(operator, k=count, which="LA", v0=begin)
    except ArpackNoConvergence as partial:
        values, vectors = partial.eigenvalues, partial.eigenvectors
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]
