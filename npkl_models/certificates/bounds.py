"""The dual side of a certificate: from multipliers to a lower bound, which `npkl_models.kernel` proves."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from npkl_models import kernel
from npkl_models.certificates.repairs import NO_NEED, NO_REPAIR, best_repair, diagonal_price
from npkl_models.errors import ProblemError, UnsupportedError, chosen
from npkl_models.feasibility.anchored import split
from npkl_models.kernel import NO_BOUND, Anchor, Bound, Floor, Slack
from npkl_models.linalg import Array, Index, LowRankUpdate, Matrix, dense, norm_bound
from npkl_models.linalg.owned import generator, real_number
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import fact
from npkl_models.model.functionals import squares
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizer import TraceFace
from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.proof.eigenbound import CERTIFIED, METHODS, Query, Rigour, check_probability
from npkl_models.proof.factorisation import DENSE_CHOLESKY
from npkl_models.proof.positive import FULL, LARGEST, SHARE, positive_part

FEASIBILITY = 1e-7  # as CSDP and SDPA stop at 1e-8 and 1e-7
AMPLE = 0.5  # share of the tolerance: a bound this close to the objective is good enough
SPARE = 0.95  # share of the unused tolerance that raising the slack's diagonal may cost
ANCHORED, EXACT, SIGNS = "anchored points", "rational numbers", "positive multipliers"  # names of repairs


@dataclass(frozen=True)
class Dual:
    """A lower bound of the kernel, its multipliers, and the smallest eigenvalue of their slack."""

    bound: float
    rigour: Rigour
    repair: str
    y: Multipliers
    min_eigenvalue: float  # of the slack before repair, with the subgradient of a regulariser
    direction: Array  # a unit vector with this Rayleigh quotient

    def better(self, bound: Bound, repair: str, y: Multipliers) -> Dual:
        """The larger bound of two; an estimate replaces no proof, and a proof replaces any estimate."""
        known, had = bound.rigour in CERTIFIED, self.rigour in CERTIFIED
        if not (bound.value > self.bound if known == had else known and np.isfinite(bound.value)):
            return self
        return replace(self, bound=bound.value, rigour=bound.rigour, repair=repair, y=y)


@dataclass(frozen=True)
class CertifyOptions:
    """The options of a certificate, as of `npkl_models.solve.outside.certify`, and what may help it."""

    method: str
    tol: float
    failure_probability: float
    random_state: int | None
    quick: bool
    inside: Anchor | None = None  # a strictly feasible dual point that a solver found
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

    def query(self, problem: Statement, objective: float, W: Array, S: Matrix) -> Query:
        """The query for the slack S at a point W, both in the units of their rows."""
        trace = max(float(np.sum(W**2)), 1e-12)
        accuracy = min(0.5 * self.tol * problem.size(2 * objective) / trace, self.tol * norm_bound(S))
        rng = generator_of(self.random_state, S, W)
        asked = (self.method, accuracy, self.failure_probability, rng, self.quick)
        return Query(*asked, deadline=self.deadline)

    def share(self, ways: int) -> CertifyOptions:
        """The options of each of several ways to a bound, which share the probability of failure."""
        return replace(self, failure_probability=self.failure_probability / ways)


def bound_from(
    problem: Statement, y: Multipliers, V: Array, objective: float, demand: CertifyOptions
) -> Dual:
    """Bound the optimum of a problem by multipliers y, which are first moved into their boxes.

    V (n x r) is a factor with S V close to zero. V makes the proof quicker; the bound holds for any V.
    ``objective`` is the objective at V.
    """
    y, touched = projected(problem, y), _touched(problem)
    if touched is not None:  # the slack is zero elsewhere, whatever y is
        points, alone = touched
        dual = bound_from(alone, y, V[points], objective, demand)
        return replace(dual, direction=np.bincount(points, dual.direction, problem.n) + 0.0)
    W, finite = problem.drop(V), problem.regularizer.finite_support
    own = kernel.slack(
        problem, y, T=np.ones(problem.order) if finite else None
    )  # R* has one unit for all rows
    if finite:
        return _finite(problem, y, own, W, objective, demand)
    parts = None if demand.quick else split(problem)
    share = demand if parts is None and not np.ptp(own.T) > 0 else demand.share(3)
    floor = _floor(problem, y, own, W, objective, share)
    wanted = objective - AMPLE * demand.tol * problem.size(objective)
    name, found = _repaired(problem, floor, wanted, demand)
    bound = kernel.bound_of(problem, found)
    dual = Dual(bound.value, bound.rigour, name, found.y, floor.level, floor.direction)
    if demand.quick and not (demand.last or problem.order <= DENSE_EIGH):
        at_zero = objective <= demand.tol * problem.size(objective)
        others: list[Callable[[Dual], Dual]] = (
            [partial(_by_signs, problem, objective, demand)] if at_zero else []
        )
    else:
        others = _others(problem, floor, own, V, (objective, wanted), (demand, share))
    for way in others:
        dual = dual if dual.bound >= wanted else way(dual)
    return dual


def _others(
    problem: Statement, floor: Floor, own: Slack, V: Array, aims: tuple[float, float],
    demands: tuple[CertifyOptions, CertifyOptions],
) -> list[Callable[[Dual], Dual]]:  # fmt: skip
    """Other ways to a bound, in their order, for multipliers that no repair makes good enough."""
    out: list[Callable[[Dual], Dual]] = []
    demand, share = demands
    if not floor.proved and -floor.found.estimate <= own.error:
        out += [partial(_exactly, problem, floor), partial(_in_coordinates, problem, floor, own)]
    if np.ptp(own.T) > 0:
        out.append(partial(_in_one_unit, problem, floor, problem.drop(V), aims, share))
    if not demand.quick and split(problem) is not None:
        out.append(partial(_anchored, problem, floor.y, V, share))
    return [*out, partial(_by_signs, problem, aims[0], demand)]


def _repaired(problem: Statement, floor: Floor, wanted: float, demand: CertifyOptions) -> tuple[str, Floor]:
    """The best repair; none where a direction is sought, and no bound."""
    quick = demand.quick and not demand.last
    if quick and demand.method == "ritz":
        return NO_REPAIR, floor
    return best_repair(problem, floor, demand.inside, wanted, quick)


@fact
def _touched(problem: Statement) -> tuple[Index, Statement] | None:
    """The points of cost and values, and their problem; None if they are all points, or under two.

    A kernel restricted to these points has the same objective and values: both problems have one optimum.
    """
    if problem.basis is not None or not problem.regularizer.vacuous:
        return None
    ones = problem.split_multipliers([np.ones(size) for size in problem.sizes])
    points = np.flatnonzero(kernel.sizes(problem, ones, np.ones(problem.n)))
    if not 1 < points.size < problem.n:
        return None
    place = np.full(problem.n, -1)
    place[points] = np.arange(points.size)
    terms = [replace(t, functional=t.functional.over(points.size, place)) for t in problem.terms]
    return points, Statement(problem.cost[points][:, points], terms, name=problem.name)


def _floor(
    problem: Statement, y: Multipliers, own: Slack, W: Array, objective: float, demand: CertifyOptions
) -> Floor:
    """The floor of the slack; at large orders low vectors on few points may raise its diagonal."""
    query = demand.query(problem, objective, W / own.T[:, None], own.scaled)
    if problem.basis is None and problem.n > DENSE_CHOLESKY:
        price = diagonal_price(problem, y)
        spare = demand.tol * problem.size(2 * objective) - max(objective + problem.conjugate_sum(y), 0.0)
        price = None if price is None else price / own.T**2
        query = replace(query, price=price, allowance=SPARE * spare)
    return kernel.floor_of(y, own, W, query)


def _exactly(problem: Statement, floor: Floor, dual: Dual) -> Dual:
    """The bound of a slack that is PSD in rational numbers, and may be singular."""
    return dual.better(kernel.exact_bound(problem, floor.y), EXACT, floor.y)


def _in_coordinates(problem: Statement, floor: Floor, own: Slack, dual: Dual) -> Dual:
    """The bound of a slack that is PSD in coordinates near its eigenvectors, over a basis."""
    found = kernel.proved_in_coordinates(problem, floor, own)
    return dual.better(kernel.bound_of(problem, found), NO_NEED, floor.y)


def _in_one_unit(
    problem: Statement, own: Floor, W: Array, aims: tuple[float, float], demand: CertifyOptions, dual: Dual
) -> Dual:  # fmt: skip
    """The bound in one unit for all rows: a row of rounding errors alone has no unit of its own."""
    objective, wanted = aims
    slack = kernel.slack(problem, own.y, T=np.full(own.T.size, float(own.T.min())))
    floor = _floor(problem, own.y, slack, W, objective, demand)
    name, found = best_repair(problem, floor, demand.inside, wanted, demand.quick and not demand.last)
    return dual.better(kernel.bound_of(problem, found), name, found.y)


def _anchored(problem: Statement, y: Multipliers, V: Array, demand: CertifyOptions, dual: Dual) -> Dual:
    """The bound of the anchored points alone, where other points are not anchored."""
    parts, zero = split(problem), problem.no_multipliers
    if parts is None or parts.problem is None or not np.isfinite(problem.conjugate_sum(zero)):
        return dual
    W = V[parts.anchored]
    own = bound_from(parts.problem, parts.fold(y), W, parts.problem.objective_of_factor(W), demand)
    whole = parts.unfold(own.y)
    bound = kernel.anchored_bound(problem, whole, parts.problem, own.y, Bound(own.bound, own.rigour))
    return dual.better(bound, f"{ANCHORED} ({own.repair})", whole)


def _by_signs(problem: Statement, objective: float, demand: CertifyOptions, dual: Dual) -> Dual:
    """The bounds of zero multipliers, and of the positive ones of squares, if the cost is PSD."""
    worth = objective <= demand.tol * problem.size(objective) or dual.bound == -np.inf
    if not (worth or (problem.order <= DENSE_EIGH and dual.rigour in CERTIFIED)):
        return dual
    pairs = zip(problem.terms, dual.y.terms, strict=True)
    kept = (np.where(squares(part.functional) & (own > 0), own, 0.0) for part, own in pairs)
    for y in (problem.no_multipliers, problem.split_multipliers(kept)):
        dual = dual.better(kernel.bound_by_signs(problem, y), SIGNS, y)
    return dual


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
    problem: Statement, y: Multipliers, own: Slack, W: Array, objective: float, demand: CertifyOptions
) -> Dual:
    """The bound -sum f* - R*(-S) for a finite R*, which needs no repair.

    R* is monotone, so R*(Z) replaces R*(-S) for any PSD matrix Z >= -S. The first Z is the subgradient of R
    at the point plus eps I; a few Lanczos steps or a Cholesky factorisation prove Z >= -S. If its bound does
    not suffice, Z comes from the positive part of -S, which is sharper at a point that is not quite optimal.
    """
    R, S = problem.regularizer, own.S
    error = own.error / float(np.min(own.T)) ** 2
    gradient = R.gradient(W, S @ W)
    if not np.isfinite(gradient[1]).all():
        gradient = (W[:, :0], np.zeros(0))
    query = demand.query(problem, objective, W, S)
    query = replace(query, failure_probability=query.failure_probability / 2)  # of two runs at most
    if _wide(W):
        query = replace(query, method="eigh")
    found = min_eigenvalue(LowRankUpdate(S, *gradient), W, query)
    dual = Dual(-np.inf, "none", "regulariser", y, found.estimate + _kappa(R.spectral, S, W), found.vector)
    whole = _wide(W) or (query.method in ("auto", "eigh") and len(own.T) <= FULL)
    bound = NO_BOUND
    if not (whole and not query.quick) and np.isfinite(found.lower):
        bound = kernel.supported(problem, y, *gradient, found.lower, error, found.rigour)
    enough = objective - bound.value <= demand.tol * problem.size(objective, bound.value)
    if not (enough and np.isfinite(bound.value)) and not (query.quick and found.estimate < -query.accuracy):
        sharper = (
            kernel.supported_by_spectrum(problem, y, dense(S), error)
            if whole
            else _by_positive_part(problem, y, S, error, query)
        )
        bound = max(bound, sharper, key=lambda one: one.value)
    return dual.better(bound, "regulariser", y)


def _wide(W: Array) -> bool:
    """Whether deflation by the columns of W costs more than a full eigendecomposition."""
    return W.shape[1] > SHARE * W.shape[0] and FULL < W.shape[0] <= LARGEST


def _by_positive_part(problem: Statement, y: Multipliers, S: Matrix, error: float, query: Query) -> Bound:
    part = positive_part(-S)
    update = LowRankUpdate(S, part.vectors, part.values) if part.values.size else S
    found = min_eigenvalue(update, part.vectors if part.values.size else None, query)
    if not np.isfinite(found.lower):
        return NO_BOUND
    return kernel.supported(problem, y, part.vectors, part.values, found.lower, error, found.rigour)
