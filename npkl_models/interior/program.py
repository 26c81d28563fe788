"""General semidefinite programs: minimise <C, X> with <M_e, X> = b_e, by an infeasible interior-point method.

The direction is that of Helmberg, Rendl, Vanderbei & Wolkowicz (1996), Kojima, Shindoh & Hara (1997) and
Monteiro (1997), with the predictor and corrector of Mehrotra and the start of Toh, Todd & Tutuncu (1999).
X, S and y begin far from the constraints and come to them together with the optimum. One-sided constraints
get a number x >= 0 each. The certificate judges the point as it is: it misses the constraints by little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from npkl_models.interior.cone import RATE, Vector, parts_of
from npkl_models.interior.steps import MORE, SHARE, shortened, solved
from npkl_models.linalg import Array, raised_cholesky
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import fact
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

REFINEMENTS = 5  # of a solution of the Schur system
ROUNDED = 1e-9  # a larger residual of a direction is corrected, relative to the largest target
LEAST_SIZE = 10.0  # of the start, as Toh, Todd & Tutuncu have it
RAYS = 50  # iterations of the search for a direction


def takes(problem: Statement) -> bool:
    """Whether the problem is a program in this form, with a general functional."""
    return (
        problem.basis is None and problem.regularizer.vacuous and not problem.losses
        and any(isinstance(part.functional, SparseMatrices) for part in problem.constraints)
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Program:
    """The numbers of a program."""

    problem: Statement
    parts: list[Vector]  # of the cone; the numbers of the last part may belong to one-sided constraints
    b: Array  # the targets (m,)
    order: int  # the sum of all orders

    @classmethod
    def of(cls, problem: Statement) -> Program:
        """The program of a problem that `takes` takes."""
        b = np.concatenate([part.value for part in problem.constraints])
        low, high = (
            np.concatenate(ends) for ends in zip(*(part.domain for part in problem.constraints), strict=True)
        )
        sign = 1.0 * np.isfinite(low) - np.isfinite(high)  # upper bounds have 1, lower ones -1, equalities 0
        parts = list(_parts(problem))
        sided = np.flatnonzero(sign)
        if sided.size:
            more = sp.csr_array((sign[sided], (sided, np.arange(sided.size))), shape=(b.size, sided.size))
            none = np.full(sided.size, -1, dtype=np.intp)
            parts.append(Vector(none, np.zeros(sided.size), more))
        return cls(problem, parts, b, sum(part.order for part in parts))

    def multipliers(self, y: Array) -> Multipliers:
        """The multipliers of the problem."""
        own = np.split(y, np.cumsum(self.problem.sizes)[:-1])
        return projected(self.problem, self.problem.split_multipliers(own))

    def factor(self, factors: list[Array]) -> Array:
        """The factor V (n x n) of the kernel with these blocks."""
        V = np.zeros((self.problem.n, self.problem.n))
        for part, own in zip(self.parts, factors, strict=True):
            if part.places.flat[0] >= 0:  # others belong to one-sided constraints
                part.fill(V, own)
        return V


@fact
def _parts(problem: Statement) -> tuple[Vector, ...]:
    A = sp.vstack([part.functional.incidence.symmetric_operator() for part in problem.constraints])
    return tuple(parts_of(problem.cost, sp.csr_array(A)))


def iteration_of(problem: Statement) -> tuple[float, float]:
    """Predicted seconds and bytes of an iteration on a problem that `takes` takes."""
    parts, m = _parts(problem), float(sum(problem.sizes))
    dense = float(sum(part.C.size for part in parts))
    entries = sum(float(part.A.nnz) for part in parts)
    seconds = m**3 / 3 / RATE + sum(part.seconds for part in parts)
    return seconds, 8.0 * (12 * dense + 3 * m**2 + 4 * entries + 3 * float(problem.n) ** 2)


class Point:
    """X, S and y inside the cone, and their residuals."""

    def __init__(self, program: Program) -> None:
        self.program, parts, b = program, program.parts, program.b
        self.y = np.zeros(b.size)
        self.X: list[Array] = []
        self.S: list[Array] = []
        self.missing: list[Array] = []
        for part in parts:
            root = float(np.sqrt(part.block))
            far = part.block * float(np.max((1 + np.abs(b)) / (1 + part.norms), initial=1.0))
            size = max(float(np.max(part.norms, initial=0.0)), float(np.linalg.norm(part.C)))
            self.X.append(part.unit(max(LEAST_SIZE, root, far)))
            self.S.append(part.unit(max(LEAST_SIZE, root, size)))
        self.steps = (0.0, 0.0)
        self.scale_b = 1 + float(np.max(np.abs(b), initial=0.0))
        self.scale_C = 1 + max(float(np.abs(part.C).max(initial=0.0)) for part in parts)
        self.met = False  # whether S = S(y)
        self.factors_X = [part.factor(X) for part, X in zip(parts, self.X, strict=True)]
        self.factors_S = [part.factor(S) for part, S in zip(parts, self.S, strict=True)]
        self._measure()

    def _measure(self) -> None:
        parts = self.program.parts
        self.off = self.program.b - sum(part.of(X) for part, X in zip(parts, self.X, strict=True))
        if self.met:
            self.missing = [np.zeros(1)] * len(parts)
        else:
            slack = (part.C + part.adjoint(self.y) for part in parts)
            self.missing = [want - S for want, S in zip(slack, self.S, strict=True)]
        self.objective = sum(float(np.sum(part.C * X)) for part, X in zip(parts, self.X, strict=True))
        self.bound = -float(self.program.b @ self.y)
        self.inner = sum(float(np.sum(X * S)) for X, S in zip(self.X, self.S, strict=True))

    @property
    def mu(self) -> float:
        """<X, S> over the order of the cone."""
        return self.inner / self.program.order

    @property
    def primal(self) -> float:
        """The largest residual of a constraint, relative to the largest target."""
        return float(np.max(np.abs(self.off), initial=0.0)) / self.scale_b

    @property
    def dual(self) -> float:
        """The largest entry by which S misses S(y), relative to the cost."""
        return max(float(np.abs(one).max(initial=0.0)) for one in self.missing) / self.scale_C

    def advance(self) -> None:
        """One iteration; LinAlgError if X, S or H can no longer be factorised."""
        parts, m = self.program.parts, self.program.b.size
        if not self.inner > 0:
            raise np.linalg.LinAlgError("the gap is zero")
        Z = [part.inverse(L.copy()) for part, L in zip(parts, self.factors_S, strict=True)]
        H = np.zeros((m, m))
        for part, X, own in zip(parts, self.X, Z, strict=True):
            part.schur(X, own, H)
        factor = raised_cholesky(H.copy(order="F"), "the Schur complement")
        base = self.program.b * -1.0
        of_Z = sum(part.of(own) for part, own in zip(parts, Z, strict=True))
        if not self.met:
            for part, X, R, own in zip(parts, self.X, self.missing, Z, strict=True):
                base -= part.of(part.between(X, R, own))

        def direction(mu: float, crossed: list[Array] | None) -> tuple[Array, list[Array], list[Array]]:
            right = base + mu * of_Z
            if crossed is not None:
                right = right - sum(part.of(C) for part, C in zip(parts, crossed, strict=True))
            dy = _refined(H, factor, right)
            dS: list[Array] = [part.adjoint(dy) + R for part, R in zip(parts, self.missing, strict=True)]
            dX: list[Array] = []
            for k, part in enumerate(parts):
                change = mu * Z[k] - self.X[k] - part.between(self.X[k], dS[k], Z[k])
                dX.append(change if crossed is None else change - crossed[k])
            return dy, dS, dX

        dy, dS, dX = direction(0.0, None)
        primal, dual = self._reach(dX, dS, 1.0)
        after = sum(
            float(np.sum((X + primal * one) * (S + dual * two)))
            for X, one, S, two in zip(self.X, dX, self.S, dS, strict=True)
        )
        far = min(primal, dual) ** 2
        power = max(1.0, 3 * far) if self.mu > 1e-6 else 1.0
        sigma = float(np.clip((max(after, 0.0) / self.inner) ** power, 1e-6, 1.0))
        crossed = [part.between(one, two, own) for part, one, two, own in zip(parts, dX, dS, Z, strict=True)]
        dy, dS, dX = direction(sigma * self.mu, crossed)
        self._correct(dX)
        self._go(dy, dS, dX)

    def _correct(self, dX: list[Array]) -> None:
        """Move dX such that it meets the constraints, by the least change in the metric of X."""
        parts = self.program.parts
        missed = self.off - sum(part.of(D) for part, D in zip(parts, dX, strict=True))
        if float(np.max(np.abs(missed), initial=0.0)) <= ROUNDED * self.scale_b:
            return
        H = np.zeros((missed.size, missed.size))
        for part, X in zip(parts, self.X, strict=True):
            part.schur(X, X, H)
        w = _refined(H, raised_cholesky(H.copy(order="F"), "the Schur complement"), missed)
        for k, part in enumerate(parts):
            dX[k] = dX[k] + part.between(self.X[k], part.adjoint(w), self.X[k])

    def _reach(self, dX: list[Array], dS: list[Array], share: float) -> tuple[float, float]:
        parts = self.program.parts
        primal = (p.longest(L, D, share) for p, L, D in zip(parts, self.factors_X, dX, strict=True))
        dual = (p.longest(L, D, share) for p, L, D in zip(parts, self.factors_S, dS, strict=True))
        return min(primal), min(dual)

    def _go(self, dy: Array, dS: list[Array], dX: list[Array]) -> None:
        primal, dual = self._reach(dX, dS, SHARE + MORE * min(self.steps))
        inside = "point inside the cone"
        primal, (self.X, self.factors_X) = shortened(primal, partial(self._moved, self.X, dX), inside)
        dual, (self.S, self.factors_S) = shortened(dual, partial(self._moved, self.S, dS), inside)
        self.y = self.y + dual * dy
        self.steps = primal, dual
        if self.met or dual == 1.0 or self.dual * (1 - dual) <= ROUNDED:
            self._meet(dual == 1.0)
        self._measure()

    def _meet(self, surely: bool) -> None:
        """Make S the slack of y, if this is positive definite; a LinAlgError if it is not, but has to be."""
        parts = self.program.parts
        slack: list[Array] = [part.C + part.adjoint(self.y) for part in parts]
        try:
            self.factors_S = [part.factor(S) for part, S in zip(parts, slack, strict=True)]
        except np.linalg.LinAlgError:
            if surely or self.met:
                raise
            return
        self.S, self.met = slack, True

    def _moved(self, at: list[Array], by: list[Array], step: float) -> tuple[list[Array], list[Array]]:
        moved: list[Array] = [X + step * D for X, D in zip(at, by, strict=True)]
        return moved, [part.factor(X) for part, X in zip(self.program.parts, moved, strict=True)]


def _refined(H: Array, factor: tuple[Array, bool], right: Array) -> Array:
    """The solution of H x = right by the factor, or by conjugate gradients with the factor, if better."""
    x, near = solved(factor, right), LinearOperator(H.shape, matvec=partial(solved, factor), dtype=float)
    y: Array = cg(H, right, x0=x, rtol=1e-15, maxiter=REFINEMENTS, M=near)[0]
    return y if np.linalg.norm(right - H @ y) < np.linalg.norm(right - H @ x) else x


def falling(program: Program) -> list[Array] | None:
    """Factors of a direction D inside the cone with <M_e, D> = 0 and <C, D> = -1; None if none is found.

    D comes from the path to the least trace. It is taken as soon as it meets these constraints, far from the
    boundary of the cone.
    """
    parts = []
    for part in program.parts:
        A = sp.vstack([part.A, sp.csr_array(part.C.reshape(1, -1))], format="csr")
        parts.append(replace(part, C=part.unit(1.0), A=A))
    b = np.append(np.zeros(program.b.size), -1.0)
    point = Point(replace(program, parts=parts, b=b))
    for _ in range(RAYS):
        try:
            point.advance()
        except np.linalg.LinAlgError:
            return None
        if point.primal <= ROUNDED:
            return point.factors_X
    return None
