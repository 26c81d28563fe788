"""The data of a problem of CVXPY: a conic program, and where its rows lie in one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """Minimise c'x + offset with b - A x in zero x nonnegative x second-order x semidefinite cones.

    A semidefinite cone holds the lower triangle, column by column, with off-diagonal entries times the root
    of two.
    """

    A: sp.csc_array  # (rows, variables)
    b: Array
    c: Array
    zero: int  # number of equations
    nonneg: int  # number of inequalities
    soc: list[int]  # dimensions of the second-order cones
    psd: list[int]  # orders of the semidefinite cones
    fixed: int = 0  # number of the last equations that are bounds on variables
    bounds: int = 0  # number of the last inequalities that are

    @property
    def rows(self) -> int:
        """The number of rows that CVXPY knows: all but the bounds on variables."""
        return self.b.size - self.fixed - self.bounds

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> ConicProgram:
        """The program of CVXPY's problem data."""
        dims = data["dims"]
        c, b = np.asarray(data["c"], dtype=float).ravel(), np.zeros(0)
        A = sp.csr_array((0, c.size))
        if data.get("A") is not None:
            A, b = sp.csr_array(data["A"]), np.asarray(data["b"], dtype=float).ravel()
        soc, psd = ([int(k) for k in sizes] for sizes in (dims.soc, dims.psd))
        low, high = (_ends(data.get(key), c.size) for key in ("lower_bounds", "upper_bounds"))
        zero, at, every = int(dims.zero), int(dims.zero + dims.nonneg), sp.eye_array(c.size, format="csr")
        same = low == high
        below, above = np.isfinite(low) & ~same, np.isfinite(high) & ~same
        A = sp.vstack([A[:zero], every[same], A[zero:at], -every[below], every[above], A[at:]], format="csc")
        b = np.concatenate([b[:zero], low[same], b[zero:at], -low[below], high[above], b[at:]])
        fixed, bounds = int(same.sum()), int(below.sum() + above.sum())
        return cls(A, b, c, zero + fixed, int(dims.nonneg) + bounds, soc, psd, fixed, bounds)

    def known(self, z: Array) -> Array:
        """Dual variables without those of the bounds on variables."""
        zero, at = self.zero, self.zero + self.nonneg
        return np.concatenate([z[: zero - self.fixed], z[zero : at - self.bounds], z[at:]])


def _ends(given: Any, size: int) -> Array:
    """Bounds on all variables; NaN where there are none."""
    return np.full(size, np.nan) if given is None else np.asarray(given, dtype=float).ravel()


@dataclass(frozen=True, eq=False)
class Entries:
    """Where each row s of the cones lies in S: s times ``weight`` at (i, j) and (j, i)."""

    row: Index
    i: Index
    j: Index
    weight: Array
    order: int

    @classmethod
    def of(cls, program: ConicProgram) -> Entries:
        """The places of all rows after the equations; i <= j."""
        every = np.arange(program.nonneg)
        out: list[tuple[Any, Any, Any, Any]] = [(every, every, every, np.ones(every.size))]
        at = place = program.nonneg
        for size in program.soc:
            span = np.arange(size)
            out.append((np.full(size, at), place + span, place + span, np.ones(size)))
            out.append((at + span[1:], np.full(size - 1, place), place + span[1:], np.ones(size - 1)))
            at, place = at + size, place + size
        for order in program.psd:
            j, i = np.triu_indices(order)  # the lower triangle column by column is the upper one row by row
            count = i.size
            weight = np.where(i == j, 1.0, np.sqrt(0.5))
            out.append((at + np.arange(count), place + j, place + i, weight))
            at, place = at + count, place + order
        parts = [np.concatenate([np.asarray(one[k]) for one in out]) for k in range(4)]
        row, i, j = (part.astype(np.intp) for part in parts[:3])
        return cls(row, i, j, parts[3].astype(float), place)

    def rows_of(self, X: Array, rows: int) -> Array:
        """The dual vector z of a matrix X: <S, X> = s'z for all s."""
        twice = np.where(self.i == self.j, 1.0, 2.0)
        return np.bincount(self.row, twice * self.weight * X[self.i, self.j], rows).astype(float)
