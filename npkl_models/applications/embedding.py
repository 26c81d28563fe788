"""Coordinates from a learnt kernel, and the share of the eigenvalues."""

from __future__ import annotations

from numpy.typing import ArrayLike

from npkl_models.answer.coordinates import coordinates as coordinates
from npkl_models.answer.coordinates import principal
from npkl_models.answer.solution import Solution
from npkl_models.linalg import Array
from npkl_models.linalg.owned import whole_number


def scree(given: Solution | ArrayLike) -> Array:
    """Eigenvalues of the centred kernel, the largest first: n times the variance along each coordinate.

    ``given`` is as in `coordinates`: a kernel has all n of them, a factor (n x r) min(n, r).
    """
    return principal(given)[1]


def held(given: Solution | ArrayLike, size: int = 2) -> float:
    """The share of the first eigenvalues in the trace of the centred kernel; 1 for the zero kernel."""
    size, values = whole_number(size, "size", 1), scree(given)
    total = float(values.sum())
    return float(values[:size].sum()) / total if total > 0 else 1.0
