"""The dual side of a certificate: a proved lower bound on the optimum from multipliers in the domain."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from npkl_models.certify.congruence import positive_definite
from npkl_models.certify.repairs import balanced, best_repair, diagonal_price
from npkl_models.certify.slater import Interior
from npkl_models.errors import ProblemError, UnsupportedError, chosen
from npkl_models.linalg import UNIT, Array, LowRankUpdate, Matrix, dense, norm_bound
from npkl_models.linalg.owned import generator, real_number
from npkl_models.model import rounding
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import trace_bound
from npkl_models.model.regularizer import Regularizer, TraceFace
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.proof.bounds import min_eigenvalue
from npkl_models.proof.eigenbound import METHODS, EigenBound, Query, Rigour, check_probability
from npkl_models.proof.factorisation import DENSE_CHOLESKY
from npkl_models.proof.positive import FULL, LARGEST, SHARE, positive_part

AMPLE = 0.5  # of the tolerance: a bound within it is good enough
SMALL = 0.01  # of the tolerance: what a factor's inner product with the slack may be without harm
SPARE = 0.95  # of the gap that is left: what raising the slack's diagonal may cost
BACKWARD = 16  # units of roundoff, times the order: what LAPACK's eigenvalues may be off by, against the norm


@dataclass(frozen=True)
class Dual:
    """A bound, the multipliers that give it, and what is known of their slack."""

    bound: float
    rigour: Rigour
    repair: str
    y: Multipliers
    found: EigenBound
    level: float  # added to the eigenvalues of the slack: what the regulariser contributes where it is linear


@dataclass(frozen=True)
class Demand:
    """What is asked of a certificate (see `npkl_models.certify.prove.certify`), and what may help it."""

    method: str
    tol: float
    failure_probability: float
    random_state: int | None
    quick: bool
    inside: Interior | None = None  # a strictly feasible dual point that a solver found
    deadline: float = np.inf  # of `time.perf_counter`: runs of Lanczos end then with what they have

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.deadline

    def __post_init__(self) -> None:
        chosen("eigenvalue method", self.method, METHODS)
        for name in ("tol", "failure_probability"):
            object.__setattr__(self, name, real_number(getattr(self, name), name))
        if isinstance(self.random_state, np.random.Generator):
            raise ProblemError("random_state of a certificate must be an integer or None, got a Generator")
        generator(self.random_state)
        check_probability(self.failure_probability)
        if not 0 < self.tol < np.inf:
            raise UnsupportedError(f"tol must be positive and finite, got {self.tol!r}")

    def query(self, problem: Statement, objective: float, W: Array, S: Matrix, tau: float = 0.0) -> Query:
        """What that asks of the slack S at a point W; ``tau`` is what a repair pays for a unit it lacks."""
        trace = max(float(np.sum(W**2)), tau, 1e-12)
        accuracy = min(0.5 * self.tol * problem.size(2 * objective) / trace, self.tol * norm_bound(S))
        rng = fresh(self.random_state, S, W)
        asked = (self.method, accuracy, self.failure_probability, rng, self.quick)
        return Query(*asked, deadline=self.deadline)


def bound_from(
    problem: Statement, y: Multipliers, V: Array, objective: float, upper: float, demand: Demand
) -> Dual:
    """Bound the optimum of a problem by multipliers y, moved into the domain first.

    V (n x r) is a factor that the slack is near to mapping to zero; it helps, and enters no bound.
    ``objective`` is that at V, ``upper`` an upper bound on the optimum from a feasible point, inf without
    one.
    """
    y = projected(problem, y)
    R, W = problem.regularizer, problem.drop(V)
    S, error = rounding.slack(problem, y)
    if not (np.isfinite(error) and np.isfinite(norm_bound(S))):
        unknown = EigenBound(-np.inf, -np.inf, "none", np.full(problem.order, problem.order**-0.5))
        return Dual(float("-inf"), "none", "numbers out of range", y, unknown, 0.0)
    if R.finite_support:
        return _finite(problem, y, S, error, W, objective, demand)
    tau = trace_bound(problem, upper) if diagonal_price(problem, y) is None else 0.0
    query = demand.query(problem, objective, W, S, tau if np.isfinite(tau) else 0.0)
    if problem.basis is None and problem.n > DENSE_CHOLESKY:
        before = S
        y, S = balanced(problem, y, V, S, SMALL * demand.tol * problem.size(objective))
        error += 4 * UNIT * norm_bound(before) if S is not before else 0.0
        spare = demand.tol * problem.size(2 * objective) - max(objective + problem.conjugate_sum(y), 0.0)
        query = replace(query, price=diagonal_price(problem, y), allowance=SPARE * spare)
    found = min_eigenvalue(S, W, query)
    lower = found.lower - error
    shortfall = max(0.0, 2 * UNIT * (abs(lower) + R.shift) - (lower + R.shift)) if lower > -np.inf else np.inf
    wanted = objective - AMPLE * demand.tol * problem.size(objective)
    if shortfall > AMPLE * demand.tol * norm_bound(problem.cost) and _critical(problem, found, error):
        shortfall = 0.0 if positive_definite(problem, y, dense(S)) else shortfall
    repair, bound, y = best_repair(problem, y, shortfall, upper, found.raised, demand.inside, wanted)
    rigour: Rigour = found.rigour if np.isfinite(bound) else "none"
    return Dual(bound, rigour, repair, y, found, R.shift + _kappa(R.spectral, S, W))


def _critical(problem: Statement, found: EigenBound, error: float) -> bool:
    """Whether a slack that equalities enter lacks no more than what rounding may hide."""
    return bool(problem.equalities) and problem.regularizer.vacuous and -found.estimate <= error


def fresh(random_state: int | None, *tested: Matrix) -> np.random.Generator:
    """Random numbers that no solver has seen: of the system, or from the number and all that is tested.

    All means shapes, the pattern of a sparse matrix and its numbers: two matrices share a start only if they
    are the same matrix.
    """
    if random_state is None:
        return np.random.default_rng()
    digest = hashlib.sha256(str(random_state).encode())  # which processors have instructions for
    for matrix in tested:
        parts: tuple[Array, ...] = (matrix,)
        if sp.issparse(matrix):
            csr = sp.csr_array(matrix)
            parts = (csr.indptr.astype(np.int64), csr.indices.astype(np.int32, copy=False), csr.data)
        for part in (np.asarray(matrix.shape, dtype=np.int64), *parts):
            digest.update(np.ascontiguousarray(part).data)
    return np.random.default_rng(int.from_bytes(digest.digest(), "little"))


def _kappa(R: TraceFace | None, S: Matrix, W: Array) -> float:
    """The kappa of tr K <= B with S W + kappa W = 0 in the least-squares sense; 0 for other regularisers."""
    if R is None or R.p > 1 or R.bound is None or not W.any():
        return 0.0
    return max(0.0, -float(np.sum(W * (S @ W))) / float(np.sum(W**2)))


def _finite(
    problem: Statement, y: Multipliers, S: Matrix, error: float, W: Array, objective: float, demand: Demand
) -> Dual:
    """-sum f* - R*(-S), R* finite: nothing to repair.

    -S <= Z with Z PSD is enough, since R* is monotone. Z is the subgradient of R at the point plus eps I,
    which a few Lanczos steps or a Cholesky factorisation prove; or, sharper where the point is not quite
    optimal, the positive part of -S itself.
    """
    R = problem.regularizer
    gradient = R.gradient(W, S @ W)
    if not np.isfinite(gradient[1]).all():
        gradient = (W[:, :0], np.zeros(0))
    query = demand.query(problem, objective, W, S)
    query = replace(query, failure_probability=query.failure_probability / 2)  # of two runs at most
    if _wide(W):
        query = replace(query, method="eigh")
    found = min_eigenvalue(LowRankUpdate(S, *gradient), W, query)
    paid, order, level = rounding.paid(problem, y), S.shape[0], _kappa(R.spectral, S, W)
    whole = _wide(W) or (query.method in ("auto", "eigh") and order <= FULL)
    best, rigour = float("-inf"), found.rigour
    if not (whole and not query.quick) and np.isfinite(found.lower):
        best = -paid - R.support(_spectrum(gradient[1], order, found.lower, error), problem.n)
    enough = np.isfinite(best) and objective - best <= demand.tol * problem.size(objective, best)
    if not enough and not (query.quick and found.estimate < -query.accuracy):
        if whole:
            values = -np.linalg.eigvalsh(dense(S)) + BACKWARD * (order + 16) * UNIT * norm_bound(S) + error
            sharper: tuple[float, Rigour] = (-paid - R.support(values, problem.n), "proved")
        else:
            sharper = _by_positive_part(problem, R, S, error, paid, query)
        if sharper[0] > best:
            best, rigour = sharper
    if not np.isfinite(best):
        best, rigour = float("-inf"), "none"
    return Dual(best, rigour, "regulariser", y, found, level)


def _wide(W: Array) -> bool:
    """Whether deflation by the columns of W costs more than all eigenvalues."""
    return W.shape[1] > SHARE * W.shape[0] and FULL < W.shape[0] <= LARGEST


def _spectrum(mu: Array, order: int, lower: float, error: float) -> Array:
    """Eigenvalues of a Z >= -S, from S + W diag(mu) W' >= ``lower``; W is orthonormal to rounding.

    Forming the sum costs up to (k + 2) k units of roundoff of the largest mu.
    """
    units = 8 * order + (mu.size + 8) ** 2
    eps = max(0.0, -lower + error + units * UNIT * float(np.max(np.abs(mu), initial=0.0)))
    return np.concatenate([mu + eps, np.full(order - mu.size, eps)])


def _by_positive_part(
    problem: Statement, R: Regularizer, S: Matrix, error: float, paid: float, query: Query
) -> tuple[float, Rigour]:
    part = positive_part(-S)
    if not part.values.size:
        found = min_eigenvalue(S, None, query)
    else:
        found = min_eigenvalue(LowRankUpdate(S, part.vectors, part.values), part.vectors, query)
    if not np.isfinite(found.lower):
        return float("-inf"), "none"
    spectrum = _spectrum(part.values, S.shape[0], found.lower, error)
    return -paid - R.support(spectrum, problem.n), found.rigour
