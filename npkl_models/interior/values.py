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
from npkl_models.model.functionals import Entries
from npkl_models.model.incidence import Incidence
from npkl_models.model.losses import Loss
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers

CHUNK = 20_000_000  # numbers that are gathered at a time


@dataclass(frozen=True, eq=False)
class Box:
    """f*(y) = b y + q y^2 / 2 on [lower, upper], elementwise."""

    b: Array
    q: Array
    lower: Array
    upper: Array

    @property
    def below(self) -> Mask:
        """Where there is a lower end."""
        return np.isfinite(self.lower)

    @property
    def above(self) -> Mask:
        """Where there is an upper end."""
        return np.isfinite(self.upper)

    @property
    def count(self) -> int:
        """How many ends there are."""
        return int(self.below.sum() + self.above.sum())

    def conjugate(self, y: Array) -> float:
        """Sum of f*."""
        return float(self.b @ y + 0.5 * (self.q @ y**2))

    @classmethod
    def of_loss(cls, loss: Loss, target: Array, weight: Array) -> Box:
        """Of weight loss(z; target): two points of the domain tell b and q."""
        lower, upper = loss.domain(target, weight)
        first = loss.project(np.zeros_like(target), target, weight)
        second = loss.project(first + weight, target, weight)
        second = np.where(second == first, loss.project(first - weight, target, weight), second)
        slopes = [loss.conjugate_derivative(y, target, weight) for y in (first, second)]
        apart = second - first
        q = np.divide(slopes[1] - slopes[0], apart, out=np.zeros_like(apart), where=apart != 0)
        return cls(slopes[0] - q * first, q, lower, upper)

    @classmethod
    def join(cls, parts: list[Box]) -> Box:
        """One after the other."""
        columns = zip(*((part.b, part.q, part.lower, part.upper) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def quadratic_conjugates(problem: Problem) -> str | None:
    """Why the conjugate of a loss is no quadratic on its domain; None if all are."""
    for term in problem.terms:
        t, w = term.target, term.weight
        box = Box.of_loss(term.loss, t, w)
        for share in (-0.9, -0.3, 0.2, 0.7):
            y = term.loss.project(share * w, t, w)
            value, model = term.loss.conjugate(y, t, w), box.b * y + 0.5 * box.q * y**2
            if not np.allclose(value, model, rtol=1e-9, atol=1e-9 * float(np.max(w))):
                return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return None


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
    trace : bool
        Whether the last multiplier is that of tr K <= B, whose matrix is the identity.
    """

    problem: Problem
    C: Matrix
    incidence: Incidence
    points: Index
    box: Box
    moving: Mask
    fixed: Array
    constant: float
    trace: bool

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
        rows, columns = self.incidence.ends()
        half = self.incidence.halves(own)
        n, s = self.problem.n, self.order
        M = sp.coo_array(
            (np.concatenate([half, half]), (self.points[rows], self.points[columns])), shape=(n, n)
        ).tocsr()
        if self.problem.basis is not None:
            M = dense(self.problem.restrict(M))
        return (
            M + y[-1] * (np.eye(s) if self.problem.basis is not None else sp.eye_array(s))
            if self.trace
            else M
        )

    def slack(self, y: Array) -> Matrix:
        """S(y)."""
        return self.C + self.adjoint(y)

    def of(self, K: Array) -> Array:
        """z_e = <M_e, K> for a symmetric K (order x order)."""
        if self.problem.basis is None:
            p, t = self.points, self.incidence
            z = t.collect(K[p[t.row], p[t.column]])
        else:
            z = self._rows(self.Q @ K, self.Q)
        return np.append(z, np.trace(K)) if self.trace else z

    def of_product(self, X: Array, Y: Array) -> Array:
        """<M_e, X Y> for the product of two matrices, which need not be symmetric."""
        left = X[self.points] if self.problem.basis is None else self.Q @ X
        right = Y[:, self.points].T if self.problem.basis is None else (Y @ self.Q.T).T
        z = 0.5 * (self._rows(left, right) + self._rows(right, left))
        return np.append(z, float(np.sum(X * Y.T))) if self.trace else z

    @property
    def Q(self) -> Array:
        """Rows of the basis at the points."""
        return self.problem.Q[self.points]

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
        sizes = [part.functional.size for part in (*problem.terms, *problem.equalities)]
        parts = np.split(every, np.cumsum(sizes))
        m = len(problem.terms)
        rows = parts[-1] if problem.regularizer.row_multipliers else None
        return Multipliers(tuple(parts[:m]), tuple(parts[m : len(sizes)]), rows)


def values_of(problem: Problem) -> Values:
    """Lay the dual of a problem out."""
    R, n = problem.regularizer, problem.n
    incidences = [part.functional.incidence for part in (*problem.terms, *problem.equalities)]
    boxes = [Box.of_loss(term.loss, term.target, term.weight) for term in problem.terms]
    for part in problem.equalities:
        free = np.full(part.functional.size, np.inf)
        boxes.append(Box(part.value, np.zeros_like(part.value), -free, free))
    if R.row_radius is not None:
        every = np.arange(n)
        incidences.append(Entries(n, (every, every)).incidence)
        boxes.append(_half_line(np.full(n, R.row_radius**2)))
    stacked, box = Incidence.stack(incidences), Box.join(boxes)
    moving = box.lower < box.upper
    fixed = np.where(moving, 0.0, box.lower)
    constant = box.conjugate(fixed) if not moving.all() else 0.0
    C = problem.cost if moving.all() else problem.cost + stacked.adjoint(fixed)
    C = problem.restrict(sp.csr_array(C))
    if R.shift:
        C = C + R.shift * (np.eye(problem.order) if problem.basis is not None else sp.eye_array(n))
    kept = moving[stacked.owner]
    owner = (np.cumsum(moving) - 1)[stacked.owner[kept]]
    points, ends = np.unique(np.concatenate([stacked.row[kept], stacked.column[kept]]), return_inverse=True)
    row, column = np.split(ends.astype(np.intp), 2)
    own = Incidence(owner, row, column, stacked.coefficient[kept], points.size, int(moving.sum()))
    box = Box(box.b[moving], box.q[moving], box.lower[moving], box.upper[moving])
    trace = R.spectral is not None and R.spectral.bound is not None
    if trace:
        box = Box.join([box, _half_line(np.array([R.trace_bound(problem.order)]))])
    C = symmetrize(C) if problem.basis is not None else sp.csr_array(C)
    return Values(problem, C, own, points, box, moving, fixed, constant, trace)


def _half_line(bound: Array) -> Box:
    zero = np.zeros_like(bound)
    return Box(bound, zero, zero, np.full_like(bound, np.inf))
