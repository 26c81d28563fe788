"""The positive part of a symmetric matrix: all of its eigenvalues above zero, and their vectors."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from npkl_models.linalg import Array, Matrix, dense

logger = logging.getLogger("npkl_models")
FULL = 3_000  # largest order for a full eigendecomposition
MARGIN = 10  # eigenpairs asked for beyond those found positive last time
SHARE = 0.5  # of the order: beyond, Lanczos is no cheaper than everything


@dataclass(frozen=True)
class PositivePart:
    """sum values vectors vectors' is the positive part of A, but for eigenvalues up to ``tail``.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Descending, all positive.
    vectors : ndarray of shape (n, k)
    tail : float
        No other eigenvalue is larger; 0 if the positive part is complete.
    complete : bool
    """

    values: Array
    vectors: Array
    tail: float
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
    them is not positive, or ``most`` or the ``deadline`` (of `time.perf_counter`) is reached. With
    ``lanczos`` it is used below order 3,000 too, for fewer pairs than the order.
    """
    n = A.shape[0]
    whole = n if most is None else most
    if (n <= FULL and not lanczos) or (lanczos and whole >= n):
        values, vectors = scipy.linalg.eigh(dense(A), driver="evd", check_finite=False)
        kept = np.flatnonzero(values > 0)[::-1]
        return PositivePart(values[kept], vectors[:, kept], 0.0, True)
    operator = LinearOperator((n, n), matvec=lambda v: A @ v, dtype=float)
    limit = whole if lanczos else min(whole, int(SHARE * n))
    count = min(max(guess, 1) + MARGIN, limit)
    begin = np.random.default_rng(0).standard_normal(n) if start is None else start
    while True:
        values, vectors = _upper_end(operator, count, begin)
        complete = bool(values.size and values[-1] <= 0)
        logger.info("%d pairs of the upper end, the last one %.2e", values.size, values[-1])
        if complete or count >= limit or time.perf_counter() > deadline:
            break
        count = min(2 * count, limit)
    positive = values > 0
    tail = 0.0 if complete or not values.size else float(values[-1])
    return PositivePart(values[positive], vectors[:, positive], tail, complete)


def _upper_end(operator: Any, count: int, begin: Array) -> tuple[Array, Array]:
    """The largest eigenvalues that Lanczos finds, descending, and their vectors."""
    try:
        values, vectors = eigsh(operator, k=count, which="LA", v0=begin)
    except ArpackNoConvergence as partial:
        values, vectors = partial.eigenvalues, partial.eigenvectors
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]
