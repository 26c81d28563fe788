"""Proof of a kernel that meets equalities exactly, near one that meets them to rounding (Kantorovich).

Let F(W) = A(WW') - b, J its derivative at W, sigma the smallest singular value of J, and L the Lipschitz
constant of the derivative. If L |F| / sigma^2 <= 1/4, there is an exact solution within 2 |F| / sigma of W.

At a degenerate optimum sigma is zero. Then a small share of an anchor is mixed in: another feasible kernel,
whose sigma is positive. The sigma of the mixture is at least sqrt(share) times the sigma of the anchor. An
anchor well inside the cone needs a smaller share (`analytic_centre`). If equalities depend on each other or
leave no interior, there may be no anchor. Then nothing is proved, and the objective at W is no bound: a
residual of 1e-16 may hide 1e-8 of the objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from npkl_models.feasibility import analytic_centre
from npkl_models.feasibility.dependence import without_dependent
from npkl_models.feasibility.equality_map import MOST, EqualityMap, largest, outer
from npkl_models.feasibility.newton import newton
from npkl_models.feasibility.own_coordinates import Inside
from npkl_models.feasibility.residual import contradictory, misses_little, nearest, random_factor
from npkl_models.linalg import UNIT, Array, gamma, gram_eigenvalues
from npkl_models.model import rounding
from npkl_models.model.facts import diagonal_of, fact, fixed_diagonal
from npkl_models.model.statement import Statement
from npkl_models.proof.factorisation import eigenvalue_floor

EVALUATION = 16  # units of roundoff in a value, in addition to one for each column
KANTOROVICH = 0.25  # 1/2 in the theorem
FORMING = 32  # operations in an entry of the derivative, including the rounding of V over its basis
SINGULAR = 1e-6  # the theorem is applied at a point itself if sigma is above this
ANCHORED = 1e-6  # and at an anchor
ANCHORS = 1_500  # largest order for which an anchor is searched for
WORK = 5e7  # and the largest product of order, rank and number of equalities
SMALL = 120  # largest order at which the identity is a start
EXTRA = 6  # columns beyond those that independence needs
SHARES = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)  # of the anchor, tried in turn


@dataclass(frozen=True)
class Near:
    """A proof: an exactly feasible factor is within ``reach`` of [sqrt(1 - share) V, sqrt(share) anchor].

    Attributes
    ----------
    anchor : ndarray of shape (n, k) or None
        A feasible factor at which the equalities are independent of each other.
    turned : Inside or None
        If given, the exactly feasible kernel is V (I + D) V' instead.
    """

    reach: float
    share: float = 0.0
    anchor: Array | None = None
    turned: Inside | None = None

    def upper(self, problem: Statement, V: Array, objective: float, nu: tuple[Array, ...]) -> float:
        """An upper bound on the objective of the feasible kernel; the objective is convex in the kernel."""
        if self.turned is not None:
            change = rounding.turned_change(
                problem, V, self.turned.turned, self.reach, nu, self.turned.missed
            )
            return objective + rounding.linear_change(problem, V, self.reach) + change
        if self.anchor is None or self.share == 0.0:
            near = rounding.linear_change(problem, V, self.reach)
            return objective + min(near, rounding.sensitivity(problem, V, self.reach, nu))
        away = problem.objective_of_factor(self.anchor)
        away += rounding.objective(problem, self.anchor, away)
        mixed = mixture(V, self.anchor, self.share)
        along = rounding.sensitivity(problem, mixed, self.reach, nu)
        return objective + self.share * max(away - objective, 0.0) + along


def near(problem: Statement, V: Array, anchored: bool = True) -> Near | None:
    """A proof that an exactly feasible kernel is near V V' with V (n x r); None without proof.

    The feasible kernel meets the equalities and the bound of the regulariser. V must lie in the range of the
    basis. Without ``anchored``, no mixture with an anchor is tried.
    """
    if not problem.equalities:
        return Near(0.0) if _confined(problem, V, 0.0) else None
    if contradictory(problem):
        return None
    problem = without_dependent(problem)
    if _zero_for_zero(problem, V):
        return Near(0.0) if _confined(problem, V, 0.0) else None
    if problem.basis is None and all(diagonal_of(part.functional).all() for part in problem.equalities):
        reach = _of_lengths(problem, V)
        return Near(reach) if np.isfinite(reach) and _confined(problem, V, reach) else None
    own = independence(problem, V)
    if own > SINGULAR:
        reach = _of_newton(problem, _residual(problem, V), own) + _off(problem, V)
        if np.isfinite(reach) and _confined(problem, V, reach):
            return Near(reach)
    return _by_anchor(problem, V) if anchored else None


def _zero_for_zero(problem: Statement, V: Array) -> bool:
    """Whether V and the values of all equalities are zero, so that V meets the equalities exactly."""
    return not V.any() and not any(part.value.any() for part in problem.equalities)


def _by_anchor(problem: Statement, V: Array) -> Near | None:
    """The proof at a mixture of V and an anchor, at which the equalities are independent."""
    if not misses_little(problem, V):
        return None
    found = anchor(problem)
    if found is None:
        return None
    for share in SHARES:
        mixed = mixture(V, found.W, share)
        F = _residual(problem, mixed)
        reach = min(
            _of_newton(problem, F, found.sigma * float(np.sqrt(share))),
            analytic_centre.reach(F, found.depth, share),
        ) + _off(problem, mixed)
        if np.isfinite(reach) and _confined(problem, mixed, reach):
            return Near(reach, share, found.W)
    return None


def mixture(V: Array, W: Array, share: float) -> Array:
    """A factor of (1 - share) VV' + share WW'."""
    return np.hstack([np.sqrt(1 - share) * V, np.sqrt(share) * W])


@dataclass(frozen=True, eq=False)
class Anchor:
    """A factor W that meets the equalities to rounding, and how independent the equalities are at W.

    Attributes
    ----------
    W : ndarray of shape (n, k)
    sigma : float
        A lower bound on the smallest singular value of the derivative at W, or 0.
    depth : tuple of float
        How far WW' is inside the cone, and a bound on the linear map; see `analytic_centre.depth`.
    """

    W: Array
    sigma: float
    depth: tuple[float, float] = (0.0, 0.0)


@fact
def anchor(problem: Statement) -> Anchor | None:
    """The anchor of a problem; None if none is found."""
    return _centre(problem) or _anchor(problem)


def _centre(problem: Statement) -> Anchor | None:
    W = analytic_centre.centre(problem)
    W = None if W is None else newton(problem, W)
    if W is None or not misses_little(problem, W):
        return None
    depth, sigma = analytic_centre.depth(problem, W), independence(problem, W)
    sigma = sigma if sigma > ANCHORED else 0.0
    return Anchor(W, sigma, depth) if min(depth) > 0 or sigma > 0 else None


def _anchor(problem: Statement) -> Anchor | None:
    m = EqualityMap(problem).size
    rank = min(int(np.sqrt(2 * m)) + EXTRA, problem.order)
    if problem.order > ANCHORS or m > MOST or m * rank * problem.order > WORK:
        return None
    starts = [random_factor(problem, rank)]
    if problem.order <= SMALL:
        starts.insert(0, _identity(problem))
    for start in starts:
        W = newton(problem, problem.lift(start))
        if not misses_little(problem, W):
            W = newton(problem, problem.lift(nearest(problem, start)))
        sigma = independence(problem, W) if misses_little(problem, W) else 0.0
        if sigma > ANCHORED:
            return Anchor(W, sigma)
    return None


def _identity(problem: Statement) -> Array:
    """A multiple of the identity, of the size of the largest value in the equalities."""
    out: Array = np.eye(problem.order) * np.sqrt(largest(EqualityMap(problem).wanted))
    if problem.basis is not None:
        out *= np.sqrt(problem.n / problem.order)
    return out


def _confined(problem: Statement, V: Array, reach: float) -> bool:
    """Whether all feasible factors within ``reach`` of V are proved to meet the bound of the regulariser."""
    R, lengths = problem.regularizer, np.einsum("ir,ir->i", V, V)
    if R.vacuous:
        return True
    if reach == 0.0:
        return R.violation(gram_eigenvalues(V), lengths, rounding.grown(V, _off(problem, V))) == 0.0
    fixed, rounded = fixed_diagonal(problem), gamma(4 * EVALUATION + 2 * V.shape[1])
    if R.row_radius is not None:
        top = R.row_radius**2 * (1 - rounded)
        short = (np.sqrt(lengths) + reach) ** 2 <= top
        return all(_at_most(value, R.row_radius) for value in fixed[~short].tolist())
    if not np.isfinite(R.trace_bound(problem.n)):
        return True
    if R.spectral is not None and R.spectral.p == 1 and _sums_to_at_most(fixed, R.spectral.bound):
        return True
    trace = float(lengths.sum())
    more = reach * (2 * float(np.sqrt(trace)) + reach)  # nuclear norm of the change of K
    more += (rounded + gamma(problem.n)) * trace
    return R.violation(gram_eigenvalues(V), lengths, more) == 0.0


def exceeds(problem: Statement) -> bool:
    """Whether equalities on the diagonal exceed the bound on row norms or trace, in exact arithmetic."""
    R, fixed = problem.regularizer, fixed_diagonal(problem)
    if R.row_radius is not None:
        radius = R.row_radius
        close = fixed[(fixed >= radius**2 * (1 - 4 * UNIT)) & np.isfinite(fixed)]
        return not all(_at_most(value, radius) for value in close.tolist())
    known = fixed[np.isfinite(fixed)]
    if R.spectral is None or R.spectral.p != 1 or R.spectral.bound is None or not known.size:
        return False
    return not _sums_to_at_most(np.maximum(known, 0.0), R.spectral.bound)


def _at_most(value: float, radius: float) -> bool:
    """Whether value <= radius^2, exactly."""
    return math.isfinite(value) and Fraction(value) <= Fraction(radius) ** 2


def _sums_to_at_most(values: Array, bound: float | None) -> bool:
    """Whether the sum is at most the bound, exactly: `math.fsum` does not round the sign of a sum."""
    if bound is None or not np.isfinite(values).all():
        return False
    return math.fsum([*values.tolist(), -bound]) <= 0


def _of_lengths(problem: Statement, V: Array) -> float:
    """A bound on the distance to the factor whose rows have the wanted lengths; inf if a row is far off."""
    total = 0.0
    for part in problem.equalities:
        i = part.functional.indices[0]
        square = np.einsum("ir,ir->i", V[i], V[i])
        error = np.abs(square - part.value) + gamma(EVALUATION + V.shape[1]) * square
        if bool(np.any(part.value < 0)) or bool(np.any((part.value == 0) & (square > 0))):
            return float("inf")
        wanted = np.sqrt(np.where(part.value > 0, part.value, 1.0))
        if bool(np.any(error > 1e-6 * np.where(part.value > 0, part.value, 1.0))):
            return float("inf")
        total += float(np.sum((error / wanted) ** 2))
    return float(np.sqrt(total))


def independence(problem: Statement, V: Array) -> float:
    """A proved lower bound on the smallest singular value of the derivative at V; 0 if there is none."""
    equal = EqualityMap(problem)
    m = equal.size
    J = equal.derivative(V) if m <= MOST else None
    if J is None:
        return 0.0
    lengths = np.sqrt(np.asarray((J * J).sum(axis=1)).ravel())
    if not (np.isfinite(lengths).all() and bool(np.all(lengths > 0))):
        return 0.0
    J = sp.diags_array(1 / lengths) @ J
    G = outer(J)
    lower = eigenvalue_floor(G)
    square = lower - gamma(int(np.diff(J.indptr).max(initial=0)) + 4) * m
    if square <= 0:
        return 0.0
    summed = int(np.bincount(equal.triplets.owner).max())  # numbers in an entry of the derivative
    sizes = gamma(FORMING + summed) * _derivative_sizes(equal, V)
    if problem.basis is not None:
        sizes += _derivative_sizes(equal, rounding.off_basis(problem, V)[:, None])
    own = float(np.linalg.norm(sizes / lengths)) * (1 + 1e-9)
    return max(float(np.sqrt(square)) - own, 0.0) * float(lengths.min())


def _off(problem: Statement, V: Array) -> float:
    """The distance of V from the nearest factor whose kernel is in the range of the basis."""
    return float(np.linalg.norm(rounding.off_basis(problem, V)))


def _residual(problem: Statement, V: Array) -> float:
    """An upper bound on |F| at the factor nearest to V in the range of the basis."""
    equal = EqualityMap(problem)
    longest = max(part.functional.additions for part in problem.equalities)
    doubt = gamma(EVALUATION + longest + V.shape[1]) * equal.sizes(V)
    if problem.basis is not None:
        off = rounding.off_basis(problem, V)
        changes = [part.functional.change_of_factor(V, off) for part in problem.equalities]
        doubt = doubt + np.concatenate(changes)
    return float(np.linalg.norm(np.abs(equal.residual(V)) + doubt))


def _of_newton(problem: Statement, F: float, sigma: float) -> float:
    """The distance 2 |F| / sigma if the theorem applies; inf otherwise."""
    equal = EqualityMap(problem)
    L = 2 * float(np.linalg.norm(equal.of_each(np.abs(equal.triplets.coefficient))))
    if not (sigma > 0 and KANTOROVICH * sigma**2 >= L * F):
        return float("inf")
    return 2.001 * F / sigma


def _derivative_sizes(equal: EqualityMap, V: Array) -> Array:
    """For each row of the derivative, the norm of the numbers that are summed in the row and may cancel."""
    t, basis = equal.triplets, equal.problem.basis
    lengths = np.sqrt(np.einsum("ir,ir->i", V, V))
    width = np.ones(equal.problem.n)
    if basis is not None:
        width = np.sqrt(np.asarray((basis.Q**2).sum(axis=1)).ravel())
    both = width[t.row] * lengths[t.column] + width[t.column] * lengths[t.row]
    return equal.of_each(np.abs(t.coefficient) * both)
