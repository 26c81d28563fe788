"""A compiled loop over index pairs: inner products of rows."""

from __future__ import annotations

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import compiled

ENDS = "Array(intp, 1, 'C', True), Array(intp, 1, 'C', True)"  # read-only, as the arrays of problems are
SIGNATURES = {"inner": f"void({ENDS}, f8[:, ::1], f8[:, ::1], f8[::1])"}


@compiled
def inner(row: Index, column: Index, V: Array, U: Array, out: Array) -> None:  # pragma: no cover
    """Set out (m,) to the inner products of the rows of V and U that the index pairs name."""
    r = V.shape[1]
    for e in range(row.shape[0]):
        i, j, total = row[e], column[e], 0.0
        for a in range(r):
            total += V[i, a] * U[j, a]
        out[e] = total
