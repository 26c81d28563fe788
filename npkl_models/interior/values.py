"""The dual variables of a problem as an interior-point method sees them.

Every value z_e = <M_e, K> has a multiplier y_e with f_e*(y) = b y + q y^2 / 2 on [lower, upper]: a loss (b
and q are read off its conjugate, whatever the loss), an equality (b its value, q = 0, free), a row norm or a
bound on the trace (b the bound, q = 0, y >= 0). S = C + sum y_e M_e.
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
    """All multipliers that are free to move, what they belong to, and the matrices they are multiplied with.

    Attributes
    ----------
    C : sparse matrix of shape (n, n), or ndarray of shape (s, s) in a basis
        With what is fixed added: multipliers of linear losses, the penalty on a trace.
    incidence : Incidence
        Over the points that any value concerns, numbered from 0.
    points : ndarray of int
        Those.
    box : Box
    moving : ndarray of bool
        Which of all multipliers are not fixed; ``fixed`` are the values of all (zero where they move).
    constant : float
        f* of what is fixed.
    Q : ndarray or None
        Rows of the basis at the points; None without one. Points that share a row are one point here.
    trace : bool
        Whether the last multiplier is that of tr K <= B, whose matrix is the identity.
    edges : pair of ndarray, or None
        The ends of all values among the points, where every value is a squared distance.
    """

    problem: Statement
    C: Matrix
    incidence: Incidence
    points: Index
    box: Box
    moving: Mask
    fixed: Array
    constant: float
    Q: Array | None
    trace: bool
    edges: tuple[Index, Index] | None

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
