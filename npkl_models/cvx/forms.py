"""Programs of CVXPY in the two forms that our method takes, and the way back to x and z.

`Form`: with x = x0 + N w from the equations and y = -w, the slacks are S(y) = b - A x in the cones, f*(y) is
the objective of w, and X holds the dual variables z: the stationarity A(X) = f*'(y) is A'z = -c - Px.

`StandardForm`: if every number of x is one row of a cone, x holds the kernels X themselves, the other rows
are constraints with slacks, and their multipliers y are z. An order n then has a Schur complement of the
number of constraints, not of n^2 / 2 variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx.program import ConicProgram, smat, svec
from npkl_models.cvx.translation import multipliers_of, without_equations
from npkl_models.interior.blocks import Block
from npkl_models.interior.part import Vector
from npkl_models.interior.program import Program
from npkl_models.interior.second_order import SecondOrder
from npkl_models.linalg import Array, Index, Mask, Matrix
from npkl_models.model.box import Box


@dataclass(frozen=True, eq=False)
class Form:
    """A program over its dual variables."""

    whole: ConicProgram
    own: Program
    parts: tuple[Vector, ...]  # those of `own`
    costs: Array  # the sizes of the summands of N'c
    x0: Array
    N: Matrix

    def x_of(self, X: list[Array], y: Array, along: bool = False) -> Array:
        """The variables, or their change ``along`` a direction."""
        return (0.0 if along else self.x0) - np.asarray(self.N @ y)

    def z_of(self, X: list[Array], y: Array, x: Array | None) -> Array:
        """z with A'z = -c - Px, or 0 without x; the others say those of the equations."""
        program = self.whole
        z = np.concatenate([np.zeros(program.zero), *(rows_of(one) for one in X)])
        if program.zero:
            left = -program.A.T @ z
            left = left if x is None else left - program.slope(x)
            z[: program.zero] = multipliers_of(program.A[: program.zero], left)
        return z

    def sizes(self, X: list[Array]) -> Array:
        """The sums of the absolute values of the summands of A(X) (m,)."""
        return np.asarray(sum(p.sizes_of(one) for p, one in zip(self.parts, X, strict=True)))


@dataclass(frozen=True, eq=False)
class StandardForm(Form):
    """A program over its variables: rows ``covers`` are s = a x, one for each number of x."""

    covers: Index
    of: Index  # the number of x of each
    unit: Array  # a
    others: Index  # the other rows
    count: int  # parts that hold x

    def x_of(self, X: list[Array], y: Array, along: bool = False) -> Array:
        x = np.zeros(self.of.size)
        x[self.of] = np.concatenate([rows_of(one) for one in X[: self.count]]) / self.unit
        return x

    def z_of(self, X: list[Array], y: Array, x: Array | None) -> Array:
        z = np.zeros(self.whole.b.size)
        z[self.others] = y
        left = self.whole.A.T @ z
        left = left if x is None else left + self.whole.c
        z[self.covers] = left[self.of] / self.unit
        return z


def form_of(program: ConicProgram) -> Form | Array:
    """The form over dual variables; z with A'z = 0 and b'z < 0 if the equations contradict each other."""
    left = without_equations(program)
    if isinstance(left, np.ndarray):
        return left
    x0, N, A, b = left
    slope = program.slope(x0)
    P = None if program.P is None else sp.csr_array(N.T @ program.P @ N)
    parts = _parts(program.nonneg, program.soc, program.psd, sp.csc_array(A.T), b)
    return Form(program, Program(parts, _free(-(N.T @ slope)), P), parts, abs(N).T @ np.abs(slope), x0, N)


def standard_form(program: ConicProgram) -> StandardForm | None:
    """The standard form; None if a number of x has no row of its own, or if it would not be smaller."""
    covered = _covered(program)
    rows, others = np.flatnonzero(covered), np.flatnonzero(~covered)
    n = program.c.size
    if program.P is not None or rows.size < n or others.size >= n - program.zero:
        return None
    of, unit = program.A.indices[program.A.indptr[rows]], -program.A.data[program.A.indptr[rows]]
    kinds = {kind: [cone for cone in program.cones if cone.kind == kind] for kind in ("soc", "psd")}
    sizes = [
        [cone.order for cone in kinds[kind] if covered[cone.rows.start] == own]
        for own in (True, False)
        for kind in ("soc", "psd")
    ]
    numbers = covered[program.zero : program.at]
    A = sp.csc_array(program.A[others][:, of] / unit)
    inner = _parts(int(numbers.sum()), sizes[0], sizes[1], A, program.c[of] / unit)
    slack = sp.csc_array(sp.eye_array(others.size, format="csc")[:, program.zero :])
    outer = _parts(int((~numbers).sum()), sizes[2], sizes[3], slack, np.zeros(slack.shape[1]))
    b = program.b[others]
    parts = (*inner, *outer)
    return StandardForm(
        program, Program(parts, _free(b)), parts, np.abs(b), np.zeros(0), None, rows, of, unit, others,
        len(inner),
    )  # fmt: skip


def _covered(program: ConicProgram) -> Mask:
    """Rows of inequalities and cones that are s = a x with a > 0, each number of x once, cones as a whole."""
    A = program.A
    single = (np.diff(A.indptr) == 1) & (program.b == 0)
    own = A.indptr[:-1][single]
    single[single] = A.data[own] < 0
    at = np.full(program.b.size, -1)
    at[single] = A.indices[A.indptr[:-1][single]]
    covered, taken = np.zeros(program.b.size, dtype=bool), np.zeros(program.c.size, dtype=bool)
    for cone in reversed(program.cones):  # semidefinite ones first
        x = at[cone.rows]
        if (x >= 0).all() and np.unique(x).size == x.size and not taken[x].any():
            covered[cone.rows], taken[x] = True, True
    rows = np.arange(program.zero, program.at)
    rows = rows[at[rows] >= 0]
    rows = rows[~taken[at[rows]]]
    covered[rows[np.unique(at[rows], return_index=True)[1]]] = True
    return covered


def _free(b: Array) -> Box:
    """Multipliers without ends, with f*(y) = b'y."""
    none = np.zeros(b.size)
    return Box(b, none, none - np.inf, none + np.inf, none)


def rows_of(X: Array) -> Array:
    """The rows that a program has for a part."""
    return X if X.ndim == 1 else svec(X)


def _parts(numbers: int, soc: Sequence[int], psd: Sequence[int], A: Matrix, b: Array) -> tuple[Vector, ...]:
    """Numbers, second-order cones together, and blocks, from costs b and the columns of A (m x rows)."""
    parts: list[Vector] = []
    none, at = np.arange(b.size), numbers
    if at:
        parts.append(Vector(none[:at], b[:at], sp.csr_array(A[:, :at])))
    if soc:
        sizes = np.array(soc)
        own = slice(at, at + int(sizes.sum()))
        heads = np.cumsum(sizes) - sizes
        parts.append(SecondOrder(none[own], b[own], sp.csr_array(A[:, own]), heads))
        at = own.stop
    for n in psd:
        rows = slice(at, at + n * (n + 1) // 2)
        j, i = np.tril_indices(n)
        beside = i != j
        flat = np.concatenate([i * n + j, (j * n + i)[beside]])
        weight = np.where(beside, np.sqrt(0.5), 1.0)
        every = np.arange(i.size)
        spread = sp.csr_array(
            (np.concatenate([weight, weight[beside]]), (np.concatenate([every, every[beside]]), flat)),
            shape=(i.size, n * n),
        )
        parts.append(Block(np.arange(n), smat(b[rows], n), sp.csr_array(A[:, rows] @ spread)))
        at = rows.stop
    return tuple(parts)
