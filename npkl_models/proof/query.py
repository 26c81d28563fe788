"""The form in which every route is asked for the smallest eigenvalue."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from npkl_models.errors import UnsupportedError, chosen
from npkl_models.linalg import Array

METHODS = ("auto", "eigh", "cholesky", "lanczos", "ritz")


@dataclass(frozen=True, eq=False)
class Query:
    """What is asked of the spectrum of a symmetric matrix, and what may be spent on the answer.

    Attributes
    ----------
    method : {"auto", "eigh", "cholesky", "lanczos", "ritz"}
        "auto" decomposes small matrices, else runs Lanczos, and falls back on Cholesky where a
        clustered spectrum defeats that: dense up to order 10,000, sparse where its fill is small.
    accuracy : float
        Lanczos stops once the bound is above ``-accuracy`` or its steps are spent;
        Cholesky shifts by at least this much.
    failure_probability : float
        Of the "lanczos" bound; see `lanczos`.
    random_state : int or numpy.random.Generator, optional
        Of the starts of Lanczos; None draws them from the operating system.
    quick : bool
        Give up on a sharp bound as soon as an eigenvalue below ``-accuracy`` is found.
    price : ndarray of shape (n,), optional
        What it costs to raise each diagonal entry of S by one. Beyond order 10,000 "auto" may do so where S
        has low eigenvectors that each live on few points; the result says by how much.
    allowance : float
        What all of that may cost, raises by the same amount at all points included.
    """

    method: str = "auto"
    accuracy: float = 0.0
    failure_probability: float = 1e-6
    random_state: int | np.random.Generator | None = None
    quick: bool = False
    price: Array | None = None
    allowance: float = 0.0

    def __post_init__(self) -> None:
        chosen("eigenvalue method", self.method, METHODS)
        if not self.accuracy >= 0:
            raise UnsupportedError(f"accuracy must not be negative, got {self.accuracy!r}")
        if not 0 < self.failure_probability < 1:
            raise UnsupportedError(
                f"failure_probability must be between 0 and 1, got {self.failure_probability!r}"
            )

    def times(self, unit: float) -> Query:
        """The same question about the matrix times a power of two."""
        price = None if self.price is None else self.price / unit
        return replace(self, accuracy=self.accuracy * unit, price=price)


PLAIN = Query()
