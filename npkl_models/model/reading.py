"""What a problem is given: its parts, points and multipliers, or a ProblemError that says what is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import real_array
from npkl_models.model.terms import Equality, LossTerm, Multipliers

Kind = TypeVar("Kind", LossTerm, Equality)


def read_parts(given: Kind | Iterable[Kind], kind: type[Kind], what: str) -> tuple[Kind, ...]:
    """The parts as a tuple, or a ProblemError that names the one that is none."""
    parts = (given,) if isinstance(given, kind) else given
    if not isinstance(parts, Iterable):
        raise ProblemError(f"{what} must be a list of {kind.__name__}s, got {parts!r}")
    out = tuple(parts)
    for part in out:
        if not isinstance(part, kind):
            raise ProblemError(f"{what} must be {kind.__name__}s, got {part!r}")
    return out


def read_values(given: Any, shape: tuple[int, int | None], what: str) -> Array:
    """The numbers of a factor or kernel as they are, or a ProblemError."""
    array = given if type(given) is np.ndarray and given.dtype == np.float64 else real_array(given, what)
    if array.ndim != 2 or array.shape[0] != shape[0] or shape[1] not in (None, array.shape[1]):
        wanted = f"({shape[0]}, {'r' if shape[1] is None else shape[1]})"
        raise ProblemError(f"{what} must have shape {wanted}, got {array.shape}")
    return array


def read_multipliers(
    given: Any, terms: tuple[LossTerm, ...], equalities: tuple[Equality, ...]
) -> Multipliers:
    """Multipliers of floats: those given, or an array for each term (one array will do for a single term)."""
    if isinstance(given, Multipliers):
        rows = None if given.rows is None else _numbers(given.rows)
        return Multipliers(tuple(map(_numbers, given.terms)), tuple(map(_numbers, given.equalities)), rows)
    if len(terms) == 1 and isinstance(given, np.ndarray) and given.ndim == 1:
        given = (given,)
    if not isinstance(given, (tuple, list, np.ndarray)):
        raise ProblemError(f"multipliers must be Multipliers or an array for each loss term, got {given!r}")
    nu = tuple(np.zeros(part.functional.size) for part in equalities)
    return Multipliers(tuple(map(_numbers, given)), nu)


def _numbers(values: Any) -> Array:
    """Numbers as they are where they are floats; anything else is read, or refused."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and type(values) is np.ndarray:
        return values
    return real_array(values, "multipliers")
