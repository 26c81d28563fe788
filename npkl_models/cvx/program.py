"""A program of CVXPY as its solvers get it: a quadratic objective, sparse rows, and a product of cones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import cvxpy.settings as s
import numpy as np
import scipy.sparse as sp
from cvxpy.utilities.psd_utils import TriangleKind

from npkl_models.linalg import Array, Index

ROOT = np.sqrt(2.0)
TURNS = 3  # of the search for units


class Cone(NamedTuple):
    """The rows of one cone, its kind and its order."""

    kind: str  # "soc" or "psd"
    rows: slice
    order: int


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """Minimise x'Px/2 + c'x + offset with b - A x in zero x nonnegative x second-order x semidefinite cones.

    A semidefinite cone holds the upper triangle, column by column, with off-diagonal entries times the root
    of two. The rows are those that CVXPY hands to a solver, in floating point: they are the program as
    written. Bounds on variables are inequalities. (CVXPY would hand them over apart to a solver that takes
    them, but adds bounds of its own then, and those of CVXPY 1.9 are wrong for the hinge.)
    """

    A: sp.csr_array  # (rows, variables)
    b: Array
    c: Array
    zero: int  # number of equations
    nonneg: int  # number of inequalities
    soc: list[int]  # dimensions of the second-order cones
    psd: list[int]  # orders of the semidefinite cones
    P: sp.csr_array | None = None  # None for a linear objective
    offset: float = 0.0

    @classmethod
    def of_data(
        cls, data: dict[str, Any], offset: float = 0.0, kind: Any = TriangleKind.UPPER, scaled: bool = True
    ) -> ConicProgram:
        """The program of CVXPY's problem data for a solver that takes triangles of this kind."""
        dims = data["dims"]
        c, b = np.asarray(data[s.C], dtype=float).ravel(), np.zeros(0)
        A = sp.csr_array((0, c.size))
        if data.get(s.A) is not None:
            A, b = sp.csr_array(data[s.A]), np.asarray(data[s.B], dtype=float).ravel()
        soc, psd = ([int(k) for k in sizes] for sizes in (dims.soc, dims.psd))
        place, unit = triangles(b.size - sum(k * (k + 1) // 2 for k in psd), psd, kind, scaled)
        A, b = sp.csr_array(A[place] * unit[:, None]), b[place] * unit
        P = data.get(s.P)
        P = None if P is None or not sp.csr_array(P).count_nonzero() else sp.csr_array(P)
        A.sum_duplicates()
        A.eliminate_zeros()
        return cls(A, b, c, int(dims.zero), int(dims.nonneg), soc, psd, P, offset)

    def balanced(self) -> tuple[ConicProgram, Array, Array, float]:
        """The program in other units: rows D, numbers E and costs t, powers of two: nothing is rounded.

        A is D A E, b is D b and c is t E c: then x = E x' and z = D z' / t. The largest numbers of rows and
        columns of D A E are about one (Ruiz 2001); the rows of a cone have one unit.
        """
        d, e = np.ones(self.b.size), np.ones(self.c.size)
        row = np.repeat(np.arange(d.size), np.diff(self.A.indptr))
        column, size = self.A.indices, np.abs(self.A.data)
        for _ in range(TURNS):
            rows = _largest(row, size * d[row] * e[column], d.size)
            for cone in self.cones:
                rows[cone.rows] = np.max(rows[cone.rows])
            d *= _root_of(rows)
            e *= _root_of(_largest(column, size * d[row] * e[column], e.size))
        costs = np.abs(self.c * e)
        curved = None if self.P is None else sp.csr_array(sp.diags_array(e) @ self.P @ sp.diags_array(e))
        most = max(float(np.max(costs, initial=0.0)), 0.0 if curved is None else float(abs(curved).max()))
        t = float(np.ldexp(1.0, -int(np.frexp(most)[1]))) if most else 1.0
        A = sp.csr_array((self.A.data * d[row] * e[column], column, self.A.indptr), shape=self.A.shape)
        P = None if curved is None else sp.csr_array(t * curved)
        return replace(self, A=A, b=d * self.b, c=t * e * self.c, P=P, offset=t * self.offset), d, e, t

    @property
    def at(self) -> int:
        """The first row after equations and inequalities."""
        return self.zero + self.nonneg

    @cached_property
    def cones(self) -> tuple[Cone, ...]:
        """The second-order and semidefinite cones."""
        out, at = [], self.at
        for kind, orders in (("soc", self.soc), ("psd", self.psd)):
            for order in orders:
                size = order if kind == "soc" else order * (order + 1) // 2
                out.append(Cone(kind, slice(at, at + size), order))
                at += size
        return tuple(out)

    @cached_property
    def identity(self) -> Array:
        """The middle of the cones: ones, (1, 0), the unit matrix; 0 for equations."""
        e = np.zeros(self.b.size)
        e[self.zero : self.at] = 1.0
        for cone in self.cones:
            e[cone.rows] = np.arange(cone.order) == 0 if cone.kind == "soc" else svec(np.eye(cone.order))
        return e

    def least(self, s: Array) -> Array:
        """How far a vector lies inside each inequality and cone: s - least e is on its boundary."""
        out = [s[self.zero : self.at]]
        for cone in self.cones:
            own = s[cone.rows]
            inside = own[0] - np.linalg.norm(own[1:]) if cone.kind == "soc" else _lowest(own, cone.order)
            out.append(np.array([inside]))
        return np.concatenate(out)

    def projected(self, s: Array) -> Array:
        """The nearest vector of the cones (or of the dual cones: equations are free)."""
        s = s.copy()
        s[self.zero : self.at] = np.maximum(s[self.zero : self.at], 0.0)
        for cone in self.cones:
            own = s[cone.rows]
            if not np.isfinite(own).all():
                continue
            if cone.kind == "psd":
                values, vectors = np.linalg.eigh(smat(own, cone.order))
                s[cone.rows] = svec((vectors * np.maximum(values, 0.0)) @ vectors.T)
                continue
            t, length = own[0], float(np.linalg.norm(own[1:]))
            if length > t:
                share = max((t + length) / 2, 0.0)
                s[cone.rows] = np.append(share, own[1:] * (share / length if length else 0.0))
        return s

    def objective(self, x: Array) -> float:
        """The value of variables, rounded."""
        square = 0.0 if self.P is None else 0.5 * float(x @ (self.P @ x))
        return square + float(self.c @ x) + self.offset

    def slope(self, x: Array) -> Array:
        """c + Px."""
        return self.c if self.P is None else self.c + self.P @ x

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """The rows of each inequality and cone, in the order of `least`."""
        one = (slice(i, i + 1) for i in range(self.zero, self.at))
        return (*one, *(cone.rows for cone in self.cones))


def _largest(at: Index, size: Array, count: int) -> Array:
    """The largest of the sizes at each of so many places; 0 where none is."""
    out = np.zeros(count)
    np.maximum.at(out, at, size)
    return out


def _root_of(size: Array) -> Array:
    """Powers of two near one over the root of sizes; 1 for zeros."""
    return np.ldexp(1.0, -np.round(np.log2(np.where(size > 0, size, 1.0)) / 2).astype(int))


def triangles(first: int, orders: list[int], kind: Any, scaled: bool) -> tuple[Index, Array]:
    """Where each row of ours is among a solver's, and what it is multiplied by."""
    place, unit = [np.arange(first)], [np.ones(first)]
    at = first
    for n in orders:
        j, i = np.tril_indices(n)  # the upper triangle column by column
        own = j * (j + 1) // 2 + i
        if kind is TriangleKind.LOWER:  # the lower triangle column by column: (j, i) with j >= i
            own = i * n - i * (i - 1) // 2 + (j - i)
        place.append(at + own)
        unit.append(np.where((i == j) | scaled, 1.0, ROOT))
        at += own.size
    return np.concatenate(place), np.concatenate(unit)


def svec(X: Array) -> Array:
    """The upper triangle column by column, off-diagonal entries times the root of two."""
    j, i = np.tril_indices(len(X))
    return np.asarray(X[i, j] * np.where(i == j, 1.0, ROOT))


def smat(x: Array, order: int) -> Array:
    """The symmetric matrix of `svec`."""
    j, i = np.tril_indices(order)
    X = np.zeros((order, order))
    X[i, j] = X[j, i] = x / np.where(i == j, 1.0, ROOT)
    return X


def _lowest(x: Array, order: int) -> float:
    finite = bool(np.isfinite(x).all())
    return float(np.linalg.eigvalsh(smat(x, order))[0]) if order and finite else np.inf if finite else -np.inf
