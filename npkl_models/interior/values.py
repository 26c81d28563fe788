"""A problem as a program over cones for the interior-point method; the boxes are those of `conjugates`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from npkl_models.feasibility.contraction import of_unknown
from npkl_models.interior.cone import parts_of
from npkl_models.interior.part import Vector
from npkl_models.interior.program import Program
from npkl_models.interior.squares import Squares, squares_in
from npkl_models.interior.unknown import Unknown
from npkl_models.linalg import Array, Index, Mask, Matrix, dense, gamma, norm_bound, symmetrize
from npkl_models.model.box import Box
from npkl_models.model.conjugates import stated
from npkl_models.model.facts import fact
from npkl_models.model.functional import svec, svec_rows
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.incidence import Incidence
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

LARGER = 5.0  # the start is so many times a kernel of the targets' size (examples/benchmarks/small_hard.py)
MANY = 8  # above this average number of entries of a value, its coordinates in the basis are used


@dataclass(frozen=True, eq=False)
class Values(Program):
    """The program of a problem, whose multipliers are those that are not fixed."""

    problem: Statement = field(kw_only=True)
    moving: Mask = field(kw_only=True)  # which of all multipliers are not fixed
    fixed: Array = field(kw_only=True)  # the fixed multipliers; zero for the others
    constant: float = 0.0  # f* of the fixed multipliers
    trace: bool = False  # whether the last multiplier belongs to tr K <= B
    squares: Squares | None = None  # those that stand for more squares; their multipliers are the first ones

    def objective(self, X: list[Array]) -> float:
        """The objective at X, which may not satisfy the constraints yet."""
        return self.cost(X) + self.losses(self.of(X)) - self.constant

    def _apart(self, y: Array) -> tuple[Array, Array]:
        """The numbers of `squares`, and those of the values in ``moving``."""
        count, last = 0 if self.squares is None else self.squares.c.size, y.size - self.trace
        return y[:count], y[count:last]

    def factor(self, factors: list[Array]) -> Array:
        """The factor V (n x n) of the kernel with these factors of its blocks."""
        V = np.zeros((self.problem.n, self.problem.n))
        for part, own in zip(self.parts, factors, strict=True):
            assert isinstance(part, Vector)
            part.fill(V, own)
        return V

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


def general(problem: Statement) -> bool:
    """Whether the problem is a program of general matrices without a basis: its cone has many parts."""
    return (
        problem.basis is None and problem.regularizer.vacuous and not problem.losses
        and any(isinstance(part.functional, SparseMatrices) for part in problem.constraints)
    )  # fmt: skip


@fact
def blocks(problem: Statement) -> tuple[Vector, ...]:
    """The parts of the cone of a problem that is `general`."""
    A = sp.vstack([part.functional.incidence.symmetric_operator() for part in problem.constraints])
    return tuple(parts_of(problem.cost, sp.csr_array(A)))


def values_of(problem: Statement) -> Values:
    """The program of a problem."""
    if general(problem):
        box = Box.join([part.box for part in problem.constraints])
        none = np.zeros(box.b.size)
        return Values(blocks(problem), box, problem=problem, moving=none == 0, fixed=none)
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
    size = _kernel_size(problem, box.b)
    trace = R.spectral is not None and R.spectral.bound is not None
    if trace:
        box = Box.join([box, Box.half_line(np.array([R.trace_bound(s)]))])
    contracted = Q is None and problem.basis is not None
    edges = None if contracted else _edges(problem, points, moving)
    part = Unknown(s, C, own, points, None if Q is None else Q[points], trace, edges)
    whole = Values(
        (part,), box, kernel_size=size, cost_unit=problem.cost_unit, problem=problem, moving=moving,
        fixed=fixed, constant=constant, trace=trace,
    )  # fmt: skip
    return whole if Q is None else _over_coordinates(whole, part)


def _edges(problem: Statement, points: Index, moving: Mask) -> tuple[Index, Index] | None:
    """The ends of the values, if all are squared distances."""
    if not all(isinstance(part.functional, SquaredDistances) for part in problem.terms):
        return None
    every = zip(*(part.functional.indices for part in problem.terms), strict=True)
    i, j = (np.searchsorted(points, np.concatenate(ends)[moving]) for ends in every)
    return i, j


def _kernel_size(problem: Statement, targets: Array) -> float:
    """The size of the diagonal of the first kernel, ``LARGER`` than one whose values are near their targets.

    A start that is too small ends on the boundary at once, one that is too large costs an iteration: from 2
    to 30 times take the same number (42 problems with equalities, 13 % fewer than 1).
    """
    wanted = np.abs(targets[targets != 0])
    size = LARGER * (float(np.mean(wanted)) if wanted.size else 1.0)
    return size if problem.basis is None else size * problem.n / problem.order


def _over_basis(inner: Matrix, C: Matrix, Q: Array) -> Array:
    """The cost Q'CQ over a basis; zero if it may be rounding, as over a basis of the null space of C."""
    sizes = np.abs(Q)
    least = gamma(len(Q)) * (sizes.T @ (abs(C) @ sizes.sum(axis=1))).max(initial=0.0)  # of |Q|'|C||Q|
    return symmetrize(dense(inner)) * (norm_bound(inner) > least)


def _over_coordinates(values: Values, part: Unknown) -> Values:
    """The values by their coordinates in the basis, if many entries or more squares than these ask for it."""
    t, box, s = part.incidence, values.box, part.order
    few = squares_in(box)
    fewer = int(few.sum()) > s * (s + 1) // 2
    if part.Q is None or not (fewer or t.owner.size > max(MANY * t.size, s**2)):
        return values
    A = svec_rows(t, part.Q)
    A = np.vstack([A, svec(np.eye(s))]) if part.trace else A
    if not fewer:
        return replace(values, parts=(replace(part, coordinates=A),))
    among = np.zeros(values.moving.size, dtype=bool)
    among[values.moving] = few[: t.size]
    squares = Squares.of(among, A[few], box.kept(few))
    part = replace(part, edges=None, coordinates=np.vstack([squares.R, A[~few]]))
    return replace(
        values, parts=(part,), box=Box.join([squares.box, box.kept(~few)]), moving=values.moving & ~among,
        constant=values.constant - squares.rest, squares=squares,
    )  # fmt: skip
