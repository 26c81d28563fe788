"""The positive part of a symmetric matrix: all of its eigenvalues above zero, and their vectors."""

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
FULL = 3_000  # largest order for a full eigendecomposition
MARGIN = 10  # eigenpairs asked for beyond those found positive last time
SHARE = 0.08  # of the order: beyond, a full decomposition is cheaper (measured on a4a: 10 s, as 480 pairs)
LARGEST = 10_000  # order up to which a full decomposition is made then, in some 3 n^2 numbers
LAST = 0.5  # share of the order that Lanczos looks for at most


@dataclass(frozen=True)
class PositivePart:
    """sum values vectors vectors' is the positive part of A, but for eigenvalues up to ``tail``."""

    values: Array  # (k,), descending, all positive
    vectors: Array  # (n, k)
    tail: float  # no other eigenvalue is larger; 0 if the positive part is complete
    complete: bool


def positive_part(
    A: Matrix,
    guess: int = 0,
    start: Array | None = None,
    most: int | None = None,
    deadline: float = np.inf,
    lanczos: bool = False,
) -> PositivePart:
    """All positive eigenvalues of A: by a full decomposition up to order 3,000, else by Lanczos.

    Lanczos asks for ``guess`` and a few more pairs of the upper end and doubles their number until one of
    them is not positive, or ``most`` or the ``deadline`` (of `time.perf_counter`) is reached; up to order
    10,000 a full decomposition takes over where many pairs are wanted. At the deadline what was found before
    is returned, or nothing, with a bound on the largest eigenvalue. ``lanczos`` asks for it below order 3,000
    too.
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
    if found.tail == 0.0:  # the zero matrix, from which ARPACK cannot begin
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
    logger.info("%d pairs of the upper end, the last one %.2e", values.size, values[-1:].sum())
    complete = bool(values.size and values[-1] <= 0)
    last = float(values[-1]) if values.size else norm_bound(A)
    kept = values > 0
    return PositivePart(values[kept], vectors[:, kept], 0.0 if complete else last, complete)


class _LateError(Exception):
    """The deadline has passed."""


def _until(deadline: float, A: Matrix) -> Callable[[Array], Array]:
    """Products with A, until then."""

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
