"""The query for the smallest eigenvalue of a matrix, and the answer of every route."""

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
    """A lower bound on the smallest eigenvalue of a symmetric matrix S (n x n), and its rigour.

    "proved" comes from an eigendecomposition or Cholesky, with a margin for rounding. "probable" comes from
    randomised Lanczos. "estimated" comes from a Ritz value, which is never below the eigenvalue.
    """

    lower: float  # lambda_min >= lower, in the sense of `rigour`
    estimate: float  # the best approximation, never below lambda_min by more than rounding
    rigour: Rigour
    vector: Array  # (n,), a unit vector whose Rayleigh quotient is `estimate`
    failure_probability: float = 0.0  # at most; 0 for "proved", 1 for "estimated"
    coupling: float = 0.0  # ||(I - QQ')SQ|| for a basis Q of range(V): how far V is from stationary
    raised: Array | None = None  # (n,), if given, ``lower`` is a bound for S + Diag(raised)

    def times(self, unit: float) -> EigenBound:
        """The answer for the matrix times a power of two."""
        return replace(
            self, lower=self.lower * unit, estimate=self.estimate * unit, coupling=self.coupling * unit,
            raised=None if self.raised is None else self.raised * unit,
        )  # fmt: skip


METHODS = ("auto", "eigh", "cholesky", "lanczos", "ritz")


def check_probability(value: float) -> None:
    """Raise an UnsupportedError if a failure probability is not between 0 and 1."""
    if not 0 < value < 1:
        raise UnsupportedError(f"failure_probability must be between 0 and 1, got {value!r}")


@dataclass(frozen=True, eq=False)
class Query:
    """A query for the smallest eigenvalue of a symmetric matrix S (n x n): method, accuracy and limits.

    "auto" decomposes small matrices and runs Lanczos on others. If Lanczos does not reach the accuracy,
    Cholesky follows: dense up to order 10,000, sparse where the fill is small. Beyond order 10,000, "auto"
    may raise diagonal entries that have a ``price``, if low eigenvectors live on few points each.
    """

    method: str = "auto"  # one of METHODS
    accuracy: float = 0.0  # Lanczos stops at a bound above -accuracy; Cholesky's margin is at least this
    failure_probability: float = 1e-6  # of a Lanczos bound
    random_state: int | np.random.Generator | None = None  # of Lanczos's starts; None: the system seeds them
    quick: bool = False  # give up on a sharp bound as soon as an eigenvalue below ``-accuracy`` is found
    price: Array | None = None  # (n,), what it costs to raise each diagonal entry of S by one
    allowance: float = 0.0  # what all raises may cost together, including an equal raise at all points
    deadline: float = np.inf  # in `time.perf_counter`: Lanczos then ends with the bound that it has

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.deadline

    @property
    def bound_only(self) -> bool:
        """Whether a direction beyond the factor is of no use where no bound can suffice."""
        return self.quick and self.method != "ritz"

    def __post_init__(self) -> None:
        chosen("eigenvalue method", self.method, METHODS)
        if not self.accuracy >= 0:
            raise UnsupportedError(f"accuracy must not be negative, got {self.accuracy!r}")
        check_probability(self.failure_probability)

    def times(self, unit: float) -> Query:
        """The query for the matrix times a power of two."""
        price = None if self.price is None else self.price / unit
        return replace(self, accuracy=self.accuracy * unit, price=price)


PLAIN = Query()
