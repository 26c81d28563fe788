"""Read the parts, points and multipliers of a problem; wrong input raises a ProblemError."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import SKEW, Array, Matrix
from npkl_models.linalg.owned import finite, real_array, real_matrix
from npkl_models.model.constraint import Constraint
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.terms import LossTerm

ROOT = 1e150  # largest coordinate of a point: neither its square nor that of its inverse is out of range
LARGEST = ROOT**2  # sums of larger entries of costs or kernels may not be finite


def read_terms(given: Any) -> tuple[LossTerm | Constraint, ...]:
    """The loss terms, and then the constraints, each of one kind; a ProblemError names a wrong term."""
    terms = (given,) if isinstance(given, (LossTerm, Constraint)) else given
    if not isinstance(terms, Iterable) or (isinstance(terms, np.ndarray) and not terms.ndim):
        raise ProblemError(f"terms must be a list of LossTerms and Constraints, got {terms!r}")
    terms = tuple(terms)
    for term in terms:
        if not isinstance(term, (LossTerm, Constraint)):
            raise ProblemError(f"terms must be LossTerms or Constraints, got {term!r}")
    losses = (term for term in terms if isinstance(term, LossTerm))
    return (*losses, *(one for term in terms if isinstance(term, Constraint) for one in term.by_kind()))


def read_values(given: Any, shape: tuple[int, int | None], what: str) -> Array:
    """The numbers of a factor or kernel as an array, perhaps with NaN of a solver, or a ProblemError."""
    array = _floats(given, what)
    if array.ndim != 2 or array.shape[0] != shape[0] or shape[1] not in (None, array.shape[1]):
        wanted = f"({shape[0]}, {'r' if shape[1] is None else shape[1]})"
        raise ProblemError(f"{what} must have shape {wanted}, got {array.shape}")
    return array


def read_multipliers(
    given: Any, terms: tuple[LossTerm, ...], constraints: tuple[Constraint, ...]
) -> Multipliers:
    """Multipliers of floats, from `Multipliers` or an array for each term (or one array for one term)."""
    if isinstance(given, Multipliers):
        return given.each(lambda part: _floats(part, "multipliers"))
    if len(terms) == 1 and isinstance(given, np.ndarray) and given.ndim == 1:
        given = (given,)
    if not isinstance(given, (tuple, list, np.ndarray)):
        raise ProblemError(f"multipliers must be Multipliers or an array for each loss term, got {given!r}")
    nu = tuple(np.zeros(part.functional.size) for part in constraints)
    return Multipliers(tuple(_floats(part, "multipliers") for part in given), nu)


def _floats(given: Any, what: str) -> Array:
    """An array of floats itself; anything else is converted, or raises a ProblemError."""
    return given if type(given) is np.ndarray and given.dtype == np.float64 else real_array(given, what)


def symmetric(given: Any, what: str, least: int = 1) -> Matrix:
    """The symmetric part (CSR) of a matrix of at least ``least`` rows; an error if it is not symmetric."""
    A = real_matrix(given, what)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] < least:
        raise ProblemError(f"{what} must be square, with at least {least} rows, got shape {A.shape}")
    C = finite(sp.csr_array(A), what)
    largest = float(np.max(np.abs(C.data), initial=0.0))
    if largest > LARGEST:
        raise ProblemError(f"{what} must have entries up to {LARGEST:g}, got {largest:.1e}")
    skew = sp.coo_array(abs(C - C.T))
    if skew.nnz and skew.data.max() > SKEW * max(largest, 1e-300):
        k = int(np.argmax(skew.data))
        place = f"({int(skew.row[k])}, {int(skew.col[k])})"
        raise ProblemError(f"{what} must be symmetric, got a difference of {skew.data[k]:.2e} at {place}")
    return sp.csr_array((C + C.T) * 0.5)
