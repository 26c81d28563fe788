"""The kernel: the only module that writes a bound, an upper value, a ray, or the rigour of a claim.

Everything else proposes, in any arithmetic. What this module says is a theorem about the numbers in memory.

**Bound.** Let every y_e lie in its box, and let S(y) = C + sum y_e M_e, plus the shift of the regulariser, be
positive semidefinite (over a basis: Q'SQ). Then f(K) >= -sum f*(y) for every feasible K, since
f_e(z) >= y z - f_e*(y) (Fenchel and Young) and <S(y), K> >= 0. If S(y) is not PSD, a regulariser pays
R*(-S(y)), and nothing else does. **Ray.** If the same is true with C = 0 and no losses, and the bound is
positive, no kernel is feasible. **Floor.** A floor of the spectrum is known by a factorisation, by randomised
Lanczos, or in rational numbers (`npkl_models.proof`). It is taken of T S T, where T has powers of two that
make the diagonal of sizes about one. So no unit of a row decides what rounding costs. **Move.** If
S(y) >= a T^-2 and S(x) >= b T^-2, then S((1 - t) y + t x) >= ((1 - t) a + t b) T^-2. If
sum d_e M_e >= b T^-2, then S(y + t d) >= (a + t b) T^-2. **Point.** A point K meets exactly the problem with
the targets z(K), in which y has the bound for the problem as written, plus nu'(b - z). So its gap needs no
feasible point near it.

Each function says which rounding it pays for. u is the unit of roundoff, gamma(k) = k u / (1 - k u).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from npkl_models.linalg import (
    TINY,
    UNIT,
    Array,
    Index,
    Matrix,
    absolute_row_sums,
    dense,
    gamma,
    gram_eigenvalues,
    longest_row,
    norm_bound,
    symmetrize,
)
from npkl_models.model.facts import fact
from npkl_models.model.functionals import PAIRWISE as SUM
from npkl_models.model.functionals import squares
from npkl_models.model.incidence import Incidence
from npkl_models.model.misses import Miss, constraints_missed, excess, outside
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.scale import faint_unit, point_size
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.proof import factorisation, rational
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.proof.congruence import positive_definite
from npkl_models.proof.eigenbound import PLAIN, EigenBound, Query, Rigour
from npkl_models.proof.factorisation import DENSE_CHOLESKY, by_eigh, can_factorise, least_margin
from npkl_models.proof.factorisation import positive_definite as near_definite
from npkl_models.proof.perron import dominant, perron_interval

CLEARLY = 1e-9  # sums below this share of their summands are formed in rational numbers
ALIKE = (
    16.0  # rows whose units differ by a smaller factor share one: nothing is lost, and fewer numbers change
)
UNTOUCHED = 1e-280  # an error above this covers what underflow takes
EXACT = 60  # largest order of a slack that is eliminated in rational numbers


# The dual side: y in its boxes, the sum of its conjugates, its slack, and a floor of the slack.


def paid(problem: Statement, y: Multipliers) -> float:
    """An upper bound on sum f*(y), with the rounding of all products and sums; +inf outside the boxes."""
    total = problem.conjugate_sum(y)
    if not math.isfinite(total):
        return math.inf
    size, count = conjugate_size(problem, y), 0
    for held, nu in zip(problem.constraints, y.constraints, strict=True):
        count += int(np.count_nonzero((nu != 0) & (held.value != 0)))  # a product with zero takes nothing
    for term, part in zip(problem.losses, y.losses, strict=True):
        live = (part != 0) & ((_asked(term) != 0) | (getattr(term.loss, "q", 1.0) != 0))
        count += int(np.count_nonzero(live)) if term.loss.nonnegative or not live.any() else part.size
        size += 2 * float(np.sum(np.abs(part) * _asked(term)))  # the parts of a conjugate may cancel
    return total + SUM * UNIT * size + count * TINY


def _asked(term: LossTerm) -> Array:
    """The absolute values of the numbers that a loss compares its values with; 0 for a linear loss."""
    return np.abs(getattr(term.loss, "about", 1.0) * term.target)


def conjugate_size(problem: Statement, y: Multipliers) -> float:
    """B = sum abs(f*(y)), in plain floating point."""
    losses = zip(problem.losses, y.losses, strict=True)
    total = sum(float(np.sum(np.abs(t.loss.conjugate(part, t.target, t.weight)))) for t, part in losses)
    constraints = zip(problem.constraints, y.constraints, strict=True)
    return total + sum(float(np.sum(np.abs(part.value * nu))) for part, nu in constraints)


@dataclass(frozen=True, eq=False)
class Slack:
    """The computed slack S of y over the basis, powers of two T, and a bound on the error of T S T."""

    S: Matrix
    T: Array  # one for each row of S
    error: float

    @cached_property
    def scaled(self) -> Matrix:
        """T S T; nothing is rounded."""
        if not sp.issparse(self.S):
            return self.T[:, None] * self.S * self.T
        S = sp.csr_array(self.S, copy=True)
        S.data *= np.repeat(self.T, np.diff(S.indptr)) * self.T[S.indices]
        return S


def slack(problem: Statement, y: Multipliers, *, cost: bool = True, T: Array | None = None) -> Slack:
    """S(y) with the shift of the regulariser; sum y_e M_e alone without the ``cost``.

    An entry is a sum of numbers that may cancel: its error is u for each summand times |C| + sum |y_e| |M_e|.
    Over a basis, the product Q'SQ is rounded, too, and Q is orthonormal up to its defect. A basis
    of all centred vectors is centred up to its tilt. Any powers of two may serve as T.
    """
    S, shift, basis = problem.slack(y), problem.regularizer.shift if cost else 0.0, problem.basis
    S = S if cost else S - problem.cost
    S = S + shift * sp.eye_array(problem.n, format="csr") if shift else S
    count, T = np.diff(problem.cost.indptr).astype(float), row_units(problem, y) if T is None else T
    for part, numbers in zip(problem.terms, y.terms, strict=True):
        count += part.functional.row_sizes(numbers)[1] + 1
    within = (count + 4) * UNIT * (1 + 1e-3)
    if basis is None:
        rows = T * (within * sizes(problem, y, T) + TINY * T.max())
        return Slack(S, T, float(np.max(rows, initial=0.0)))
    reduced, largest = problem.restrict(S), float(np.max(T, initial=0.0))
    tilted = 2.1 * _tilt(problem) * norm_bound(S) * largest**2
    if sp.issparse(basis.Q):  # columns have few entries each, and units of their own
        A, At = (abs(part) for part in basis.quick)
        skew = 3 * basis.defect * largest / float(np.min(T, initial=largest))
        steps = (longest_row(basis.Q.T) + longest_row(S) + 8) * UNIT + skew
        rows = T * (At @ ((within + steps) * sizes(problem, y, A @ T) + TINY * T.max()))
        return Slack(reduced, T, float(np.max(rows, initial=0.0)) * (1 + 1e-3) + tilted)
    rows = within * sizes(problem, y, np.ones(problem.n)) + TINY
    product = basis.of_product(abs(S), gamma(float(np.max(count, initial=0.0)) + 2))
    error = float(np.max(rows, initial=0.0)) * (1 + basis.defect) + product
    error += 2.5 * basis.defect * (1 + basis.defect) * norm_bound(S)
    return Slack(reduced, T, error * largest**2 + tilted)


def _tilt(problem: Statement) -> float:
    """The sine of the angle between the range of a basis of all centred vectors and these vectors; else 0."""
    if problem.basis is None or not problem.basis.centring:
        return 0.0
    Q, n = problem.basis.Q, problem.n
    sums, size = np.asarray(Q.sum(axis=0)).ravel(), np.asarray(abs(Q).sum(axis=0)).ravel()
    return float(np.linalg.norm(np.abs(sums) + gamma(n) * size)) / math.sqrt(n)


def row_units(problem: Statement, y: Multipliers) -> Array:
    """T: powers of two that make the diagonal of |C| + sum |y_e| |M_e| about one.

    Over a dense basis all rows have one unit.
    """
    own = _sizes_at_zero(problem).copy()
    for part, numbers in zip(problem.terms, y.terms, strict=True):
        own += part.functional.incidence.diagonal_sizes(numbers)
    if not own.all():
        own = np.where(own > 0, own, sizes(problem, y, np.ones(problem.n)))
    own = own if problem.basis is None else _over_basis(problem, own)
    some = own[own > 0]
    if some.size and float(some.max()) <= ALIKE * float(some.min()):
        own = np.full(own.size, float(some.max()))
    return _units(own)


@fact
def _sizes_at_zero(problem: Statement) -> Array:
    """The diagonal of |C| and of the losses' slopes at K = 0: no row is rounding errors alone."""
    own = np.abs(problem.cost.diagonal()) + problem.regularizer.shift
    for term in problem.losses:
        slopes = np.abs(term.derivative(np.zeros(term.functional.size)))
        own += term.functional.incidence.diagonal_sizes(np.where(np.isfinite(slopes), slopes, 0.0))
    return own


def _over_basis(problem: Statement, own: Array) -> Array:
    assert problem.basis is not None
    if not sp.issparse(problem.basis.Q):
        return np.full(problem.order, float(np.max(own, initial=0.0)))
    A, At = (abs(part) for part in problem.basis.quick)
    return np.asarray(At @ (np.asarray(A.sum(axis=1)).ravel() * own))


def sizes(problem: Statement, y: Multipliers, x: Array, *, cost: bool = True) -> Array:
    """The row sums (n,) of (|C| + sum |y_e| |M_e|) Diag(x)."""
    own = absolute_row_sums(problem.cost, x) + problem.regularizer.shift * x if cost else np.zeros(problem.n)
    for part, numbers in zip(problem.terms, y.terms, strict=True):
        own = own + part.functional.row_sizes(numbers, x)[0]
    return own


def _units(own: Array) -> Array:
    """Powers of two T with T^2 own between 1/2 and 2; 1 where there is no size."""
    exponent = np.frexp(np.where((own > 0) & np.isfinite(own), own, 1.0))[1]
    return np.ldexp(1.0, -(exponent // 2))


@dataclass(frozen=True, eq=False)
class Floor:
    """T S(y) T + Diag(raised) >= lower I, in the sense of ``found.rigour``."""

    y: Multipliers
    T: Array
    lower: float
    found: EigenBound  # of T S T

    @property
    def proved(self) -> bool:
        """Whether S(y) is known to be PSD."""
        return self.lower >= 0 and self.found.raised is None

    @property
    def level(self) -> float:
        """The best approximation of the smallest eigenvalue of S(y)."""
        x = self.T * self.found.vector
        length = float(x @ x)
        return self.found.estimate / length if length > 0 else self.found.estimate

    @property
    def direction(self) -> Array:
        """A unit vector whose Rayleigh quotient is `level`."""
        x = self.T * self.found.vector
        return np.asarray(x / max(float(np.linalg.norm(x)), TINY))


def floor_of(y: Multipliers, own: Slack, W: Array | None = None, query: Query = PLAIN) -> Floor:
    """A floor of the slack ``own`` of y; a factor W with S W near zero makes the proof quicker."""
    if not (np.isfinite(own.error) and np.isfinite(norm_bound(own.scaled))):
        nothing = EigenBound(-np.inf, -np.inf, "none", np.full(own.T.size, own.T.size**-0.5))
        return Floor(y, own.T, -np.inf, nothing)
    found = min_eigenvalue(own.scaled, None if W is None else W / own.T[:, None], query)
    lower = found.lower - own.error
    return Floor(y, own.T, lower - 2 * UNIT * abs(lower) if np.isfinite(lower) else lower, found)


class Anchor(NamedTuple):
    """A centre y with S(y) >= mu T^-2, or a ray y with sum y_e M_e >= mu T^-2; mu is positive."""

    y: Multipliers
    T: Array
    mu: float
    ray: bool = False


def anchor(problem: Statement, y: Multipliers, *, ray: bool = False, T: Array | None = None) -> Anchor | None:
    """The centre or ray y, if it is proved to be one, perhaps in given units T."""
    own = slack(problem, y, cost=not ray, T=T)
    if not can_factorise(own.S):
        return None
    floor = floor_of(y, own, query=Query("eigh" if own.T.size <= DENSE_EIGH else "cholesky"))
    return Anchor(y, own.T, floor.lower, ray) if floor.lower > 0 and floor.found.rigour == "proved" else None


def moved(problem: Statement, floor: Floor, to: Anchor, t: float, y: Multipliers) -> Floor:
    """The floor of y, which is near a move of the floor's own y by t, towards a centre or along a ray.

    The distance of y from this move is paid for, and so is the rounding of this distance.
    """
    if floor.found.raised is not None or not 0 <= t < math.inf or not (to.ray or t <= 1):
        return replace(floor, y=y, lower=-np.inf)
    off, kept = [], 1.0 if to.ray else 1.0 - t
    for old, new, end in zip(floor.y.terms, y.terms, to.y.terms, strict=True):
        size = np.abs(old) + np.abs(new) + t * np.abs(end)
        still = (new == old) & (end == (0.0 if to.ray else old))
        off.append(np.where(still, 0.0, np.abs(new - (kept * old + t * end)) + 4 * UNIT * size))
    away = _norm(problem, problem.split_multipliers(off), floor.T)
    if not to.ray:  # 1 - t is rounded, too, and so is its share of the cost
        away += 2 * UNIT * _norm(problem, problem.no_multipliers, floor.T, cost=True)
    mu = to.mu * float(np.min((floor.T / to.T) ** 2, initial=1.0 if not floor.T.size else np.inf))
    lower = kept * floor.lower + t * mu - away
    return replace(floor, y=y, lower=lower - 8 * UNIT * (abs(floor.lower) + t * mu + away))


def _norm(problem: Statement, y: Multipliers, T: Array, *, cost: bool = False) -> float:
    """An upper bound on the norm of T (sum |y_e| |M_e|) T, perhaps with |C| in the sum."""
    if problem.basis is None:
        return float(np.max(T * sizes(problem, y, T, cost=cost), initial=0.0)) * (1 + 1e-3)
    A, At = (abs(part) for part in problem.basis.quick)
    if sp.issparse(problem.basis.Q):
        return float(np.max(T * (At @ sizes(problem, y, A @ T, cost=cost)), initial=0.0)) * (1 + 1e-3)
    spread = problem.basis.magnitude * (1 + problem.basis.defect) * float(np.max(T, initial=0.0)) ** 2
    return float(np.max(sizes(problem, y, np.ones(problem.n), cost=cost), initial=0.0)) * spread * (1 + 1e-3)


def raised(problem: Statement, floor: Floor, y: Multipliers) -> Floor:
    """The floor of y, which differs from the y of the floor by multipliers of the diagonal alone."""
    rise, size, count = np.zeros(problem.n), np.zeros(problem.n), np.zeros(problem.n)
    for part, old, new in zip(problem.terms, floor.y.terms, y.terms, strict=True):
        if (new != old).any():
            t, change = part.functional.incidence, new - old  # one rounding each
            live = change[t.owner] != 0
            if problem.basis is not None or (t.row != t.column)[live].any():
                return replace(floor, y=y, lower=-np.inf)
            each = t.coefficient[live] * change[t.owner[live]]
            rise += np.bincount(t.row[live], each, problem.n)
            size += np.bincount(t.row[live], np.abs(each), problem.n)
            count += np.bincount(t.row[live], minlength=problem.n)
    least = (rise - gamma(float(np.max(count, initial=0.0)) + 4) * size) * floor.T**2
    wanted = 0.0 if floor.found.raised is None else floor.found.raised
    lower = floor.lower + float(np.min(least - wanted))
    lower -= 4 * UNIT * (abs(floor.lower) + float(np.max(np.abs(least) + np.abs(wanted))))
    return replace(floor, y=y, lower=lower, found=replace(floor.found, raised=None))


def exactly_psd(problem: Statement, y: Multipliers) -> bool:
    """Whether S(y) is PSD in rational numbers, of order 60 at most; a singular slack is no obstacle."""
    if problem.order > EXACT or problem.n > EXACT or problem.regularizer.finite_support:
        return False
    S: list[list[Fraction]] = _exact_slack(problem, y).tolist()
    unit = math.lcm(*(x.denominator for row in S for x in row))
    return rational.semidefinite([[int(x * unit) for x in row] for row in S])


def _exact_slack(problem: Statement, y: Multipliers) -> Array:
    """The slack over the basis, in fractions."""
    n, C, basis = problem.n, problem.cost.tocoo(), problem.basis
    S = rational.fractions(problem.regularizer.shift * np.eye(n))
    np.add.at(S, (C.row, C.col), rational.fractions(C.data))
    for part, own in zip(problem.terms, y.terms, strict=True):
        t = part.functional.incidence
        half = rational.fractions(own)[t.owner] * rational.fractions(np.array(t.coefficient)) / 2
        np.add.at(S, (t.row, t.column), half)
        np.add.at(S, (t.column, t.row), half)
    if basis is None:
        return S  # of all centred vectors, another basis is exact: n - 1 differences from the last point
    Q = rational.fractions(np.eye(n, n - 1) - np.eye(n)[:, -1:] if basis.centring else problem.Q)
    return np.asarray(Q.T.dot(S).dot(Q))


class Bound(NamedTuple):
    """A lower bound on the optimum, and how it is known."""

    value: float
    rigour: Rigour


NO_BOUND = Bound(-math.inf, "none")


def bound_of(problem: Statement, floor: Floor) -> Bound:
    """The bound of multipliers whose slack is known to be PSD."""
    owed = paid(problem, floor.y) if floor.proved else math.inf
    return Bound(-owed, floor.found.rigour) if math.isfinite(owed) else NO_BOUND


def exact_bound(problem: Statement, y: Multipliers) -> Bound:
    """The bound of multipliers whose slack is PSD in rational numbers."""
    owed = paid(problem, y)
    return Bound(-owed, "proved") if math.isfinite(owed) and exactly_psd(problem, y) else NO_BOUND


def bound_by_signs(problem: Statement, y: Multipliers) -> Bound:
    """The bound of multipliers that are zero, or positive for squares, if the cost is proved to be PSD."""
    for part, own in zip(problem.terms, y.terms, strict=True):
        if (own < 0).any() or (own[~squares(part.functional)] > 0).any():
            return NO_BOUND
    if cost_floor(problem) + problem.regularizer.shift < 0:
        return NO_BOUND
    owed = paid(problem, y)
    return Bound(-owed, "proved") if math.isfinite(owed) else NO_BOUND


def ray_bound(search: Statement, y: Multipliers) -> Bound:
    """The bound of multipliers without cost and losses: above 0 if no kernel is feasible."""
    owed = paid(search, y)
    known = owed < 0 and (_psd_by_parts(search, y) or exactly_psd(search, y))
    return Bound(-owed, "proved") if known else NO_BOUND


def _psd_by_parts(search: Statement, y: Multipliers) -> bool:
    """Whether sum y_e M_e is proved to be positive semidefinite, part by part of its pattern.

    Entries that nearly cancel are summed exactly, and so are parts of order one. Either may be zero; the
    other parts must be positive definite.
    """
    t = Incidence.stack([part.functional.incidence for part in search.constraints])
    weight = np.concatenate(y.constraints)[t.owner]
    live = _without_zeros(t, weight)
    graph = sp.coo_array((np.ones(live.size), (t.row[live], t.column[live])), shape=(search.n, search.n))
    _, label = connected_components(graph, directed=False)
    single = np.bincount(label)[label] == 1
    alone = live[single[t.row[live]]]
    if any(total < 0 for total in _sums(t.row[alone], weight[alone], t.coefficient[alone]).values()):
        return False
    rest = np.flatnonzero(~single)
    if rest.size > DENSE_CHOLESKY:
        return False
    count, ones = np.bincount(t.ends()[0], minlength=search.n) + 4.0, np.ones(search.n)
    errors = count * UNIT * (1 + 1e-3) * sizes(search, y, ones) + TINY
    return not rest.size or near_definite(search.slack(y)[rest][:, rest], errors[rest])


def _without_zeros(t: Incidence, weight: Array) -> Index:
    """The triplets of the entries whose weighted sum is not exactly zero."""
    live = np.flatnonzero(weight)
    low, high = np.minimum(t.row[live], t.column[live]), np.maximum(t.row[live], t.column[live])
    _, place = np.unique(low * t.n + high, return_inverse=True)
    part = weight[live] * t.coefficient[live]
    total, size = np.bincount(place, part), np.bincount(place, np.abs(part))
    faint = (np.abs(total) <= CLEARLY * size)[place]
    sums = _sums(place[faint], weight[live[faint]], t.coefficient[live[faint]])
    zero = np.array([key for key, total in sums.items() if total == 0], dtype=np.intp)
    return live[~np.isin(place, zero)]


def _sums(key: Index, weight: Array, coefficient: Array) -> dict[int, Fraction]:
    """The exact sums of weight times coefficient for each key."""
    sums: dict[int, Fraction] = {}
    for k, w, c in zip(key.tolist(), weight.tolist(), coefficient.tolist(), strict=True):
        sums[k] = sums.get(k, Fraction(0)) + Fraction(w) * Fraction(c)
    return sums


def anchored_bound(
    whole: Statement, y: Multipliers, inside: Statement, own: Multipliers, bound: Bound
) -> Bound:
    """The bound of the anchored points alone as one of the whole problem (`feasibility.anchored`).

    y has the multipliers ``own`` of the problem ``inside``, and zeros that lie in their boxes. Its slack on
    the other points is their cost, which `split` has proved PSD with a reserve for the edges between.
    """
    lost = max(-paid(inside, own) - bound.value, 0.0) + gamma(4) * abs(bound.value)
    value = -paid(whole, y) - lost
    return Bound(value, bound.rigour) if math.isfinite(value) else NO_BOUND


def supported(
    problem: Statement, y: Multipliers, W: Array, mu: Array, lower: float, error: float, rigour: Rigour
) -> Bound:
    """The bound -sum f* - R*(Z), Z >= -S, if S + W diag(mu) W' >= ``lower`` I.

    R* is monotone. The computed sum errs by up to (k + 2) k units of roundoff of the largest mu, and the
    eigenvalues of W diag(mu) W' by the defect ||W'W - I|| times the largest mu.
    """
    order = problem.order
    top, defect = float(np.max(np.abs(mu), initial=0.0)), 0.0
    if mu.size:
        defect = float(np.linalg.norm(W.T @ W - np.eye(mu.size))) + gamma(order + 4) * mu.size
    eps = max(0.0, -lower + error + (8 * order + (mu.size + 8) ** 2) * UNIT * top)
    spectrum = np.concatenate([mu + eps + defect * top, np.full(order - mu.size, eps)])
    value = -paid(problem, y) - problem.regularizer.support(spectrum)
    return Bound(value, rigour) if np.isfinite(value) else NO_BOUND


def supported_by_spectrum(problem: Statement, y: Multipliers, S: Array, error: float) -> Bound:
    """The bound -sum f* - R*(-S) from all eigenvalues of S, whose residual proves them.

    For any Q near a matrix U with orthonormal columns,
    ||U'SU - D|| <= ||SQ - QD|| + ||Q'Q - I|| (||S|| + ||D||).
    """
    values, Q = np.linalg.eigh(S)
    n, size = len(S), float(np.linalg.norm(S))
    doubt = float(np.linalg.norm(S @ Q - Q * values)) + 2 * gamma(n + 4) * math.sqrt(n) * size
    defect = float(np.linalg.norm(Q.T @ Q - np.eye(n))) + gamma(n + 4) * n
    doubt = (doubt + 2 * defect * size + error) * (1 + 1e-3)
    value = -paid(problem, y) - problem.regularizer.support(doubt - values)
    return Bound(value, "proved") if np.isfinite(value) else NO_BOUND


@fact
def cost_floor(problem: Statement) -> float:
    """A proved lower bound on the smallest eigenvalue of C (over a basis: of Q'CQ); -inf without proof."""
    if not problem.cost.data.any():
        return 0.0
    C, error = problem.cost, 0.0  # nothing was computed
    if problem.basis is not None:
        own = slack(problem, problem.no_multipliers, T=np.ones(problem.order))
        C, error = own.S, own.error / float(np.min(own.T)) ** 2 + problem.regularizer.shift
    if C.shape[0] <= DENSE_EIGH:
        floor = min_eigenvalue(C, query=Query("eigh")).lower - error
        if floor > 0 or problem.basis is not None:
            return floor
        return max(floor, perron_interval(C)[0], 0.0 if dominant(C) else floor)
    floor, above = perron_interval(C) if problem.basis is None else (float("-inf"), float("inf"))
    rounding_alone = max(-floor, above) <= least_margin(C)  # a factorisation would show no more
    if floor > 0 or rounding_alone or C.shape[0] > DENSE_CHOLESKY:
        return floor
    found = min_eigenvalue(C, query=Query("cholesky"))
    return max(floor, found.lower - error) if found.rigour == "proved" else floor


def proved_in_coordinates(problem: Statement, floor: Floor, own: Slack) -> Floor:
    """The floor 0, if S(y) over a basis is proved to be definite in coordinates near its eigenvectors."""
    if problem.basis is None or not all(hasattr(part.functional, "incidence") for part in problem.terms):
        return floor
    t = Incidence.stack([part.functional.incidence for part in problem.terms])
    C, shift = problem.cost.tocoo(), problem.regularizer.shift
    every = np.arange(problem.n if shift else 0)
    half = 0.5 * np.asarray(t.coefficient, dtype=float)
    entries = (
        np.concatenate([t.row, t.column, C.row, every]), np.concatenate([t.column, t.row, C.col, every]),
        np.concatenate([half, half, C.data, np.full(every.size, shift)]),
        np.concatenate([np.concatenate(y)[t.owner]] * 2 + [np.ones(C.nnz + every.size)])
        if (y := floor.y.terms) else np.ones(C.nnz),
    )  # fmt: skip
    if not positive_definite(symmetrize(dense(own.S)), problem.Q, *entries):
        return floor
    return replace(floor, lower=0.0, found=replace(floor.found, rigour="proved", raised=None))


# A direction D along which the objective falls for ever: with a point that meets the constraints, UNBOUNDED.


def falls(problem: Statement, W: Array) -> bool:
    """Whether the objective falls for ever along DD', D = QW, in rational numbers: W may have fractions.

    Along K + s DD' a loss changes at last by s times its recession function at the values of DD' (Rockafellar
    1970, section 8). It is infinite where a term holds a value that is not exactly zero.
    """
    if problem.regularizer.finite_support:
        return False
    W = rational.fractions(W)
    D = W if problem.basis is None else rational.fractions(problem.Q).dot(W)
    C, rate = problem.cost.tocoo(), Fraction(problem.regularizer.shift) * np.sum(D * D)
    rate += np.sum(rational.fractions(C.data) * (D[C.row] * D[C.col]).sum(axis=1))
    for term in problem.terms:
        t, (low, high), z = term.functional.incidence, term.domain, np.zeros(term.functional.size, object)
        each = (D[t.row] * D[t.column]).sum(axis=1)
        np.add.at(z, t.owner, rational.fractions(np.array(t.coefficient)) * each)
        end = np.where(z > 0, high, np.where(z < 0, low, 0.0))
        if not np.isfinite(end).all():
            return False
        whole = np.sum(rational.fractions(end) * z)
        tied = isinstance(term, LossTerm) and not term.loss.separable
        rate += min(whole, Fraction(term.recession(z)) * (1 + Fraction(4 * UNIT))) if tied else whole
    return bool(rate < 0)


def falls_inside(problem: Statement, V: Array) -> bool:
    """Whether the objective falls along a positive definite D - E near D = VV' that equalities allow.

    All values of D - E are zero; ||E|| <= ||r|| / g^0.5 for the values r = A D, if A A' >= g I. D - E is PSD
    if D >= ||E|| I, and the cost of E is at most ||C|| ||E||.
    """
    every, least = [part.functional for part in problem.constraints], factorisation.eigenvalue_floor
    A = sp.vstack([f.incidence.symmetric_operator() for f in every])
    g = least((A @ A.T).toarray()) - gamma(longest_row(A) + 2) * float(sp.linalg.norm(A)) ** 2
    steps = gamma(SUM + 8 * problem.n + max(f.additions for f in every))
    r = np.concatenate([abs(f.value_of_factor(V)) + steps * f.size_of_factor(V) for f in every])
    E = float(np.linalg.norm(r)) / math.sqrt(g) * (1 + 1e-8) if g > 0 else math.inf
    doubt = gamma(2 * problem.n + SUM) * float(np.sum(V * V))
    fall = float(np.sum(V * (problem.cost @ V))) + float(sp.linalg.norm(problem.cost)) * (E + doubt) * (
        1 + 1e-9
    )
    return bool(least(symmetrize(V @ V.T)) - doubt > E and fall < 0)


# The point: its values with their rounding, what it misses, and its gap for the targets that it meets.


@dataclass(frozen=True, eq=False)
class Target:
    """A point over the face of a problem."""

    V: Array  # factor of the point over the face, or of its PSD part (n, r)
    objective: float  # objective of the given point
    # upper bound on the objectives of the given point and of the point over the face, with rounding
    top: float
    upper: float  # the same if the point meets all constraints exactly, else inf
    missed: list[Miss]  # what the point misses of each constraint
    excess: float  # the share by which a bound of the regulariser is exceeded
    size: float  # A, the size of the numbers of the point: part of the unit of its gap
    below: Array | None = None  # K + Diag(below) is PSD (order); None for a factor


def target_of(problem: Statement, V: Array, K: Array | None = None) -> Target:
    """The values of a factor V, or of a kernel K whose PSD part is VV'.

    Over a basis they are those of the projection, whose objective is not taken as lower.
    """
    own, given = problem.objective(K) if K is not None else problem.objective_of_factor(V), V
    V = V if problem.basis is None else problem.lift(problem.drop(V))
    size = _point_size(problem, given, K)
    if K is not None:
        return _of_kernel(problem, V, K, own, size)
    there = own if problem.basis is None else problem.objective_of_factor(V)
    top = max(own, there) + rounding_of_objective(problem, V, there)
    off = off_basis(problem, V)
    over = excess(problem, V, more=grown(V, float(np.linalg.norm(off))))
    missed = constraints_missed(problem.constraints, V, off=off)
    exact = over == 0 and outside(problem, given) == 0 and all(miss.share == 0 for miss in missed)
    return Target(V, own, top, top if exact else math.inf, missed, over, size)


def _of_kernel(problem: Statement, V: Array, K: Array, own: float, size: float) -> Target:
    """The values of a kernel that is not PSD; a Cholesky factorisation proves its smallest eigenvalue."""
    there = K
    if problem.basis is not None:
        there = symmetrize(problem.lift(problem.drop(problem.lift(problem.drop(K)).T)))
    value = problem.objective(there)
    top = max(own, value) + _rounding_at_kernel(problem, there, value)
    inner = symmetrize(dense(problem.restrict(there)))
    d = units_of_kernel(inner)
    doubt = 0.0
    if problem.basis is not None:  # products with the basis round
        doubt = 4 * gamma(problem.n) * float(np.linalg.norm(there)) / float(np.min(d)) ** 2
    share = max(0.0, doubt - by_eigh(inner / d / d[:, None]).lower)
    over = excess(problem, V, there, more=len(d) * share * float(np.max(d**2, initial=0.0)))
    missed = constraints_missed(problem.constraints, V, there)
    return Target(V, own, top, math.inf, missed, over, size, share * d**2)


def units_of_kernel(K: Array) -> Array:
    """Powers of two near the roots of the diagonal of K: the units of its rows."""
    own = K.diagonal().copy()
    largest = np.abs(K).max(axis=1, initial=0.0)
    return 1.0 / _units(np.where(own > 0, own, largest))


def _point_size(problem: Statement, V: Array, K: Array | None) -> float:
    """A of a factor, or of a kernel; see `npkl_models.model.scale`."""
    if K is None:
        lengths, values = np.sqrt(np.einsum("ir,ir->i", V, V)), problem.values(V)
    else:
        lengths = np.sqrt(np.maximum(K.diagonal(), 0.0))
        values = tuple(term.functional.value(K) for term in problem.losses)
    R = problem.regularizer
    own = 0.0 if R.vacuous or R.bounds else R.value(gram_eigenvalues(V))
    return point_size(problem, lengths, values, own)


def faint_part(problem: Statement, target: Target, y: Multipliers, bound: float) -> float:
    """What the unit of a gap has besides the absolute values of objective and bound."""
    size = conjugate_size(problem, y)
    return faint_unit(problem, target.size, size + (max(-bound - size, 0.0) if math.isfinite(bound) else 0.0))


def gap_for(problem: Statement, target: Target, y: Multipliers, bound: float) -> float:
    """The objective less the bound of y for the targets that the point meets; rounded upwards.

    What a regulariser pays besides the conjugates grows with the square of the radius, and a kernel with
    K + Diag(e) >= 0 is feasible for the cone in which the bound is lower by <S(y), Diag(e)>.
    """
    if not math.isfinite(bound):
        return math.inf
    gap, total = target.top - bound, abs(target.top) + abs(bound)
    for miss, nu in zip(target.missed, y.constraints, strict=True):
        gap += float(nu @ miss.residual) + float(np.abs(nu) @ miss.doubt)
        total += float(np.abs(nu) @ np.abs(miss.residual))
    if target.excess > 0:
        owed, grown = max(-paid(problem, y) - bound, 0.0) + gamma(4) * abs(bound), 1 + target.excess
        gap += (
            owed * (grown * grown - 1) * (1 + 8 * UNIT) if owed > 0 else 0.0
        )  # a power of a Python float would raise an error
    if target.below is not None and target.below.any():
        own = slack(problem, y)
        least = np.maximum(own.S.diagonal(), 0.0) + own.error / own.T**2
        gap += float(target.below @ least) * (1 + gamma(problem.n + 8))
    count = sum(miss.residual.size for miss in target.missed)
    return gap + gamma(count + 64) * (total + abs(gap)) if target.upper == math.inf else gap


def off_basis(problem: Statement, V: Array) -> Array:
    """A bound on the distance of each row of V from that of a Q W in the exact range of the basis (n)."""
    basis = problem.basis
    if basis is None:
        return np.zeros(problem.n)
    W, steps = problem.drop(V), longest_row(basis.Q) if sp.issparse(basis.Q) else basis.size
    size = np.abs(V - problem.lift(W)) * (1 + 1e-9) + gamma(steps + 2) * (abs(basis.Q) @ np.abs(W))
    off = np.sqrt(np.einsum("ir,ir->i", size, size)) * (1 + 1e-9)
    return np.where(np.isfinite(off), off, np.inf)


def grown(V: Array, reach: float) -> float:
    """A bound on the nuclear norm of the change from V V' to the kernel of a factor within ``reach`` of V."""
    return reach * (2 * float(np.linalg.norm(V)) + reach) * (1 + 1e-9)


def rounding_of_objective(problem: Statement, V: Array, value: float) -> float:
    """An upper bound on the error of the objective at V V', or at the nearest kernel over the basis."""
    lengths = np.sqrt(np.einsum("ir,ir->i", V, V))
    steps = V.shape[1] + 8 + float(np.max(np.diff(problem.cost.indptr), initial=0))
    steps += max((term.functional.additions for term in problem.losses), default=0)  # running sums
    off, sums = off_basis(problem, V), absolute_row_sums(problem.cost, lengths)
    error = gamma(steps + SUM) * float(lengths @ sums)
    moved, told = bool(off.any()), bool(V.any())
    if moved:
        error += float(off @ (2 * sums + absolute_row_sums(problem.cost, off))) * (1 + 1e-9)
    for term in problem.losses:
        z, size = term.functional.value_of_factor(V), term.functional.size_of_factor(V)
        error += _rounding_of_losses(
            term, z, size, term.functional.change_of_factor(V, off) if moved else None, steps
        )
        told |= bool(term.loss.value(z, term.target).any()) or (
            term.loss.nonnegative and bool(term.loss.derivative(z, term.target).any())
        )
    if not problem.regularizer.vacuous:
        eigenvalues, power = gram_eigenvalues(V), problem.regularizer.spectral
        R, p = problem.regularizer.value(eigenvalues), 1.0 if power is None else power.p
        error += gamma(SUM * (p + V.shape[1])) * R
        if moved:
            more = problem.regularizer.value(eigenvalues + grown(V, float(np.linalg.norm(off))))
            error += more - R + gamma(SUM * (p + V.shape[1])) * more
    error += SUM * UNIT * abs(value)
    if error > UNTOUCHED or not told:
        return error
    numbers = [V, problem.cost.data, *(part for t in problem.losses for part in (t.weight, t.target))]
    return error + _underflow(problem) if min(map(_least, numbers)) ** 10 < UNTOUCHED else error


def _rounding_of_losses(term: LossTerm, z: Array, size: Array, change: Array | None, steps: float) -> float:
    """An upper bound on the error of the losses of values z, and on their change if values move."""
    moved = np.zeros(z.size) if change is None else change
    ends = term.subdifferential(z, gamma(steps) * size + moved)
    slope = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    error = float(np.sum(slope * moved)) * (1 + 1e-9)
    error += float(np.sum(slope * size)) * gamma(steps + 8)
    compared = slope * _asked(term)
    return error + SUM * UNIT * float(
        np.sum(np.abs(term.weight * term.loss.value(z, term.target)) + compared)
    )


def _rounding_at_kernel(problem: Statement, K: Array, value: float) -> float:
    """An upper bound on the error of the objective at a dense kernel K (n x n)."""
    steps = float(problem.n + SUM + max((t.functional.additions for t in problem.losses), default=0))
    error = gamma(steps) * float(np.sum(abs(problem.cost).multiply(np.abs(K)))) + SUM * UNIT * abs(value)
    for term in problem.losses:
        f = term.functional
        error += _rounding_of_losses(term, f.value(K), f.size_of_kernel(K), None, steps)
    power = problem.regularizer.spectral
    return error + gamma(steps * (SUM if power is None else SUM * power.p)) * (abs(value) + error)


def _least(numbers: Array) -> float:
    """The smallest absolute value that is not zero; inf if there is none."""
    sizes = np.abs(numbers[numbers != 0])
    return float(sizes.min()) if sizes.size else math.inf


def _underflow(problem: Statement) -> float:
    """A bound on what products that underflow take from an objective that is nearly zero."""
    numbers = [np.abs(problem.cost.data), *(np.abs(term.weight) for term in problem.losses)]
    size = sum(float(np.max(part, initial=0.0)) for part in numbers)
    if not problem.regularizer.vacuous:
        whole = problem.regularizer.value(np.ones(problem.n))
        size += SUM * whole if math.isfinite(whole) else 0.0
    return TINY * max(size, 1.0) if size > 0 else 0.0  # nothing is added to an objective that is always zero
