"""What a point misses, and a gap, in numbers of the program's own, which no unit of a row changes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx.program import Cone, ConicProgram
from npkl_models.linalg import UNIT, Array, Index, Matrix
from npkl_models.model.scale import FAINT


def relative_gap(program: ConicProgram, x: Array, z: Array, value: float, lower: float) -> float:
    """The distance of value and bound relative to both, and to a faint part of what they are sums of.

    The faint part speaks where the optimum is next to zero. It is the smaller one of two sums, since a
    point alone, or dual variables alone, may be of any size.
    """
    if not np.isfinite(lower):
        return np.inf
    if value == lower:
        return 0.0
    P = sp.csr_array((x.size, x.size)) if program.P is None else program.P
    squares = 0.5 * float(np.abs(x) @ (abs(P) @ np.abs(x)))
    point = float(np.abs(program.c) @ units(program.A, compared(program, x), x)) + squares
    size = np.abs(program.c + P @ x) + abs(program.A.T) @ np.abs(z)
    duals = float(np.abs(program.b) @ units(program.A.T, size, z)) + squares
    unit = abs(value) + abs(lower) + FAINT * min(point, duals)
    return float(abs(value - lower) / unit) if unit > 0 else np.inf


def units(A: Matrix, size: Array, x: Array) -> Array:
    """What counts as a size of each number: its own, or what the least of its rows allows."""
    entry = sp.coo_array(A)
    (row, column), a = entry.coords, np.abs(entry.data)
    least = np.full(x.size, np.inf)
    np.minimum.at(least, column, size[row] / a)
    return np.maximum(np.abs(x), np.where(np.isfinite(least), least, 0.0))


def compared(program: ConicProgram, x: Array) -> Array:
    """What the numbers of each row are compared with: each other, or the head of their cone."""
    size = np.abs(program.b) + abs(program.A) @ np.abs(x)
    for cone in program.cones:
        heads, i, j = _heads(cone)
        root = np.sqrt(size[heads])
        size[cone.rows] = np.maximum(size[cone.rows], root[i] * root[j])
    return size


def _heads(cone: Cone) -> tuple[Index, Index, Index]:
    """The rows of the first number, or of the diagonal, of a cone; and which two of them each row has."""
    if cone.kind == "soc":
        none = np.zeros(cone.order, dtype=np.intp)
        return np.array([cone.rows.start]), none, none
    j, i = np.tril_indices(cone.order)
    return cone.rows.start + np.flatnonzero(i == j), i, j


def violation(program: ConicProgram, x: Array) -> float:
    """The most by which x misses a constraint, relative to the numbers of that constraint.

    A constraint whose constant is not zero is measured by it. Another one may have nothing but tiny numbers,
    as t >= |x| has where x is zero but for rounding. With zeros in their place it holds, so it is missed by
    no more than what zeros change in the rest.
    """
    if not np.isfinite(x).all():
        return np.inf
    s, own = program.b - program.A @ x, _constants(program, x)
    size = np.abs(program.b) + abs(program.A) @ np.abs(x)
    lack = np.zeros(s.size)
    lack[: program.zero] = np.abs(s[: program.zero])
    lack[program.zero : program.at] = np.maximum(-s[program.zero : program.at], 0.0)
    zeros = _changed_by_zeros(program, x, own, size)
    for inside, cone in zip(program.least(s)[program.nonneg :], program.cones, strict=True):
        rows, first = cone.rows, cone.rows.start
        lack[first] = max(-inside, 0.0)
        own[first], size[first], zeros[first] = (np.max(v[rows]) for v in (own, size, zeros))
    missed = np.flatnonzero(lack)
    own, size = own[missed], size[missed]
    unit = np.where(own > 0, own, size)
    share = np.divide(lack[missed], unit, out=np.full(unit.size, np.inf), where=unit > 0)
    share = np.where(own > 0, share, np.minimum(share, zeros[missed]))
    return float(np.max(share, initial=0.0))


def _constants(program: ConicProgram, x: Array) -> Array:
    """The sizes of the constants; zero for those that are rounding beside the numbers of their row."""
    size = np.abs(program.b) + abs(program.A) @ np.abs(x)
    return np.where(np.abs(program.b) > UNIT * size, np.abs(program.b), 0.0)


def _changed_by_zeros(program: ConicProgram, x: Array, own: Array, size: Array) -> Array:
    """For each row the most that zeros in place of its variables change in any row, relative to its numbers.

    A row without a constant does not count where zeros for all its variables change little elsewhere. The
    numbers of a cone are compared with the first one, or with the diagonal, unless that may be zero itself.
    """
    slope = program.c if program.P is None else program.c + program.P @ x
    entry = sp.coo_array(sp.vstack([program.A, slope[None, :]]))
    (row, column), part = entry.coords, np.abs(entry.data * x[entry.coords[1]])
    every, own = (np.append(v, end) for v, end in ((size, np.abs(slope) @ np.abs(x)), (own, 1.0)))
    share = np.divide(part, every[row], out=np.zeros(part.size), where=every[row] > 0)
    change, alone = np.zeros(x.size), own == 0
    np.maximum.at(change, column[~alone[row]], share[~alone[row]])

    def most() -> Array:
        found = np.zeros(every.size)
        np.maximum.at(found, row, change[column])
        return found

    cap, unit = most(), np.append(compared(program, x), every[-1])
    for cone in program.cones:
        heads, i, j = _heads(cone)
        may = np.where(alone[heads], cap[heads], np.inf)
        beside = np.setdiff1d(np.arange(i.size), heads - cone.rows.start)
        cap[cone.rows.start + beside] = np.minimum(may[i], may[j])[beside]
    share = np.divide(part, unit[row], out=np.zeros(part.size), where=unit[row] > 0)
    np.maximum.at(change, column[alone[row]], np.minimum(share, cap[row])[alone[row]])
    return most()[:-1]
