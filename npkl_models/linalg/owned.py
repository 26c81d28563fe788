"""Read arguments as real numbers or seeds, and own read-only copies of arrays.

Facts about a problem are cached with the problem. If somebody changed an array of the problem, the facts
would be wrong. So a problem, its parts and its answers own copies that cannot be written to, also after they
are pickled, copied or loaded.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.entries import KINDS, MOST, floats, read_sparse


class Owner:
    """A value whose arrays stay read-only when it is pickled, copied or loaded."""

    def __getstate__(self) -> dict[str, Any]:
        """The annotated attributes of a dataclass and its subclasses; cached facts are computed again."""
        names = list(self.__dict__)
        if is_dataclass(self):
            names = [name for cls in type(self).__mro__ for name in vars(cls).get("__annotations__", ())]
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update({name: frozen(value) for name, value in state.items()})


def set_fields(instance: Any, *values: Any) -> None:
    """Set the fields of a frozen dataclass in their order, while the instance is made."""
    for own, value in zip(fields(instance), values, strict=True):
        object.__setattr__(instance, own.name, value)


class Shelled:
    """A matrix field of a frozen dataclass; every access returns a new shell of the matrix.

    A sparse matrix accepts new entries even if its arrays are read-only. Such entries change the shell alone.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, cls: type) -> Any:
        return self if owner is None else shell(owner.__dict__[self.name])

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self.name] = value  # set once; a frozen dataclass refuses a second assignment


def shelled(cls: type, name: str) -> None:
    """Make a field of a frozen dataclass a `Shelled` field."""
    setattr(cls, name, Shelled(name))


def frozen(value: Any) -> Any:
    """The value itself, after its arrays (also in tuples and sparse matrices) were made read-only."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple) and type(value) is tuple:
        for part in value:
            frozen(part)
    elif sp.issparse(value):
        for name in ("data", "indices", "indptr"):
            part = getattr(value, name, None)
            if isinstance(part, np.ndarray):
                part.setflags(write=False)
    return value


def owned(array: Array) -> Array:
    """A read-only array of the same numbers: the array itself if it owns them and is read-only, or a copy."""
    if not array.flags.writeable and array.base is None:
        return array
    return frozen(array.copy())


def owned_sparse(A: Matrix) -> Matrix:
    """The same matrix as a CSR array with sorted indices, no repeated entries and read-only numbers."""
    out = sp.csr_array(A, dtype=float, copy=True)
    out.sum_duplicates()
    for name in ("data", "indices", "indptr"):  # a view could be changed through its base
        part = getattr(out, name)
        if part.base is not None:
            setattr(out, name, part.copy())
    return frozen(out)


def shell(A: Matrix) -> Matrix:
    """A matrix with the same read-only numbers; new entries of the shell do not change the owner's matrix."""
    if not sp.issparse(A):
        return A
    out: Matrix = object.__new__(type(A))  # like copy.copy, but ten times as quick
    out.__dict__.update(A.__dict__)
    return out


def real_array(values: Any, what: str) -> Array:
    """The values as a new array of floats.

    A ProblemError is raised for text, complex numbers, masked values, rows of different lengths, and anything
    else that is not an array of real numbers.
    """
    return floats(_real(values, what), what)


def unrounded(values: Any, what: str) -> Any:
    """The values themselves, which others read as floats; integers that these would round are an error."""
    try:
        given = np.asarray(values)
    except (ValueError, TypeError):  # no array, which is left to their error
        return values
    if given.dtype.kind in "iu":
        floats(given, what)
    return values


def real_matrix(values: Any, what: str) -> Matrix:
    """The values as a new matrix of floats; a sparse matrix becomes a CSR array (`read_sparse`)."""
    return read_sparse(values, what) if sp.issparse(values) else real_array(values, what)


def finite(A: Matrix, what: str) -> Matrix:
    """The array or sparse matrix itself; NaN or infinity raises a ProblemError that says where they are."""
    entries = A.data if sp.issparse(A) else A
    if np.isfinite(entries).all():
        return A
    bad = ~np.isfinite(entries)
    kind = "NaN" if np.isnan(entries).any() else "infinity"
    where = np.argwhere(bad)[:3] if entries is A else np.transpose(A.tocoo().coords)[np.flatnonzero(bad)[:3]]
    at = (
        [tuple(place) if A.ndim > 1 else place[0] for place in where.tolist()] if A.ndim else "its only place"
    )
    raise ProblemError(f"{what} must be finite, got {kind} at {at}")


def whole_array(values: Any, what: str) -> Index:
    """The values as a new array of integers."""
    given = _real(values, what)
    if given.dtype.kind not in "iu" and given.size:
        raise ProblemError(f"{what} must hold integers, got {given.dtype}")
    if given.dtype.kind == "u" and int(given.max(initial=0)) > np.iinfo(np.intp).max:
        raise ProblemError(f"{what} must hold integers of {np.intp(0).nbytes * 8} bits, got {given.max()}")
    return given.astype(np.intp)


def real_number(value: Any, what: str) -> float:
    """The value as a float, or a ProblemError that says what it must be."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ProblemError(f"{what} must be a real number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        raise ProblemError(f"{what} must be finite, got an integer beyond all floats") from None
    if isinstance(value, numbers.Integral) and int(number) != int(value):
        raise ProblemError(f"{what} must be a number that a float of 64 bits can hold, got {value}")
    return number


def positive_number(value: Any, what: str) -> float:
    """The value as a positive and finite float, or a ProblemError that says what it must be."""
    number = real_number(value, what)
    if not (np.isfinite(number) and number > 0):
        raise ProblemError(f"{what} must be positive and finite, got {value}")
    return number


def whole_number(value: Any, what: str, least: int) -> int:
    """The value as an int from ``least`` to the largest number of points, or a ProblemError."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not whole or not least <= value <= MOST:
        raise ProblemError(f"{what} must be an integer >= {least}, got {_described(value)}")
    return int(value)


def _real(values: Any, what: str) -> Any:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ProblemError(f"{what} must have no masked values; fill them, or leave them out")
    try:
        values = read_sparse(values, what).toarray() if sp.issparse(values) else values
        given = np.asarray(values)
    except ProblemError:
        raise
    except MemoryError:
        raise ProblemError(f"{what} must fit into memory as an array, got shape {values.shape}") from None
    except (ValueError, TypeError, OverflowError):
        given = np.asarray(None)
    if given.dtype.kind == "O":  # for example a column of a table, or integers beyond 64 bits
        if given.ndim == 0 or not all(isinstance(x, numbers.Real) for x in given.ravel()):
            raise ProblemError(f"{what} must hold real numbers, got {_described(values)}")
        try:
            given = floats(given, what)
        except (OverflowError, TypeError):
            raise ProblemError(f"{what} must hold finite real numbers, got {_described(values)}") from None
    if given.dtype.kind not in KINDS:
        raise ProblemError(f"{what} must hold real numbers, got {_described(values)}")
    return given


def _described(values: Any) -> str:
    if isinstance(values, np.ndarray):
        return f"an array of {values.dtype}"
    text = repr(values)
    return text if len(text) <= 60 else f"{text[:60]}..."


Seed = int | np.random.Generator | None


def generator(random_state: Seed) -> np.random.Generator:
    """A generator for a seed >= 0, a given generator itself, a fresh one for None; else a ProblemError."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is None or isinstance(random_state, np.random.Generator) or (whole and random_state >= 0):
        return np.random.default_rng(random_state)
    raise ProblemError(f"random_state must be an integer >= 0, a Generator or None, got {random_state!r}")
