"""The forms in which every route is asked for the smallest eigenvalue, and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from npkl_models.errors import UnsupportedError, chosen
from npkl_models.linalg import Array

Rigour = Literal["proved", "probable", "estimated", "none"]
CERTIFIED = ("proved", "probable")  # the rigours that certify


@dataclass(frozen=True)
class EigenBound:
    """What is known of the smallest eigenvalue of a symmetric matrix.

    Attributes
    ----------
    lower : float
        lambda_min >= lower, in the sense of `rigour`.
    estimate : float
        The best approximation of lambda_min (never below lambda_min by more than rounding).
    rigour : {"proved", "probable", "estimated"}
        "proved": eigendecomposition or Cholesky, rounding margin included.
        "probable": randomised Lanczos, fails with at most `failure_probability`.
        "estimated": a Ritz value, which bounds lambda_min from the wrong side.
    vector : ndarray of shape (n,)
        A unit vector whose Rayleigh quotient is `estimate`.
    failure_probability : float
        0 for "proved", 1 for "estimated".
    coupling : float
        ||(I - QQ')SQ|| for a basis Q of range(V): how far V is from stationary.
    raised : ndarray of shape (n,), optional
        What was added to the diagonal: ``lower`` is then a bound for S + Diag(raised).
    directions : ndarray of shape (n, m), optional
        Low eigenvectors that each live on few points, where they stood in the way of a sharp bound.
    """

    lower: float
    estimate: float
    rigour: Rigour
    vector: Array
    failure_probability: float = 0.0
    coupling: float = 0.0
    raised: Array | None = None
    directions: Array | None = None

    def times(self, unit: float) -> EigenBound:
        """The same of the matrix times a power of two."""
        return replace(
            self, lower=self.lower * unit, estimate=self.estimate * unit, coupling=self.coupling * unit,
            raised=None if self.raised is None else self.raised * unit,
        )  # fmt: skip


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
