"""The form in which every route answers for the smallest eigenvalue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

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
