"""The dual variables of a problem as an interior-point method sees them: those of `model.conjugates`.

A bound on the trace is one value more, of the identity matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Mask, Matrix, dense, symmetrize
from npkl_models.model.conjugates import Box, parts_of
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.presolve.contraction import of_unknown

CHUNK = 20_000_000  # numbers that are gathered at a time


@dataclass(frozen=True, eq=False)
class Values:
    """All multipliers that are free to move, what they belong to, and the matrices that they multiply."""

    problem: Statement
    C: Matrix  # of the order, with what is fixed added: linear losses, the penalty on a trace
    incidence: Incidence  # over the points that any value concerns, numbered from 0
    points: Index  # those
    box: Box
    moving: Mask  # which of all multipliers are not fixed
    fixed: Array  # the values of all, zero where they move
    constant: float  # f* of what is fixed
    Q: Array | None  # rows of the basis at the points; points that share a row are one point here
    trace: bool  # whether the last multiplier is that of tr K <= B, whose matrix is the identity
    edges: tuple[Index, Index] | None  # ends of the values, if all are squared distances

    @property
    def order(self) -> int:
        """Of K and S."""
        return self.problem.order

    @property
    def size(self) -> int:
        """Number of multipliers that move."""
        return int(self.box.b.size)

    def adjoint(self, y: Array) -> Matrix:
        """sum y_e M_e (order x order), sparse without a basis."""
        own = y[:-1] if self.trace else y
        if self.Q is not None:
            M = self.Q.T @ (self.incidence.adjoint(own) @ self.Q)
            return symmetrize(M) + y[-1] * np.eye(self.order) if self.trace else symmetrize(M)
        rows, columns = self.incidence.ends()
        half = self.incidence.halves(own)
        ends = (self.points[rows], self.points[columns])
        entries = (np.concatenate([half, half]), ends)
        found = sp.coo_array(entries, shape=(self.order, self.order)).tocsr()
        return found + y[-1] * sp.eye_array(self.order) if self.trace else found

    def slack(self, y: Array) -> Matrix:
        """S(y)."""
        return self.C + self.adjoint(y)

    def of(self, K: Array) -> Array:
        """z_e = <M_e, K> for a symmetric K (order x order)."""
        if self.Q is None:
            p, t = self.points, self.incidence
            z = t.collect(K[p[t.row], p[t.column]])
        else:
            z = self._rows(self.Q @ K, self.Q)
        return np.append(z, np.trace(K)) if self.trace else z

    def of_product(self, X: Array, Y: Array) -> Array:
        """<M_e, X Y> for the product of two matrices, which need not be symmetric."""
        left = X[self.points] if self.Q is None else self.Q @ X
        right = Y[:, self.points].T if self.Q is None else (Y @ self.Q.T).T
        z = 0.5 * (self._rows(left, right) + self._rows(right, left))
        return np.append(z, float(np.sum(X * Y.T))) if self.trace else z

    def _rows(self, X: Array, Y: Array) -> Array:
        t = self.incidence
        step = max(1, CHUNK // max(X.shape[1], 1))
        parts = [
            np.einsum("er,er->e", X[t.row[k : k + step]], Y[t.column[k : k + step]])
            for k in range(0, t.row.size, step)
        ]
        return t.collect(np.concatenate(parts) if parts else np.zeros(0))

    def losses(self, z: Array) -> float:
        """Of the values that have a moving multiplier."""
        every, at, total = np.zeros(self.moving.size), 0, 0.0
        every[self.moving] = z[:-1] if self.trace else z
        for term in self.problem.terms:
            part = slice(at, at + term.functional.size)
            of_each = term.weight * term.loss.value(every[part], term.target)
            total += float(of_each[self.moving[part]].sum())
            at = part.stop
        return total

    def multipliers(self, y: Array) -> Multipliers:
        """Of the problem, from those that move."""
        problem, every = self.problem, self.fixed.copy()
        every[self.moving] = y[:-1] if self.trace else y
        *parts, rest = np.split(every, np.cumsum(problem.sizes))
        return problem.split_multipliers(parts, rest if problem.regularizer.row_multipliers else None)


def values_of(problem: Statement) -> Values:
    """Lay the dual of a problem out."""
    R = problem.regularizer
    incidences, boxes = parts_of(problem)
    stacked, box = Incidence.stack(incidences), Box.join(boxes)
    moving = box.lower < box.upper
    fixed = np.where(moving, 0.0, box.lower)
    constant = box.conjugate(fixed) if not moving.all() else 0.0
    C = problem.cost if moving.all() else problem.cost + stacked.adjoint(fixed)
    stacked, Q = of_unknown(problem, stacked)
    C, s = problem.restrict(sp.csr_array(C)), problem.order
    C = sp.csr_array(C) if Q is None else symmetrize(dense(C))
    if R.shift:
        C = C + R.shift * (sp.eye_array(s) if Q is None else np.eye(s))
    kept = moving[stacked.owner]
    owner = (np.cumsum(moving) - 1)[stacked.owner[kept]]
    points, ends = np.unique(np.concatenate([stacked.row[kept], stacked.column[kept]]), return_inverse=True)
    row, column = np.split(ends.astype(np.intp), 2)
    own = Incidence(owner, row, column, stacked.coefficient[kept], points.size, int(moving.sum()))
    box = Box(box.b[moving], box.q[moving], box.lower[moving], box.upper[moving])
    trace = R.spectral is not None and R.spectral.bound is not None
    if trace:
        box = Box.join([box, Box.half_line(np.array([R.trace_bound(s)]))])
    contracted = Q is None and problem.basis is not None
    edges = None if contracted else _edges(problem, moving, points)
    Q = None if Q is None else Q[points]
    return Values(problem, C, own, points, box, moving, fixed, constant, Q, trace, edges)


def _edges(problem: Statement, moving: Mask, points: Index) -> tuple[Index, Index] | None:
    functionals = [part.functional for part in problem.parts]
    every = all(isinstance(functional, SquaredDistances) for functional in functionals)
    if problem.regularizer.row_multipliers or not every:
        return None
    i, j = (np.concatenate([functional.indices[k] for functional in functionals])[moving] for k in (0, 1))
    return np.searchsorted(points, i), np.searchsorted(points, j)
