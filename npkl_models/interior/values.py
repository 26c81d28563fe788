"""The dual variables of a problem for the interior-point method, from `model.conjugates`.

A bound on the trace adds one value, whose matrix is the identity. Without a basis the slacks and all their
changes share one pattern (`Adjoint`), so that each further matrix is a vector of numbers. They are sparse if
the order is large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from npkl_models.feasibility.contraction import of_unknown
from npkl_models.interior.squares import Squares, squares_in
from npkl_models.interior.steps import DENSE
from npkl_models.linalg import Array, Index, Mask, Matrix, dense, gamma, norm_bound, symmetrize
from npkl_models.model.box import Box
from npkl_models.model.conjugates import stated
from npkl_models.model.functional import smat, svec, svec_rows
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.incidence import Adjoint, Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

MANY = 8  # above this average number of entries of a value, its coordinates in the basis are used
CHUNK = 100_000  # numbers that are gathered at a time, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Values:
    """The multipliers that are not fixed, and the matrices that they multiply."""

    problem: Statement
    C: Matrix  # cost over the unknown, with the linear losses and the penalty on a trace added
    incidence: Incidence  # triplets over ``points``, numbered from 0
    points: Index  # the points that occur in any value
    box: Box
    moving: Mask  # which of all multipliers are not fixed
    fixed: Array  # the fixed multipliers; zero for the others
    constant: float  # f* of the fixed multipliers
    Q: Array | None  # rows of the basis at the points; points that share a row are one point here
    trace: bool  # whether the last multiplier belongs to tr K <= B, whose matrix is the identity
    edges: tuple[Index, Index] | None  # ends of the values, if all are squared distances
    targets: Array  # b of the multipliers that are not fixed, as the problem states them
    coordinates: Array | None = None  # each value's coefficients of `svec` of U (m, s(s+1)/2), if it has few
    squares: Squares | None = None  # those that stand for more squares; their multipliers are the first ones
    forms: bool = False  # whether each value is q'Uq with its own row q of Q (`rescaling.edge_vectors`)

    @property
    def order(self) -> int:
        """The order of K and S."""
        return self.problem.order

    @property
    def size(self) -> int:
        """The number of multipliers that are not fixed."""
        return int(self.box.b.size)

    @cached_property
    def _spread(self) -> Incidence:
        """The triplets over the rows of K, including those of the identity."""
        t, every = self.incidence, np.arange(self.order)
        own = Incidence(t.owner, self.points[t.row], self.points[t.column], t.coefficient, self.order, t.size)
        if not self.trace:
            return own
        last = Incidence(np.zeros_like(every), every, every, np.ones(self.order), self.order, 1)
        return Incidence.stack([own, last])

    @cached_property
    def _pattern(self) -> Adjoint:
        """The pattern of S(y) and the identity, without a basis; changes of a slack have it, too."""
        return Adjoint(self._spread, self.C, diagonal=True)

    @cached_property
    def _flat(self) -> Index:
        """The places of the triplets in a K that is stored row by row."""
        t = self.incidence
        return np.asarray(self.points[t.row] * self.order + self.points[t.column])

    @cached_property
    def entries(self) -> tuple[Index, Index, Array, Matrix | None]:
        """Row, column and coefficient (e,) of the entries of K at ``points`` that any value needs, each once.

        The values are ``sums`` (m, e) times the entries; ``sums`` is None if each value is one of them.
        """
        t = self.incidence
        if t.identity:
            return t.row, t.column, np.asarray(t.coefficient, dtype=float), None
        low, high = np.minimum(t.row, t.column), np.maximum(t.row, t.column)
        places, at = np.unique(low * t.n + high, return_inverse=True)
        sums = sp.csr_array((t.coefficient, (t.owner, at)), shape=(t.size, places.size))
        return places // t.n, places % t.n, np.ones(places.size), sums

    def adjoint(self, y: Array) -> Matrix:
        """sum y_e M_e (order x order), sparse where a slack is."""
        if self.Q is None:
            return self._matrix(self._pattern.numbers(y))
        if self.coordinates is not None:
            return smat(y @ self.coordinates, self.order)
        own = y[:-1] if self.trace else y
        M = symmetrize(self.Q.T @ (self.incidence.adjoint(own) @ self.Q))
        return M + y[-1] * np.eye(self.order) if self.trace else M

    def slack(self, y: Array) -> Matrix:
        """S(y); without a basis it has the pattern of C, all M_e and the identity."""
        if self.Q is None:
            return self._matrix(self._pattern.base + self._pattern.numbers(y))
        return self.C + self.adjoint(y)

    def _matrix(self, numbers: Array) -> Matrix:
        """The matrix of the pattern with these numbers, dense for a small order."""
        if self.order > DENSE:
            return self._pattern.matrix(numbers)
        out = np.zeros(self.order**2)
        out[self._pattern.flat] = numbers
        return out.reshape(self.order, self.order)

    def change(self, y: Array, rho: float, R: Matrix) -> Matrix:
        """sum y_e M_e + rho R for a slack R."""
        if not rho:
            return self.adjoint(y)
        if sp.issparse(R):
            return self._pattern.matrix(self._pattern.numbers(y) + rho * R.data)
        return self.adjoint(y) + rho * R

    def shifted(self, S: Matrix, by: float) -> Matrix:
        """The matrix S + by I for a slack S."""
        if not sp.issparse(S):
            return S + by * np.eye(self.order)
        numbers = S.data.copy()
        numbers[self._pattern.diagonal] += by
        return self._pattern.matrix(numbers)

    def inner(self, A: Matrix, X: Array) -> float:
        """<A, X> for a slack or a change of a slack A, and a symmetric X (order x order)."""
        if not sp.issparse(A):
            return float(np.sum(A * X))
        return self._pattern.inner(A.data, X)

    def of(self, K: Array) -> Array:
        """z_e = <M_e, K> for a symmetric K (order x order)."""
        if self.coordinates is not None:
            return np.asarray(self.coordinates @ svec(K))
        if self.Q is None:
            z = self.incidence.collect(K.ravel(order="K").take(self._flat))
        else:
            z = self._rows(self.Q @ K, self.Q)
        return np.append(z, np.trace(K)) if self.trace else z

    def of_product(self, X: Array, Y: Array) -> Array:
        """<M_e, X Y> for the product of two matrices; X, Y and X Y need not be symmetric."""
        if self.coordinates is not None:
            return self.of(symmetrize(X @ Y))
        left = X[self.points] if self.Q is None else self.Q @ X
        right = Y[:, self.points].T if self.Q is None else (Y @ self.Q.T).T
        z = 0.5 * (self._rows(left, right) + self._rows(right, left))
        return np.append(z, float(np.sum(X * Y.T))) if self.trace else z

    def _rows(self, X: Array, Y: Array) -> Array:
        t = self.incidence
        step = max(64, CHUNK // max(X.shape[1], 1))
        parts = [
            np.einsum("er,er->e", X[t.row[k : k + step]], Y[t.column[k : k + step]])
            for k in range(0, t.row.size, step)
        ]
        return t.collect(np.concatenate(parts) if parts else np.zeros(0))

    def of_cost(self, K: Array) -> float:
        """<C, K> for a symmetric K."""
        if self.Q is not None:
            return float(np.sum(self.C * K))
        return self._pattern.inner(self._pattern.base, K)

    def _apart(self, y: Array) -> tuple[Array, Array]:
        """The numbers of `squares`, and those of the values in ``moving``."""
        count, last = 0 if self.squares is None else self.squares.c.size, y.size - self.trace
        return y[:count], y[count:last]

    def losses(self, z: Array) -> float:
        """The sum of the losses of values whose multiplier is not fixed."""
        (first, own), every = self._apart(z), np.zeros(self.moving.size)
        every[self.moving] = own
        at, total = 0, 0.0 if self.squares is None else self.squares.value(first)
        for term in self.problem.losses:
            part = slice(at, at + term.functional.size)
            of_each = term.weight * term.loss.value(every[part], term.target)
            total += float(of_each[self.moving[part]].sum())
            at = part.stop
        return total

    def multipliers(self, y: Array) -> Multipliers:
        """The multipliers of the problem, from those that are not fixed."""
        problem, every, (first, own) = self.problem, self.fixed.copy(), self._apart(y)
        every[self.moving] = own
        if self.squares is not None:
            every[self.squares.among] = self.squares.multipliers(first)
        return problem.split_multipliers(np.split(every, np.cumsum(problem.sizes)[:-1]))


def values_of(problem: Statement) -> Values:
    """The dual variables of a problem, with their matrices and boxes."""
    R = problem.regularizer
    stacked, box, moving, fixed, C = stated(problem)
    constant = box.conjugate(fixed)
    stacked, Q = of_unknown(problem, stacked)
    C, s = sp.csr_array(C), problem.order
    C = sp.csr_array(problem.restrict(C)) if Q is None else _over_basis(problem.restrict(C), C, Q)
    if R.shift:
        C = C + R.shift * (sp.eye_array(s) if Q is None else np.eye(s))
    kept = moving[stacked.owner]
    owner = (np.cumsum(moving) - 1)[stacked.owner[kept]]
    points, ends = np.unique(np.concatenate([stacked.row[kept], stacked.column[kept]]), return_inverse=True)
    row, column = np.split(ends.astype(np.intp), 2)
    own = Incidence(owner, row, column, stacked.coefficient[kept], points.size, int(moving.sum()))
    box = box.kept(moving)
    trace = R.spectral is not None and R.spectral.bound is not None
    if trace:
        box = Box.join([box, Box.half_line(np.array([R.trace_bound(s)]))])
    contracted = Q is None and problem.basis is not None
    edges = None
    if not contracted and all(isinstance(part.functional, SquaredDistances) for part in problem.terms):
        every = zip(*(part.functional.indices for part in problem.terms), strict=True)
        i, j = (np.searchsorted(points, np.concatenate(ends)[moving]) for ends in every)
        edges = i, j
    Q = None if Q is None else Q[points]
    whole = Values(problem, C, own, points, box, moving, fixed, constant, Q, trace, edges, box.b)
    return whole if Q is None else _over_coordinates(whole, Q)


def _over_basis(inner: Matrix, C: Matrix, Q: Array) -> Array:
    """The cost Q'CQ over a basis; zero if it may be rounding, as over a basis of the null space of C."""
    sizes = np.abs(Q)
    least = gamma(len(Q)) * (sizes.T @ (abs(C) @ sizes.sum(axis=1))).max(initial=0.0)  # of |Q|'|C||Q|
    return symmetrize(dense(inner)) * (norm_bound(inner) > least)


def _over_coordinates(values: Values, Q: Array) -> Values:
    """The values by their coordinates in the basis, if many entries or more squares than these ask for it."""
    t, box, s = values.incidence, values.box, values.order
    few = squares_in(box)
    fewer = int(few.sum()) > s * (s + 1) // 2
    if not (fewer or t.owner.size > max(MANY * t.size, s**2)):
        return values
    A = svec_rows(t, Q)
    A = np.vstack([A, svec(np.eye(s))]) if values.trace else A
    if not fewer:
        return replace(values, coordinates=A)
    among = np.zeros(values.moving.size, dtype=bool)
    among[values.moving] = few[: t.size]
    squares = Squares.of(among, A[few], box.kept(few))
    return replace(
        values, box=Box.join([squares.box, box.kept(~few)]), moving=values.moving & ~among, edges=None,
        constant=values.constant - squares.rest, coordinates=np.vstack([squares.R, A[~few]]), squares=squares,
    )  # fmt: skip
