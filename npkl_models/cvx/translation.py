"""Programs of CVXPY as problems here, and equations that leave a program.

CVXPY states any problem with linear, second-order and semidefinite cones as: minimise c'x with b - A x in a
product of cones. With y = -x this is the dual side of a problem here: S(y) = C + sum y_i M_i is positive
semidefinite, where C holds b and M_i the column i of A. The kernel is the dual variable of CVXPY, and the
optimum is minus the optimum of CVXPY. A number s >= 0 is a block of order one, and a vector (t, x) with
t >= ||x|| the arrow block with t on its diagonal and x beside its first entry.

Equations leave x = x0 + N w: the problem is stated for w, and the others say the multipliers of equations.
Numbers of one equation leave one by one, the others by a QR factorisation with pivots (Golub & Van Loan 2013,
section 5.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from npkl_models.cvx.program import ConicProgram
from npkl_models.errors import UnsupportedError
from npkl_models.feasibility.constraint_map import SMALLEST
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.constraint import Constraint
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

S = TypeVar("S", bound=Statement)
INDEPENDENT = 1e-11  # pivots below this share of the largest belong to dependent equations
PIVOT = 0.1  # a coefficient that defines a number is at least this share of the largest of its equation
MET = 1e-9  # equations that are missed by more, relative to their numbers, have no solution
CANCELLED = 1e-13  # sums that are smaller, relative to their summands, are rounding
STILL = 1e-6  # a ray must have A'z below this share of its summands
CLEARLY = 1e-7  # a ray must have b'z below minus this share of its summands


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
            j, i = np.tril_indices(order)  # the upper triangle column by column
            count = i.size
            weight = np.where(i == j, 1.0, np.sqrt(0.5))
            out.append((at + np.arange(count), place + i, place + j, weight))
            at, place = at + count, place + order
        parts = [np.concatenate([np.asarray(one[k]) for one in out]) for k in range(4)]
        row, i, j = (part.astype(np.intp) for part in parts[:3])
        return cls(row, i, j, parts[3].astype(float), place)

    def rows_of(self, X: Array, rows: int) -> Array:
        """The dual vector z of a matrix X: <S, X> = s'z for all s."""
        twice = np.where(self.i == self.j, 1.0, 2.0)
        return np.bincount(self.row, twice * self.weight * X[self.i, self.j], rows).astype(float)


@dataclass(frozen=True, eq=False)
class Translation(Generic[S]):
    """A conic program as a problem, whose optimum is c'x0 minus that of the program, and the way back."""

    program: ConicProgram
    problem: S
    entries: Entries
    x0: Array  # x = x0 + N w
    N: Matrix

    def x_of(self, y: Multipliers) -> Array:
        """The variables from multipliers."""
        return self.x0 + np.asarray(self.N @ -y.constraints[0][: self.N.shape[1]])

    def duals_of(self, K: Array) -> Array:
        """CVXPY's dual vector z with A'z = -c from a kernel; the others say those of the equations."""
        program = self.program
        z = np.zeros(program.b.size)
        z[program.zero :] = self.entries.rows_of(K, program.b.size - program.zero)
        if program.zero:
            left = -program.c - program.A[program.zero :].T @ z[program.zero :]
            z[: program.zero] = multipliers_of(program.A[: program.zero], left)
        return z


def translated(program: ConicProgram, cls: type[S]) -> Translation[S] | Array:
    """The problem of a program; z with A'z = 0 and b'z < 0 if its equations contradict each other."""
    left = without_equations(program)
    if isinstance(left, np.ndarray):
        return left
    x0, N, A, b = left
    e = Entries.of(program)
    if e.order == 0:
        raise UnsupportedError(
            "a problem must have a cone (an inequality or a semidefinite constraint), got none"
        )
    n = max(e.order, 2)
    spare = np.arange(e.order, n)
    C = sp.coo_array((b[e.row] * e.weight, (e.i, e.j)), shape=(n, n))
    C = C + sp.triu(C, 1).T + sp.coo_array((np.ones(spare.size), (spare, spare)), shape=(n, n))
    rows = sp.csr_array(A)[e.row].tocoo()
    owner, at = rows.coords[1], rows.coords[0]
    size = max(N.shape[1], 1)
    keys, where = np.unique(np.stack([owner, e.i[at], e.j[at]]), axis=1, return_inverse=True)
    value = np.bincount(where.ravel(), rows.data * e.weight[at], keys.shape[1])
    F = SparseMatrices(n, (*keys, value), size)
    costs = np.zeros(size)
    costs[: N.shape[1]] = -_without_rounding(N.T @ program.c, abs(N).T @ np.abs(program.c))
    problem = cls(sp.csr_array(C), (Constraint(F, equal=costs, name="x"),), name="cvxpy")
    return Translation(program, problem, e, x0, N)


def is_ray(program: ConicProgram, z: Array) -> bool:
    """Whether A'z = 0 and b'z < 0 up to rounding of the program's own numbers."""
    share = largest_share(np.abs(program.A.T @ z), abs(program.A).T @ np.abs(z))
    return share <= STILL and -float(program.b @ z) > CLEARLY * float(np.abs(program.b) @ np.abs(z))


def falls(program: ConicProgram, d: Array) -> bool:
    """Whether c'd < 0, Pd = 0 and -A d lies in the cones, up to rounding of the program's own numbers."""
    along, size = -(program.A @ d), abs(program.A) @ np.abs(d)
    missed = np.abs(along - program.projected(along))
    missed[: program.zero] = np.abs(along[: program.zero])
    P = sp.csr_array((d.size, d.size)) if program.P is None else program.P
    flat = float(np.max(np.abs(P @ d))) <= STILL * float(abs(P).max() * np.max(np.abs(d)))
    still = largest_share(missed, size) <= STILL and flat
    return still and -float(program.c @ d) > CLEARLY * float(np.abs(program.c) @ np.abs(d))


def largest_share(missed: Array, size: Array) -> float:
    """The largest quotient, 0 for 0 / 0; a size counts as a thousandth of the largest size at least."""
    size = np.maximum(size, SMALLEST * np.max(size, initial=0.0))
    share = np.divide(missed, size, out=np.where(missed > 0, np.inf, 0.0), where=size > 0)
    return float(np.max(share, initial=0.0))


def without_equations(program: ConicProgram) -> tuple[Array, Matrix, Matrix, Array] | Array:
    """x0, N and the other rows A, b over w with x = x0 + N w; z with A'z = 0 and b'z < 0 in contradiction."""
    eq = slice(0, program.zero)
    solved = equations(program.A[eq], program.b[eq], program.c.size)
    if isinstance(solved, np.ndarray):
        return np.concatenate([solved, np.zeros(program.b.size - program.zero)])
    x0, N = solved
    inner, right = program.A[program.zero :], program.b[program.zero :]
    A = _without_rounding(sp.csr_array(inner @ N), abs(inner) @ abs(N))
    b = _without_rounding(right - inner @ x0, np.abs(right) + abs(inner) @ np.abs(x0))
    return x0, N, A, b


def _without_rounding(found: Any, size: Any) -> Any:
    """Sums, with zero in place of those that are rounding of their summands; ``size`` has absolute values."""
    clear = abs(found) > CANCELLED * size
    return sp.csr_array(found.multiply(clear)) if sp.issparse(found) else np.where(clear, found, 0.0)


def equations(A: Matrix, b: Array, count: int) -> tuple[Array, Matrix] | Array:
    """x0 and N such that A x = b means x = x0 + N w; or z with A'z = 0 and b'z < 0.

    A number that occurs in one equation alone leaves with it, so that N stays sparse; QR solves the others.
    """
    if not b.size:
        return np.zeros(count), sp.eye_array(count, format="csr")
    A = sp.csr_array(A)
    by, of = _defined(A)
    if not by.size:
        return _by_qr(A, b, count)
    rest, left = np.setdiff1d(np.arange(count), of), np.setdiff1d(np.arange(b.size), by)
    inner = equations(A[left][:, rest], b[left], rest.size)
    if isinstance(inner, np.ndarray):
        z = np.zeros(b.size)
        z[left] = inner
        return z
    pivot = np.asarray(A[by].tocsc()[np.arange(by.size), of]).ravel()
    M = sp.diags_array(-1 / pivot) @ A[by][:, rest]
    x0, N = np.zeros(count), sp.lil_array((count, inner[1].shape[1]))
    x0[rest], N[rest] = inner[0], inner[1]
    x0[of], N[of] = b[by] / pivot + M @ inner[0], M @ inner[1]
    return x0, sp.csr_array(N)


def multipliers_of(A: Matrix, r: Array) -> Array:
    """z with A'z = r: numbers that occur in one equation alone say its z, least squares the others."""
    A = sp.csr_array(A)
    by, of = _defined(A)
    if not by.size:
        return np.asarray(np.linalg.lstsq(A.T.toarray(), r, rcond=None)[0]) if A.shape[0] else np.zeros(0)
    rest, left = np.setdiff1d(np.arange(r.size), of), np.setdiff1d(np.arange(A.shape[0]), by)
    z = np.zeros(A.shape[0])
    z[by] = r[of] / np.asarray(A[by].tocsc()[np.arange(by.size), of]).ravel()
    z[left] = multipliers_of(A[left][:, rest], (r - A.T @ z)[rest])
    return z


def _defined(A: Matrix) -> tuple[Index, Index]:
    """Equations, and for each a number that occurs in no other, with a coefficient that is not small."""
    entry = sp.coo_array(A)
    (row, column), size = entry.coords, np.abs(entry.data)
    largest = np.zeros(A.shape[0])
    np.maximum.at(largest, row, size)
    alone = (np.bincount(column, minlength=A.shape[1])[column] == 1) & (size >= PIVOT * largest[row])
    row, column, size = row[alone], column[alone], size[alone]
    order = np.lexsort((column, -size, row))
    by, first = np.unique(row[order], return_index=True)
    return by, column[order][first]


def _by_qr(A: Matrix, b: Array, count: int) -> tuple[Array, Matrix] | Array:
    """The same for any equations."""
    largest = np.max(np.abs(A.toarray()), axis=1, initial=0.0)
    unit = np.ldexp(1.0, -np.frexp(np.where(largest > 0, largest, 1.0))[1])  # rows may have any size
    dense, right = A.toarray() * unit[:, None], b * unit
    Q, R, order = scipy.linalg.qr(dense.T, pivoting=True)
    pivots = np.abs(np.diagonal(R))
    rank = int(np.sum(pivots > INDEPENDENT * max(float(pivots.max(initial=0.0)), 1e-300)))
    u = (
        scipy.linalg.solve_triangular(R[:rank, :rank].T, right[order[:rank]], lower=True)
        if rank
        else np.zeros(0)
    )
    x0 = Q[:, :rank] @ u
    if largest_share(np.abs(right - dense @ x0), np.abs(right) + np.abs(dense) @ np.abs(x0)) > MET:
        return (dense @ np.linalg.lstsq(dense, right, rcond=None)[0] - right) * unit
    N = Q[:, rank:]
    return x0, sp.csr_array(np.where(np.abs(N) < CANCELLED, 0.0, N))
