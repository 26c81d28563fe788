"""The concave dual of a problem with tr K^p, evaluated with its gradient and its primal point.

D(y, nu) = -sum f*(y) - nu'b - R*(-S(y, nu)). At every y the maximiser K(y) of <-S, K> - R(K) is a feasible
kernel, so an evaluation gives a bound, an objective, and their gap. Source: Zhuang, Tsang & Hoi, JMLR 12,
2011, eqs. (14), (20), (24), (25).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Matrix, pataki_rank
from npkl_models.model.incidence import Adjoint, Incidence
from npkl_models.model.regularizer import TraceFace
from npkl_models.model.shared_slack import onto_simplex
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.proof.positive import MARGIN, PositivePart, positive_part
from npkl_models.solve.cost import CALL, EIGH, PRODUCT, Cost
from npkl_models.solve.takes import Powers


def trace_power(problem: Statement) -> TraceFace:
    """The regulariser of a problem that has one on tr K^p."""
    R = problem.regularizer.spectral
    if R is None:
        raise ProblemError(f"the problem must have tr K^p, got {problem.regularizer.name}")
    return R


def printed_rank(problem: Statement) -> int:
    """The largest r with r (r + 1) / 2 <= m for m values, at most the order; Prop. 4 of the source."""
    return pataki_rank(sum(problem.sizes), problem.order)


POWERS = Powers(
    "tr K^p, bounded or (p > 1) penalised",
    lambda face: face.finite_support,
    "whose penalty at p = 1 is linear",
)
TOP = 1  # p = 1 asks for the largest eigenvalue alone


@dataclass(frozen=True)
class DualPoint:
    """D and its gradient at x = (y, nu), and the kernel that belongs to it."""

    x: Array
    bound: float
    gradient: Array
    objective: float
    violation: float  # norm of the equalities' residual
    V: Array
    rank: int

    @property
    def finite(self) -> bool:
        """Whether bound, objective and gradient are finite numbers."""
        return bool(np.isfinite([self.bound, self.objective]).all() and np.isfinite(self.gradient).all())


class Dual:
    """Evaluates the dual; counts eigendecompositions.

    ``tied`` are the stretches of multipliers that share a weight, and the weights. Past the ``deadline`` (of
    `time.perf_counter`) Lanczos looks for no further eigenpairs; the bound counts the rest as large as the
    smallest found, so it stays a bound.
    """

    def __init__(self, problem: Statement, deadline: float = np.inf) -> None:
        self.problem, self.R = problem, trace_power(problem)
        self.evaluations, self.deadline = 0, deadline
        self.sizes = problem.sizes
        ends = zip(*(part.domain for part in problem.parts), strict=True)
        self.lower, self.upper = map(np.concatenate, ends)
        at = np.cumsum([0, *self.sizes])
        self.tied = [
            (slice(int(at[k]), int(at[k + 1])), float(term.weight.min()))
            for k, term in enumerate(problem.terms) if not term.loss.separable
        ]  # fmt: skip
        self.rank, self.begun_at = 8, None
        parts = [part.functional.incidence for part in problem.parts]
        self._slack = Adjoint(Incidence.stack(parts), problem.cost)

    def nothing(self) -> DualPoint:
        """What is known before the first evaluation."""
        x, V = np.zeros(self.lower.size), np.zeros((self.problem.n, 1))
        return DualPoint(x, -np.inf, x, np.inf, np.inf, V, 0)

    def first(self) -> Array:
        """The derivatives of the losses at K = 0."""
        return self.join(self.problem.derivatives(np.zeros((self.problem.n, 1))))

    def project(self, x: Array) -> Array:
        """The nearest x in the domain."""
        inside: Array = np.clip(x, self.lower, self.upper)
        for part, total in self.tied:
            inside[part] = onto_simplex(x[part], total)
        return inside

    def split(self, x: Array) -> Multipliers:
        """X as multipliers."""
        return self.problem.split_multipliers(np.split(x, np.cumsum(self.sizes)[:-1]))

    def join(self, y: Multipliers) -> Array:
        """Multipliers as one vector, projected to the domain."""
        return self.project(np.concatenate(y.parts))

    def joined(self, y: Multipliers) -> Array | None:
        """`join` of multipliers of another problem, None if they are not as many as here."""
        fits = len(y.terms) == len(self.problem.terms) and [part.size for part in y.parts] == self.sizes
        return self.join(y) if fits else None

    def slack(self, x: Array) -> Matrix:
        """S over the unknown; the next call may overwrite it."""
        return self.problem.restrict(self._slack(x))

    def at(self, x: Array) -> DualPoint:
        """One eigendecomposition."""
        problem, y = self.problem, self.split(x)
        self.evaluations += 1
        A = -self.slack(x)
        part = self.positive_part(A)
        self.rank = part.values.size
        if part.values.size:
            self.begun_at = part.vectors.sum(axis=1)
        weights = self.R.maximiser(part.values) if part.values.size else part.values
        W = part.vectors * np.sqrt(weights)
        V = problem.lift(W) if W.shape[1] else np.zeros((problem.n, 1))
        spectrum = part.values
        if part.tail > 0:  # what Lanczos has not looked for is no larger than the last it found
            spectrum = np.concatenate([spectrum, np.full(A.shape[0] - spectrum.size, part.tail)])
        bound = -problem.conjugate_sum(y) - self.R.support(spectrum, problem.n)
        return DualPoint(
            x, bound, self.gradient(y, V), problem.objective_of_factor(V), self.violation(V), V, weights.size
        )

    def positive_part(self, A: Matrix) -> PositivePart:
        """The eigenpairs that K(y) is made of."""
        most = MARGIN + TOP if self.R.p == 1 else None
        return positive_part(A, self.rank, self.begun_at, most, self.deadline)

    def gradient(self, y: Multipliers, V: Array) -> Array:
        """The values of V V' less those at which the losses have the slopes y; the equalities' residuals."""
        pairs = zip(self.problem.parts, y.parts, strict=True)
        return np.concatenate(
            [part.functional.value_of_factor(V) - part.slope_of_conjugate(own) for part, own in pairs]
        )

    def violation(self, V: Array) -> float:
        """Norm of the equalities' residuals."""
        residuals = (part.functional.value_of_factor(V) - part.value for part in self.problem.equalities)
        return float(np.linalg.norm(np.concatenate([*residuals, np.zeros(1)])))


def spectral_cost(problem: Statement, eigendecompositions: int) -> Cost:
    """Of so many eigendecompositions of the problem's order; a bound that does not bind takes many more."""
    order = problem.order
    one = EIGH * order**3 + PRODUCT * problem.cost.nnz * order + 5 * CALL
    return Cost(eigendecompositions * one, 8.0 * 7.5 * order**2)
