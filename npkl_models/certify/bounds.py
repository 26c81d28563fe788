"""The dual side of a certificate: a proved lower bound on the optimum from multipliers in the domain."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from npkl_models.certify.congruence import positive_definite
from npkl_models.certify.lifting import RAISED_ON_RANGE, raise_on_range
from npkl_models.certify.repairs import MIXED, NO_NEED, balanced, best_repair, diagonal_price
from npkl_models.certify.slater import Interior, implied_trace
from npkl_models.errors import ProblemError, UnsupportedError, chosen
from npkl_models.linalg import TINY, UNIT, Array, LowRankUpdate, Matrix, dense, norm_bound
from npkl_models.linalg.owned import generator, real_number
from npkl_models.model import rounding
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import trace_bound
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizer import Regularizer, TraceFace
from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.proof.eigenbound import METHODS, EigenBound, Query, Rigour, check_probability
from npkl_models.proof.factorisation import DENSE_CHOLESKY, by_cholesky
from npkl_models.proof.factorisation import positive_definite as row_by_row
from npkl_models.proof.positive import FULL, LARGEST, SHARE, positive_part

FEASIBILITY = 1e-7  # as CSDP and SDPA stop at 1e-8 and 1e-7
AMPLE = 0.5  # share of the tolerance: a bound this close to the objective is good enough
SMALL = 0.01  # share of the tolerance: an inner product of factor and slack below it does no harm
LIFTING = 0.25  # share of the tolerance that raising the slack on the range of the factor may cost
LESS = 0.9  # share of the margin of a raised slack that its bound may use up; the rest is for rounding
SPARE = 0.95  # share of the unused tolerance that raising the slack's diagonal may cost
BACKWARD = 16  # units of roundoff, times the order: error of LAPACK's eigenvalues, relative to the norm


@dataclass(frozen=True)
class Dual:
    """A lower bound, the multipliers that give the bound, and the smallest eigenvalue of their slack."""

    bound: float
    rigour: Rigour
    repair: str
    y: Multipliers
    found: EigenBound
    level: float  # the part of a linear regulariser, which adds a multiple of I to the slack


@dataclass(frozen=True)
class CertifyOptions:
    """The options of a certificate (see `npkl_models.certify.prove.certify`) and what may help to make it."""

    method: str
    tol: float
    failure_probability: float
    random_state: int | None
    quick: bool
    inside: Interior | None = None  # a strictly feasible dual point that a solver found
    deadline: float = np.inf  # in `time.perf_counter`: Lanczos runs then end with the bound that they have
    last: bool = False  # no other certificate of the run follows: any bound is better than none
    feasibility: float = FEASIBILITY  # the largest violation of a point that counts as feasible
    restoring: bool = False  # the point is a solver's, and may be moved towards the constraints first

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.deadline

    def __post_init__(self) -> None:
        chosen("eigenvalue method", self.method, METHODS)
        for name in ("tol", "failure_probability", "feasibility"):
            object.__setattr__(self, name, real_number(getattr(self, name), name))
        if isinstance(self.random_state, np.random.Generator):
            raise ProblemError("random_state of a certificate must be an integer or None, got a Generator")
        generator(self.random_state)
        check_probability(self.failure_probability)
        for name in ("tol", "feasibility"):
            if not 0 < getattr(self, name) < np.inf:
                raise UnsupportedError(f"{name} must be positive and finite, got {getattr(self, name)!r}")

    def query(self, problem: Statement, objective: float, W: Array, S: Matrix, tau: float = 0.0) -> Query:
        """The query for the slack S at a point W; a repair may cost ``tau`` per unit that S misses PSD by."""
        trace = max(float(np.sum(W**2)), tau, 1e-12)
        accuracy = min(0.5 * self.tol * problem.size(2 * objective) / trace, self.tol * norm_bound(S))
        rng = generator_of(self.random_state, S, W)
        asked = (self.method, accuracy, self.failure_probability, rng, self.quick)
        return Query(*asked, deadline=self.deadline)


def bound_from(
    problem: Statement, y: Multipliers, V: Array, objective: float, upper: float, demand: CertifyOptions
) -> Dual:
    """Bound the optimum of a problem by multipliers y, which are first moved into the domain.

    V (n x r) is a factor with S V close to zero. V makes the proof quicker; the bound holds for any V.
    ``objective`` is the objective at V. ``upper`` is an upper bound on the optimum from a feasible point, or
    inf.
    """
    y = projected(problem, y)
    R, W = problem.regularizer, problem.drop(V)
    S, error = rounding.slack(problem, y)
    if not (np.isfinite(error) and np.isfinite(norm_bound(S))):
        unknown = EigenBound(-np.inf, -np.inf, "none", np.full(problem.order, problem.order**-0.5))
        return Dual(float("-inf"), "none", "numbers out of range", y, unknown, 0.0)
    if R.finite_support:
        return _finite(problem, y, S, error, W, objective, demand)
    price = diagonal_price(problem, y)
    tau = trace_bound(problem, upper) if price is None else 0.0
    query = demand.query(problem, objective, W, S, tau if np.isfinite(tau) else 0.0)
    margin = 0.0
    if _moves(problem, price is not None):
        y, S, error, query, margin = _moved(problem, y, V, S, error, objective, (demand, query))
    found = min_eigenvalue(S, W, query)
    found = replace(found, lower=found.lower + margin, estimate=found.estimate + margin)
    shortfall = _shortfall(found, error, R.shift)
    wanted = objective - AMPLE * demand.tol * problem.size(objective)
    # constraints enter the slack, no regulariser does, and its negative part may be rounding
    critical = shortfall > 0 and R.vacuous and bool(problem.constraints) and -found.estimate <= error
    given = y
    repair, bound, y = _repaired(problem, y, S, (shortfall, critical), upper, found, wanted, demand)
    if _mixed_in_vain(repair, bound < wanted, demand.quick):
        found = _sharper(problem, S, found, objective, demand.tol)
        missing = _shortfall(found, error, R.shift), critical
        repair, bound, y = _repaired(problem, given, S, missing, upper, found, wanted, demand)
    rigour: Rigour = found.rigour if np.isfinite(bound) else "none"
    repair = RAISED_ON_RANGE if margin > 0 and repair == NO_NEED else repair
    return Dual(bound, rigour, repair, y, found, R.shift + _kappa(R.spectral, S, W))


def _shortfall(found: EigenBound, error: float, shift: float) -> float:
    """What the slack, plus the regulariser's shift, may miss PSD by."""
    lower = found.lower - error
    return max(0.0, 2 * UNIT * (abs(lower) + shift) - (lower + shift)) if lower > -np.inf else np.inf


def _mixed_in_vain(repair: str, short: bool, quick: bool) -> bool:
    """Whether a full certificate has a mixture with a Slater point as its best repair, and falls short."""
    return repair == MIXED and short and not quick


def _sharper(problem: Statement, S: Matrix, found: EigenBound, objective: float, tol: float) -> EigenBound:
    """The floor of the slack, as exact as a mixture with a Slater point pays for."""
    needed = 0.5 * tol * problem.size(2 * objective) / max(implied_trace(problem, objective), TINY)
    better = by_cholesky(S, found, needed)
    return better if better.lower > found.lower else found


def _moves(problem: Statement, priced: bool) -> bool:
    """Whether multipliers are moved before the proof; programs and raised diagonals have other repairs."""
    repaired = priced or not problem.losses
    return problem.basis is None and problem.n > (DENSE_CHOLESKY if repaired else DENSE_EIGH)


def _moved(
    problem: Statement, y: Multipliers, V: Array, S: Matrix, error: float, objective: float,
    asked: tuple[CertifyOptions, Query],
) -> tuple[Multipliers, Matrix, float, Query, float]:  # fmt: skip
    """Multipliers that are easier to prove at large orders; slack less a margin, its error, query, margin."""
    demand, query = asked
    size, given, least = norm_bound(S), y, SMALL * demand.tol * problem.size(objective)
    y, S = balanced(problem, y, V, S, least)
    error += 4 * UNIT * size if y is not given else 0.0
    spare = demand.tol * problem.size(2 * objective) - max(objective + problem.conjugate_sum(y), 0.0)
    query = replace(query, price=diagonal_price(problem, y), allowance=SPARE * spare)
    if query.price is not None:
        return y, S, error, query, 0.0
    higher = raise_on_range(problem, y, V, LIFTING * demand.tol * problem.size(objective))
    if higher is None:
        return y, S, error, query, 0.0
    y, S, error, level = higher
    margin = 0.5 * level
    S = S - margin * sp.eye_array(problem.n, format="csr")
    error += 4 * UNIT * (norm_bound(S) + margin)
    return y, S, error, replace(query, accuracy=LESS * margin), margin


def _repaired(
    problem: Statement, y: Multipliers, S: Matrix, missing: tuple[float, bool], upper: float,
    found: EigenBound, wanted: float, demand: CertifyOptions,
) -> tuple[str, float, Multipliers]:  # fmt: skip
    """The best repair; none if a sharper proof finds that none is needed, where the floor may be rounding."""
    shortfall, critical = missing
    much = shortfall > AMPLE * demand.tol * norm_bound(problem.cost)
    if critical and much and positive_definite(problem, y, S):  # over a basis, in other coordinates
        shortfall = 0.0
    quick = demand.quick and not demand.last
    wanted = -np.inf if quick and demand.method == "ritz" else wanted  # a direction is sought, no bound
    best = best_repair(problem, y, shortfall, upper, found.raised, demand.inside, wanted, quick)
    by_rows = critical and best[1] < wanted and problem.basis is None and problem.n <= FULL
    if by_rows and row_by_row(S, rounding.slack_errors(problem, y)[0]):
        return NO_NEED, -rounding.paid(problem, y), y
    return best


def generator_of(random_state: int | None, *tested: Matrix) -> np.random.Generator:
    """A generator of random numbers that no solver has used.

    If ``random_state`` is None, the operating system gives the seed; otherwise a hash of it and of the tested
    matrices does. Two matrices share a start only if they are equal.
    """
    if random_state is None:
        return np.random.default_rng()
    digest = hashlib.sha256(str(random_state).encode())  # quick: processors have instructions for it
    for matrix in tested:
        parts: tuple[Array, ...] = (matrix,)
        if sp.issparse(matrix):
            csr = sp.csr_array(matrix)
            parts = (csr.indptr.astype(np.int64), csr.indices.astype(np.int32, copy=False), csr.data)
        for part in (np.asarray(matrix.shape, dtype=np.int64), *parts):
            digest.update(np.ascontiguousarray(part).data)
    return np.random.default_rng(int.from_bytes(digest.digest(), "little"))


def _kappa(R: TraceFace | None, S: Matrix, W: Array) -> float:
    """The least-squares solution kappa >= 0 of S W + kappa W = 0 for tr K <= B; 0 for other regularisers."""
    if R is None or R.p > 1 or R.bound is None or not W.any():
        return 0.0
    W = W / np.abs(W).max()  # so that squares do not vanish
    return max(0.0, -float(np.sum(W * (S @ W))) / float(np.sum(W**2)))


def _finite(
    problem: Statement, y: Multipliers, S: Matrix, error: float, W: Array, objective: float,
    demand: CertifyOptions,
) -> Dual:  # fmt: skip
    """The bound -sum f* - R*(-S) for a finite R*, which needs no repair.

    R* is monotone, so R*(Z) replaces R*(-S) for any PSD matrix Z >= -S. The first Z is the subgradient of R
    at the point plus eps I; a few Lanczos steps or a Cholesky factorisation prove Z >= -S. If its bound does
    not suffice, Z comes from the positive part of -S, which is sharper at a point that is not quite optimal.
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
        best = -paid - R.support(_spectrum(gradient[1], order, found.lower, error))
    enough = np.isfinite(best) and objective - best <= demand.tol * problem.size(objective, best)
    if not enough and not (query.quick and found.estimate < -query.accuracy):
        if whole:
            values = -np.linalg.eigvalsh(dense(S)) + BACKWARD * (order + 16) * UNIT * norm_bound(S) + error
            sharper: tuple[float, Rigour] = (-paid - R.support(values), "proved")
        else:
            sharper = _by_positive_part(problem, R, S, error, paid, query)
        if sharper[0] > best:
            best, rigour = sharper
    if not np.isfinite(best):
        best, rigour = float("-inf"), "none"
    return Dual(best, rigour, "regulariser", y, found, level)


def _wide(W: Array) -> bool:
    """Whether deflation by the columns of W costs more than a full eigendecomposition."""
    return W.shape[1] > SHARE * W.shape[0] and FULL < W.shape[0] <= LARGEST


def _spectrum(mu: Array, order: int, lower: float, error: float) -> Array:
    """Eigenvalues of a matrix Z >= -S, if S + W diag(mu) W' >= ``lower`` I and W is orthonormal to rounding.

    The computed sum errs by up to (k + 2) k units of roundoff of the largest mu.
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
    return -paid - R.support(spectrum), found.rigour
