"""Our interior-point method on a program of CVXPY, in its own cones and with its quadratic objective.

With x = x0 + N w from the equations and y = -w, the slacks are S(y) = b - A x in the cones, f*(y) is the
objective of w, and X holds the dual variables z: the stationarity A(X) = f*'(y) is A'z = -c - Px.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx.program import ConicProgram, smat, svec
from npkl_models.cvx.sizes import relative_gap, violation
from npkl_models.cvx.translation import equations, largest_share, multipliers_of, without_rounding
from npkl_models.interior.blocks import Block
from npkl_models.interior.part import Vector
from npkl_models.interior.path import Iterate
from npkl_models.interior.program import Program
from npkl_models.interior.second_order import SecondOrder
from npkl_models.linalg import Array, Matrix
from npkl_models.model.box import Box
from npkl_models.model.multipliers import Multipliers
from npkl_models.solve.engine import Engine
from npkl_models.solve.options import Options

LOOK = 3.0  # a point is measured when gap and residuals are below this multiple of what is asked
STALLED = 10  # a run ends after so many iterations without a better point


@dataclass(frozen=True, eq=False)
class Form:
    """A program as the method takes it, and the way back to x and z."""

    whole: ConicProgram
    own: Program
    parts: tuple[Vector, ...]  # those of `own`
    x0: Array
    N: Matrix
    costs: Array  # the sizes of the summands of N'c

    @classmethod
    def of(cls, program: ConicProgram) -> Form | Array:
        """The form of a program; z with A'z = 0 and b'z < 0 if its equations contradict each other."""
        eq = slice(0, program.zero)
        solved = equations(program.A[eq], program.b[eq], program.c.size)
        if isinstance(solved, np.ndarray):
            return np.concatenate([solved, np.zeros(program.b.size - program.zero)])
        x0, N = solved
        inner, right = program.A[program.zero :], program.b[program.zero :]
        A = sp.csc_array(without_rounding(inner @ N, abs(inner) @ abs(N)).T)
        b = without_rounding(right - inner @ x0, np.abs(right) + abs(inner) @ np.abs(x0))
        slope = program.slope(x0)
        P = None if program.P is None else sp.csr_array(N.T @ program.P @ N)
        none = np.zeros(N.shape[1])
        box = Box(-(N.T @ slope), none, none - np.inf, none + np.inf, none)
        parts = tuple(_parts(program, A, b))
        return cls(program, Program(parts, box, P), parts, x0, N, abs(N).T @ np.abs(slope))

    def x_of(self, y: Array) -> Array:
        """The variables."""
        return self.x0 - np.asarray(self.N @ y)

    def sizes(self, X: list[Array]) -> Array:
        """The sums of the absolute values of the summands of A(X) (m,)."""
        return np.asarray(sum(p.sizes_of(one) for p, one in zip(self.parts, X, strict=True)))

    def direction(self, y: Array) -> Array:
        """The change of the variables along y."""
        return -np.asarray(self.N @ y)

    def z_of(self, X: list[Array], x: Array, costs: bool = True) -> Array:
        """z with A'z = -c - Px, or 0 without ``costs``; the others say those of the equations."""
        program = self.whole
        z = np.concatenate([np.zeros(program.zero), *(one if one.ndim == 1 else svec(one) for one in X)])
        if program.zero:
            slope = program.slope(x)
            left = -slope * costs - program.A.T @ z
            z[: program.zero] = multipliers_of(program.A[: program.zero], left)
        return z


def _parts(program: ConicProgram, A: Matrix, b: Array) -> list[Vector]:
    """Numbers, second-order cones together, and blocks, from the columns of A (m x rows)."""
    parts: list[Vector] = []
    none, at = np.arange(b.size), program.nonneg
    if at:
        parts.append(Vector(none[:at], b[:at], sp.csr_array(A[:, :at])))
    if program.soc:
        sizes = np.array(program.soc)
        own = slice(at, at + int(sizes.sum()))
        heads = np.cumsum(sizes) - sizes
        parts.append(SecondOrder(none[own], b[own], sp.csr_array(A[:, own]), heads))
        at = own.stop
    for n in program.psd:
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
    return parts


class ConicEngine(Engine):
    """The iterates of one run; the answer is that of the best one so far."""

    patience = STALLED

    def __init__(self, form: Form, options: Options) -> None:
        self.form, self.options = form, options
        self.now = Iterate(form.own)
        self.objective, self.residual, self.least, self.met = np.nan, np.inf, np.inf, False
        self.kept = self.now.X, self.now.y
        self.first = self.now.mu * form.own.degree

    @property
    def rank(self) -> int:
        return self.form.own.degree

    @property
    def V(self) -> Array:  # type: ignore[override]
        """The variables as a column."""
        return self.form.x_of(self.kept[1])[:, None]

    @property
    def shown(self) -> None:
        """Nothing: no kernel is sought."""

    def multipliers(self) -> Multipliers:
        return Multipliers((), (self.now.y,))

    def iterate(self) -> None:
        try:
            self.now.advance()
        except np.linalg.LinAlgError as error:
            self.note, self.hopeless = str(error), True
            return
        now, own, options = self.now, self.form.own, self.options
        x = self.form.x_of(now.y)
        self.objective = self.form.whole.objective(x)
        square = 0.0 if own.P is None else 0.5 * float(now.y @ (own.P @ now.y))
        gap = abs(own.cost(now.X) + square + own.conjugate(now.y))
        size = abs(self.objective) + abs(self.objective - gap) + options.tol * self.first  # both may be zero
        missed = largest_share(np.abs(now.missed), self.form.sizes(now.X) + self.form.costs)
        self.bound = self.objective - gap if missed <= options.feasibility else np.nan
        self.residual = max(
            gap / size if size else 0.0, max(missed, now.rho) * options.tol / options.feasibility
        )
        if self.residual < self.least:
            self.least = self.residual
            self.kept = now.X, now.y
        if self.residual <= LOOK * options.tol:
            point = self.point()
            near = point.gap <= options.tol or gap <= options.tol**2 * self.first
            self.met = near and point.missed <= options.feasibility

    def point(self) -> Point:
        """Variables and dual variables of the best iterate, and what they miss."""
        X, y = self.kept
        form, program = self.form, self.form.whole
        x = form.x_of(y)
        z = form.z_of(X, x)
        slope = program.slope(x)
        square = 0.0 if program.P is None else 0.5 * float(x @ (program.P @ x))
        value, bound = program.objective(x), program.offset - square - float(program.b @ z)
        dual = largest_share(np.abs(program.A.T @ z + slope), abs(program.A).T @ np.abs(z) + np.abs(slope))
        missed = max(violation(program, x), dual)
        return Point(x, z, value, relative_gap(program, x, z, value, bound), missed)


@dataclass(frozen=True, eq=False)
class Point:
    """Variables and dual variables, the objective, the relative gap and the largest residual."""

    x: Array
    z: Array
    value: float
    gap: float
    missed: float
