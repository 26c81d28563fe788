"""The forms in which every route is asked for the smallest eigenvalue, and answers."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from npkl_models.errors import UnsupportedError, chosen
from npkl_models.linalg import Array

Rigour = Literal["proved", "probable", "estimated", "none"]
CERTIFIED = ("proved", "probable")  # the rigours that certify


@dataclass(frozen=True)
class EigenBound:
    """What is known of the smallest eigenvalue of a symmetric matrix S (n x n).

    "proved" is an eigendecomposition or Cholesky, rounding margin included; "probable" is randomised Lanczos;
    "estimated" is a Ritz value, which bounds the eigenvalue from the wrong side.
    """

    lower: float  # lambda_min >= lower, in the sense of `rigour`
    estimate: float  # the best approximation, never below lambda_min by more than rounding
    rigour: Rigour
    vector: Array  # (n,), a unit vector whose Rayleigh quotient is `estimate`
    failure_probability: float = 0.0  # at most; 0 for "proved", 1 for "estimated"
    coupling: float = 0.0  # ||(I - QQ')SQ|| for a basis Q of range(V): how far V is from stationary
    raised: Array | None = None  # (n,), added to the diagonal: ``lower`` is then of S + Diag(raised)
    directions: Array | None = None  # (n, m), low eigenvectors on few points that stood in the way

    def times(self, unit: float) -> EigenBound:
        """The same of the matrix times a power of two."""
        return replace(
            self, lower=self.lower * unit, estimate=self.estimate * unit, coupling=self.coupling * unit,
            raised=None if self.raised is None else self.raised * unit,
        )  # fmt: skip


METHODS = ("auto", "eigh", "cholesky", "lanczos", "ritz")


def check_probability(value: float) -> None:
    """Refuse what is no probability of a failure."""
    if not 0 < value < 1:
        raise UnsupportedError(f"failure_probability must be between 0 and 1, got {value!r}")


@dataclass(frozen=True, eq=False)
class Query:
    """What is asked of the spectrum of a symmetric matrix S (n x n), and what may be spent on the answer.

    "auto" decomposes small matrices, else runs Lanczos, and falls back on Cholesky where a clustered spectrum
    defeats that: dense up to order 10,000, sparse where its fill is small. Beyond order 10,000 it may raise
    diagonal entries that have a ``price``, where low eigenvectors live on few points each.
    """

    method: str = "auto"  # one of METHODS
    accuracy: float = 0.0  # Lanczos stops at a bound above minus that; Cholesky shifts by no less
    failure_probability: float = 1e-6  # of the "lanczos" bound
    random_state: int | np.random.Generator | None = None  # of Lanczos's starts; None is fresh
    quick: bool = False  # give up on a sharp bound as soon as an eigenvalue below ``-accuracy`` is found
    price: Array | None = None  # (n,), what it costs to raise each diagonal entry of S by one
    allowance: float = 0.0  # what all of that may cost, raises by the same amount at all points included
    deadline: float = np.inf  # of `time.perf_counter`: Lanczos ends then with the bound that it has

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.deadline

    def __post_init__(self) -> None:
        chosen("eigenvalue method", self.method, METHODS)
        if not self.accuracy >= 0:
            raise UnsupportedError(f"accuracy must not be negative, got {self.accuracy!r}")
        check_probability(self.failure_probability)

    def times(self, unit: float) -> Query:
        """The same question about the matrix times a power of two."""
        price = None if self.price is None else self.price / unit
        return replace(self, accuracy=self.accuracy * unit, price=price)


PLAIN = Query()
