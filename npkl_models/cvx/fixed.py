"""Numbers that equations fix leave a program before it is solved, and come back after it.

An equation of one number fixes it. An inequality in which no other number is left holds or not. A kernel's
side of such rows has no interior, and an interior-point method needs one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx.program import ConicProgram
from npkl_models.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class Fixed:
    """The smaller program, and where its numbers are in the whole one."""

    whole: ConicProgram
    program: ConicProgram
    x: Array  # the numbers that are fixed; 0 for the others
    columns: Index  # those that are left
    rows: Index  # the rows that are left
    by: Index  # the equations that fix numbers
    of: Index  # the numbers that they fix

    def point(self, x: Array) -> Array:
        """x of the whole program."""
        out = self.x.copy()
        out[self.columns] = x
        return out

    def duals(self, z: Array, x: Array | None) -> Array:
        """z of the whole program with A'z = -c - Px for the numbers that are fixed, A'z = 0 without x.

        An equation that fixes a number is in no other column, so its multiplier is what is left there.
        """
        A, out = self.whole.A, np.zeros(self.whole.b.size)
        out[self.rows] = z
        left = -A.T @ out if x is None else -self.whole.slope(x) - A.T @ out
        own = (
            np.asarray(A[self.by].tocsc()[np.arange(self.by.size), self.of]).ravel()
            if self.by.size
            else left[:0]
        )
        out[self.by] = left[self.of] / own
        return out


def without_fixed(program: ConicProgram) -> Fixed:
    """The program without the numbers that equations of one number fix, and without idle rows."""
    equations = sp.csr_array(program.A[: program.zero])
    one = np.flatnonzero(np.diff(equations.indptr) == 1)
    at = equations.indices[equations.indptr[:-1][one]]
    of, chosen = np.unique(at, return_index=True)
    by, x = one[chosen], np.zeros(program.c.size)
    x[of] = program.b[by] / equations.data[equations.indptr[:-1][by]]
    columns = np.setdiff1d(np.arange(x.size), of)
    A, b = sp.csr_array(program.A[:, columns]), program.b - program.A @ x
    empty = np.diff(A.indptr) == 0
    settled = empty & (np.arange(b.size) < program.at)
    settled[: program.zero] &= np.abs(b[: program.zero]) <= np.finfo(float).eps * np.abs(
        program.b[: program.zero]
    )
    settled[program.zero : program.at] &= b[program.zero : program.at] >= 0
    rows = np.flatnonzero(~settled)
    c, P = program.c, program.P
    if P is not None:
        c, P = c + P @ x, sp.csr_array(P[columns][:, columns])
    smaller = replace(
        program, A=sp.csr_array(A[rows]), b=b[rows], c=c[columns], P=P,
        zero=int(np.sum(rows < program.zero)),
        nonneg=int(np.sum((rows >= program.zero) & (rows < program.at))),
        offset=program.objective(x),
    )  # fmt: skip
    return Fixed(program, smaller, x, columns, rows, by, of)
