"""The one reader of numbers and of sparse matrices, which refuses what would be read as something else.

Compiled routines of SciPy trust the pattern of a sparse matrix: a column beyond the last one crashes the
process, or makes another matrix. So the whole pattern is checked here, before such a routine is called.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix

KINDS = "buif"  # kinds of dtypes that are real numbers
MOST = 3_000_000_000  # most points: the position n i + j of an entry must fit into an index
CSR, CSC, BSR, COO, DIA, LIL = (
    (getattr(sp, f"{form}_array"), getattr(sp, f"{form}_matrix"))
    for form in ("csr", "csc", "bsr", "coo", "dia", "lil")
)


def floats(given: Any, what: str) -> Array:
    """The numbers of an array as a new array of floats; integers stay exact, and finite numbers finite.

    Long doubles are rounded to the nearest float. A ProblemError is raised for integers between two floats,
    and for numbers other than zero that would become zero or infinite.
    """
    with np.errstate(over="ignore", under="ignore"):
        out = np.array(given, dtype=float, order="C")
    doubtful: Any
    if given.dtype.kind == "O":
        doubtful = np.ones(out.shape, dtype=bool)
    elif given.dtype.kind == "f":
        far = np.isinf(out) | (out == 0) if given.dtype.itemsize > out.itemsize else np.zeros(1, dtype=bool)
        doubtful = far & (given != out) if far.any() else far
    else:
        doubtful = np.abs(out) >= 2.0 ** (np.finfo(float).nmant + 1)
    if doubtful.any():
        for x, y in zip(given[doubtful].ravel(), out[doubtful].ravel().tolist(), strict=True):
            number = int(x) if isinstance(x, Integral) else x
            if number == number and number != y and (isinstance(x, Integral) or y == 0 or np.isinf(y)):
                raise ProblemError(f"{what} must be numbers that a float of 64 bits can hold, got {number!s}")
    return out


def read_sparse(given: Any, what: str) -> Matrix:
    """A sparse matrix as a new CSR array of floats with sorted indices, or a ProblemError.

    Repeated entries are added up, as SciPy does; zeros that are stored stay. Indices have 32 bits if they
    suffice: half the memory in every product.
    """
    if len(given.shape) != 2 or max(given.shape) > MOST:
        raise ProblemError(f"{what} must have two dimensions up to {MOST:,}, got shape {given.shape}")
    try:
        out = _read(given, what, (int(given.shape[0]), int(given.shape[1])))
        out.sum_duplicates()
        kind = sp.get_index_dtype(maxval=max(out.nnz, *out.shape))
        out.indices, out.indptr = out.indices.astype(kind, copy=False), out.indptr.astype(kind, copy=False)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        if isinstance(error, ProblemError):
            raise
        raise _broken(what, f"{type(given).__name__}: {error}") from None
    return out


def _read(given: Any, what: str, shape: tuple[int, int]) -> Matrix:
    if isinstance(given, (*CSR, *CSC, *BSR)):
        return _compressed(given, what, shape)
    if isinstance(given, COO):
        row, column = given.coords
        data = _numbers(given.data, what)
    elif isinstance(given, DIA):
        whole, offset = _numbers(given.data, what, 2), _indices(given.offsets, what, "offsets")
        place = np.broadcast_to(np.arange(whole.shape[1]), (offset.size, whole.shape[1]))
        first = place - offset[:, None]
        kept = (first >= 0) & (first < shape[0]) & (place < shape[1]) & (whole != 0)
        row, column, data = first[kept], place[kept], whole[kept]
    elif isinstance(given, LIL):
        row = np.repeat(np.arange(len(given.rows)), [len(own) for own in given.rows])
        column = np.array([j for own in given.rows for j in own] or np.zeros(0, dtype=np.intp))
        data = _numbers(np.array([x for own in given.data for x in own], dtype=given.dtype), what)
    else:
        keys = np.array(list(given.keys()) or np.zeros((0, 2), dtype=np.intp))
        row, column, data = *keys.T, _numbers(np.array(list(given.values()), dtype=given.dtype), what)
    row, column = _indices(row, what, "rows"), _indices(column, what, "columns")
    if not row.size == column.size == data.size:
        raise _broken(what, f"{row.size} rows and {column.size} columns of {data.size} numbers")
    _refuse_outside(row, shape[0], what, "rows")
    _refuse_outside(column, shape[1], what, "columns")
    return sp.coo_array((data, (row, column)), shape=shape).tocsr()


def _compressed(given: Any, what: str, shape: tuple[int, int]) -> Matrix:
    """The matrix of the formats with pointers to the entries of each row, column, or row of blocks."""
    across, blocks = isinstance(given, CSC), isinstance(given, BSR)
    data = _numbers(given.data, what, 3 if blocks else 1)
    lines, places = shape[::-1] if across else shape
    if blocks:
        (lines, over), (places, more) = divmod(lines, data.shape[1]), divmod(places, data.shape[2])
        if over or more:
            raise _broken(what, f"blocks of shape {data.shape[1:]} in a matrix of shape {shape}")
    index, start = _indices(given.indices, what, "indices"), _indices(given.indptr, what, "indptr")
    steps = np.flatnonzero(start[1:] < start[:-1])  # differences might overflow
    if start.size != lines + 1:
        raise _broken(what, f"an indptr of {start.size} numbers instead of {lines + 1}")
    if start[0] != 0 or steps.size or start[-1] > min(index.size, len(data)):
        where = f"falls at position {steps[0]}" if steps.size else f"runs from {start[0]} to {start[-1]}"
        raise _broken(what, f"an indptr that {where}, for {index.size} indices and {len(data)} numbers")
    count = int(start[-1])
    names = ("columns", "rows")[across]
    _refuse_outside(index[:count], places, what, f"{names} of blocks" if blocks else names)
    if blocks:
        made = sp.bsr_array((data[:count], index[:count], start), shape=shape)
    else:
        made = (sp.csc_array if across else sp.csr_array)((data[:count], index[:count], start), shape=shape)
    return made.tocsr()


def _numbers(given: Any, what: str, dimensions: int = 1) -> Array:
    data = np.asarray(given)
    if data.dtype.kind not in KINDS:
        raise ProblemError(f"{what} must hold real numbers, got a sparse matrix of {data.dtype}")
    if data.ndim != dimensions:
        raise _broken(what, f"numbers of shape {data.shape}")
    return floats(data, what)


def _indices(given: Any, what: str, name: str) -> Index:
    index = np.array(given)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise _broken(what, f"{name} of {index.dtype} and shape {index.shape}")
    if index.dtype.kind == "u" and int(index.max(initial=0)) > np.iinfo(np.intp).max:
        raise _broken(what, f"{name} up to {index.max()}")
    return index.astype(np.intp, copy=False)


def _refuse_outside(index: Index, size: int, what: str, name: str) -> None:
    bad = np.flatnonzero((index < 0) | (index >= size))
    if bad.size:
        raise _broken(what, f"{name} {index[bad[:3]].tolist()} outside 0..{size - 1} (counted from 0)")


def _broken(what: str, got: str) -> ProblemError:
    return ProblemError(f"{what} must be a well-formed sparse matrix, got {got}")
