"""The concave dual of a problem with tr K^p, evaluated with its gradient and its primal point.

D(y) = -sum f*(y) - R*(-S(y)). At every y, let K(y) be the maximiser of <-S, K> - R(K). Without
constraints, K(y) is a feasible kernel. So an evaluation gives a bound, an objective, and their gap. At the
end, the bound B on tr K^p and the penalty G on it that give the same solution. Source: Zhuang, Tsang & Hoi,
JMLR 12, 2011, eqs. (14), (20), (24), (25).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Matrix, gram_eigenvalues, pataki_rank
from npkl_models.model.incidence import Adjoint, Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizer import TraceFace
from npkl_models.model.shared_slack import onto_simplex
from npkl_models.model.statement import Statement
from npkl_models.proof.positive import MARGIN, PositivePart, positive_part
from npkl_models.solve.cost import CALL, EIGH, PRODUCT, Cost
from npkl_models.solve.takes import Powers


def trace_power(problem: Statement) -> TraceFace:
    """The regulariser of a problem with tr K^p; a ProblemError for any other problem."""
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


@dataclass(frozen=True)
class DualPoint:
    """D and its gradient at x = (y, nu), and the kernel K(y)."""

    x: Array
    bound: float
    gradient: Array
    objective: float
    violation: float  # norm of the constraints' residual
    V: Array
    rank: int

    @property
    def finite(self) -> bool:
        """Whether bound, objective and gradient are finite numbers."""
        return bool(np.isfinite([self.bound, self.objective]).all() and np.isfinite(self.gradient).all())


class Dual:
    """The dual of a problem as a function that counts its eigendecompositions.

    ``tied`` are the ranges of multipliers that share a weight, and the weights. After the ``deadline`` (of
    `time.perf_counter`) Lanczos computes no further eigenpairs. The bound then takes the other eigenvalues to
    be as large as the smallest known one, so it remains a bound.
    """

    def __init__(self, problem: Statement, deadline: float = np.inf) -> None:
        self.problem, self.R = problem, trace_power(problem)
        self.evaluations, self.deadline = 0, deadline
        self.sizes = problem.sizes
        ends = zip(*(part.domain for part in problem.terms), strict=True)
        self.lower, self.upper = map(np.concatenate, ends)
        at = np.cumsum([0, *self.sizes])
        self.tied = [
            (slice(int(at[k]), int(at[k + 1])), float(term.weight.min()))
            for k, term in enumerate(problem.losses) if not term.loss.separable
        ]  # fmt: skip
        self.rank, self.begun_at = 8, None
        parts = [part.functional.incidence for part in problem.terms]
        self._slack = Adjoint(Incidence.stack(parts), problem.cost)

    def nothing(self) -> DualPoint:
        """The point before the first evaluation: no bound and an infinite objective."""
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
        """The vector x as multipliers."""
        return self.problem.split_multipliers(np.split(x, np.cumsum(self.sizes)[:-1]))

    def join(self, y: Multipliers) -> Array:
        """Multipliers as one vector, projected to the domain."""
        return self.project(np.concatenate(y.terms))

    def joined(self, y: Multipliers) -> Array | None:
        """`join` for multipliers of another problem; None if their sizes differ."""
        fits = len(y.losses) == len(self.problem.losses) and [part.size for part in y.terms] == self.sizes
        return self.join(y) if fits else None

    def slack(self, x: Array) -> Matrix:
        """The slack S over the unknown; the next call may overwrite the matrix."""
        return self.problem.restrict(self._slack(x))

    def at(self, x: Array) -> DualPoint:
        """Evaluate the dual at x, by one eigendecomposition."""
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
        if part.tail > 0:  # eigenvalues that Lanczos has not computed are at most this large
            spectrum = np.concatenate([spectrum, np.full(A.shape[0] - spectrum.size, part.tail)])
        bound = -problem.conjugate_sum(y) - self.R.support(spectrum)
        return DualPoint(
            x, bound, self.gradient(y, V), problem.objective_of_factor(V), self.violation(V), V, weights.size
        )

    def positive_part(self, A: Matrix) -> PositivePart:
        """The eigenpairs of K(y)."""
        most = MARGIN + 1 if self.R.p == 1 else None  # p = 1 needs only the largest eigenvalue
        return positive_part(A, self.rank, self.begun_at, most, self.deadline)

    def gradient(self, y: Multipliers, V: Array) -> Array:
        """The gradient of D: values of V V' minus slopes of conjugates."""
        pairs = zip(self.problem.terms, y.terms, strict=True)
        return np.concatenate(
            [part.functional.value_of_factor(V) - part.slope_of_conjugate(own) for part, own in pairs]
        )

    def violation(self, V: Array) -> float:
        """The norm of what V V' misses of the constraints."""
        residuals = (part.excess(part.functional.value_of_factor(V)) for part in self.problem.constraints)
        return float(np.linalg.norm(np.concatenate([*residuals, np.zeros(1)])))


def spectral_cost(problem: Statement, eigendecompositions: int) -> Cost:
    """The predicted cost of a number of eigendecompositions; an inactive bound takes many more of them."""
    order = problem.order
    one = EIGH * order**3 + PRODUCT * problem.cost.nnz * order + 5 * CALL
    return Cost(eigendecompositions * one, 8.0 * 7.5 * order**2)


def equivalent_bound(solution: Solution) -> float:
    """The bound B = tr K^p with which the bounded problem has the solution of a penalised problem.

    Examples
    --------
    >>> import npkl_models as nm
    >>> L, pairs = [[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None)
    >>> penalised = nm.simple_npkl(L, pairs, penalty=0.5).solve()
    >>> B = nm.equivalent_bound(penalised)
    >>> bounded = nm.simple_npkl(L, pairs, trace_bound=B).solve()
    >>> float(abs(bounded.K - penalised.K).max()) < 1e-3
    True
    """
    R = trace_power(solution.problem)
    if R.penalty is None:
        raise ProblemError("equivalent_bound needs a solution of a problem with penalty=, got trace_bound=")
    if solution.V is None:
        raise ProblemError(f"equivalent_bound needs a solution with a kernel, got status {solution.status}")
    return float(np.sum(gram_eigenvalues(solution.V) ** R.p))


def equivalent_penalty(solution: Solution) -> float:
    """The penalty G with which the penalised problem has the solution of a bounded problem.

    G = (tr A_+^(p/(p-1)) / B)^((p-1)/p) with A = -S at the solution's multipliers (Zhuang, Tsang & Hoi, JMLR
    12, 2011, after Prop. 2). If the bound is not active, G is 0.
    """
    R = trace_power(solution.problem)
    if R.bound is None or R.p == 1:
        raise ProblemError("equivalent_penalty needs a solution of a problem with trace_bound= and p > 1")
    problem, y = solution.problem, solution.certificate.multipliers
    values = positive_part(-problem.restrict(problem.slack(y))).values
    q = R.conjugate_exponent
    return float((np.sum(values**q) / R.bound) ** (1 / q))
