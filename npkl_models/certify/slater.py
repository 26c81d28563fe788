"""A strictly feasible dual point, the last repair: a mixture with this point has a PSD slack.

Let S(ybar) >= mu I with mu > 0, and S(y) >= -eps I. The point (1 - t) y + t ybar with t = eps / (mu + eps)
has a PSD slack. The dual is concave, so the bound of this point is at least (1 - t) bound(y) + t bound(ybar).
A graph Laplacian without shift has strictly feasible points if values hold its null vectors v: for each v,
v'M_e v > 0 for some y_e that may grow. Without a cost, zero multipliers are no start. There the multipliers
of squares are raised within their domains: a sum of Laplacians of a connected graph is positive definite over
centred kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, eigsh, lsqr

from npkl_models.feasibility.anchored import SINGULAR, split
from npkl_models.linalg import (
    DENSE_SPECTRUM,
    TINY,
    UNIT,
    Array,
    Matrix,
    dense,
    gamma,
    lowest_pairs,
    norm_bound,
)
from npkl_models.model import rounding
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import cost_floor, fact
from npkl_models.model.functionals import squares
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.proof.eigenbound import Query
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise

ROUNDS = 8  # of ascent on the smallest eigenvalue
LOW = 8  # most eigenvectors that are raised together
CLOSE, BASIS, RESTARTS = 1e-6, 80, 50  # tolerance, basis size and restarts of ARPACK
LITTLE = 1e-6  # share of the norm of the cost: an eps below it costs little
NEARLY = 1e-12  # relative to the largest multiplier: smaller ones are rounding
STEPS = tuple(4.0**-k for k in range(12))  # changes of the slack over the norm of the cost, tried in turn


@dataclass(frozen=True, eq=False)
class Interior:
    """A strictly feasible dual point: the slack of y, plus the shift of the regulariser, is above mu I."""

    problem: Statement  # the problem to which y belongs
    y: Multipliers
    mu: float  # positive


def interior(problem: Statement, y: Multipliers) -> Interior | None:
    """The dual point of a solver, if its slack is proved to be positive definite; else None."""
    found = _proved(problem, projected(problem, y))
    return None if found is None else Interior(problem, *found)


def slater(
    problem: Statement, y: Multipliers, eps: float, upper: float, inside: Interior | None = None
) -> tuple[float, Multipliers] | None:
    """The repair: the better mixture of y with ``inside``, if of this problem, or a point of `ascended`."""
    own = inside is not None and inside.problem is problem
    center = strictly_feasible(problem)
    if center is None and problem.order <= DENSE_EIGH:
        center = ascended(problem, [projected(problem, y)])
    points = [(inside.y, inside.mu) if own and inside is not None else None, center]
    found = [_mixture(problem, y, eps, *point) for point in points if point is not None]
    return max(found, key=lambda one: one[0], default=None)


def _mixture(
    problem: Statement, y: Multipliers, eps: float, center: Multipliers, mu: float
) -> tuple[float, Multipliers]:
    """The bound of the mixture of y with a center, and the mixture."""
    doubt = 8 * UNIT * (rounding.multiplier_sizes(problem, y) + rounding.multiplier_sizes(problem, center))
    share = (eps + doubt) / (mu + eps) * (1 + 8 * UNIT)  # t (mu + eps) >= eps + doubt
    mixed = projected(problem, y.towards(center, min(share, 1.0)))  # at most the center alone
    return -rounding.paid(problem, mixed), mixed


def worth(problem: Statement, y: Multipliers, eps: float) -> float:
    """An estimate of the repaired bound: the bound of y itself if eps is tiny, else -inf."""
    norm = max(norm_bound(problem.cost), problem.cost_unit)
    floor = cost_floor(problem) + problem.regularizer.shift
    return -rounding.paid(problem, y) if eps <= LITTLE * norm and floor <= SINGULAR * norm else -np.inf


def implied_trace(problem: Statement, objective: float) -> float:
    """A bound on the traces of kernels with an objective of at most ``objective``; inf without a point.

    S(ybar) >= mu I gives mu tr K <= <S(ybar), K> <= f(K) - bound(ybar). So a mixture pays as much for eps.
    """
    found = strictly_feasible(problem)
    return float("inf") if found is None else (objective + rounding.paid(problem, found[0])) / found[1]


@fact
def strictly_feasible(problem: Statement) -> tuple[Multipliers, float] | None:
    """A point of `ascended` that no solver has to find, from zero multipliers or from `raised_squares`."""
    zero, free = projected(problem, problem.no_multipliers), not problem.cost.data.any()
    above = free or problem.order <= DENSE_SPECTRUM  # beyond, an eigenvalue takes long
    return ascended(problem, [zero, raised_squares(problem)] if above else [zero])


def ascended(problem: Statement, starts: list[Multipliers]) -> tuple[Multipliers, float] | None:
    """Multipliers whose slack (plus the regulariser's shift) is proved to be above mu I, and mu > 0.

    The smallest eigenvalue of the slack is raised from the best start. None if a point is not anchored.
    """
    if split(problem) is not None or not can_factorise(problem.restrict(problem.cost)):
        return None
    (y, values, vectors), steps = _best(problem, starts), STEPS
    for _ in range(ROUNDS):
        found, before = _raised(problem, y, values, problem.lift(vectors), steps), values[0]
        if found is None:
            break
        (y, values, vectors), best = found
        steps = STEPS[max(STEPS.index(best) - 2, 0) :]  # much longer ones fail again
        if before > 0 and values[0] < 2 * before:  # a mixture with a point twice as high is hardly better
            break
    return _proved(problem, y) if values[0] > 0 else None


def _best(problem: Statement, starts: list[Multipliers]) -> tuple[Multipliers, Array, Array]:
    """The best start, the smallest eigenvalues of its slack, and the eigenvectors."""
    found = [(y, *_lowest(problem, y)) for y in starts]
    prices = [max(problem.reference + abs(problem.conjugate_sum(y)), TINY) for y in starts]
    merits = [values[0] / price for (_, values, _), price in zip(found, prices, strict=True)]
    return found[int(np.argmax(merits))]


def raised_squares(problem: Statement) -> Multipliers:
    """Multipliers of squares (distances, K_ii), each the slope of its loss at twice the target.

    So a multiplier stays in its domain even if it is bounded, as that of the absolute loss. All others are
    next to zero.
    """
    slopes = []
    for part in problem.terms:
        slope: Array = np.zeros(part.functional.size)
        if isinstance(part, LossTerm):
            slope = part.derivative(2 * np.abs(part.target))
        risen = squares(part.functional) & (slope > 0) & np.isfinite(slope)
        slopes.append(np.where(risen, slope, 0.0))
    return projected(problem, problem.split_multipliers(slopes))


def _raised(
    problem: Statement, y: Multipliers, values: Array, V: Array, steps: tuple[float, ...]
) -> tuple[tuple[Multipliers, Array, Array], float] | None:
    """A step that raises the smallest eigenvalue, and its length; None if no length does.

    A step can lower an eigenvalue by its length. So it raises all eigenvalues that are less than that above
    the lowest, along sum v'M_e v over their eigenvectors.
    """
    best: tuple[tuple[Multipliers, Array, Array], float] | None = None
    norm, level = max(norm_bound(problem.cost), problem.cost_unit), values[0]
    for length in steps:
        low = V[:, values <= values[0] + length * norm]
        ascent = problem.split_multipliers(part.functional.value_of_factor(low) for part in problem.terms)
        size = norm_bound(problem.slack(ascent) - problem.cost)
        if not size > 0:
            continue
        t = length * norm / size
        moved = (a + t * b for a, b in zip(y.terms, ascent.terms, strict=True))
        trial = projected(problem, problem.split_multipliers(moved))
        found = _lowest(problem, trial)
        if found[0][0] > level + 1e-3 * abs(level):
            best, level = ((trial, *found), length), found[0][0]
        elif best is not None:
            break
    return best


def _lowest(problem: Statement, y: Multipliers) -> tuple[Array, Array]:
    """The smallest eigenvalues of the slack, plus the shift, and their eigenvectors (order x k)."""
    S: Matrix = problem.restrict(problem.slack(y))
    n, norm = S.shape[0], norm_bound(S)
    nothing = np.full(1, -np.inf), np.zeros((n, 1))
    if not np.isfinite(norm):
        return nothing
    if n <= DENSE_SPECTRUM:
        values, vectors = lowest_pairs(dense(S), min(LOW, n))
    else:
        try:
            raised = S + norm * sp.eye_array(n)  # ARPACK's tolerance is relative to each eigenvalue
            values, vectors = eigsh(
                raised, k=LOW, which="SA", tol=CLOSE, ncv=BASIS, maxiter=RESTARTS, v0=np.ones(n)
            )
            values = values - norm
        except ArpackError:
            return nothing
    order = np.argsort(values)
    return values[order] + problem.regularizer.shift, vectors[:, order]


def _proved(problem: Statement, y: Multipliers) -> tuple[Multipliers, float] | None:
    S, error = rounding.slack(problem, y)
    if not can_factorise(S):
        return None
    found = min_eigenvalue(S, query=Query("eigh" if S.shape[0] <= DENSE_EIGH else "cholesky"))
    mu = found.lower - error + problem.regularizer.shift
    mu -= 4 * UNIT * (abs(found.lower) + problem.regularizer.shift)
    return (y, mu) if found.rigour == "proved" and mu > 0 else None


def identity(
    problem: Statement, y: Multipliers, eps: float, upper: float
) -> tuple[float, Multipliers] | None:
    """Add eps over a floor times multipliers whose sum of matrices is near the identity, if there are any.

    The bound falls by eps times what these multipliers say of the trace of every feasible kernel.
    """
    if not any(isinstance(part.functional, SparseMatrices) for part in problem.constraints):
        return None
    found = _of_identity(problem)
    if found is None:
        return None
    ones, floor = found
    touched = (np.where(one != 0, own, 0.0) for own, one in zip(y.terms, ones.terms, strict=True))
    size = rounding.multiplier_sizes(problem, problem.split_multipliers(touched))
    spread = 8 * UNIT * rounding.multiplier_sizes(problem, ones) / floor  # of the rounding of t y, per eps
    if not spread < 0.5:
        return None
    t = (eps + 4 * UNIT * size) / floor / (1 - spread) * (1 + 8 * UNIT)
    moved = (own + t * one for own, one in zip(y.terms, ones.terms, strict=True))
    raised = problem.split_multipliers(moved)
    return -rounding.paid(problem, raised), raised


@fact
def _of_identity(problem: Statement) -> tuple[Multipliers, float] | None:
    """Multipliers y with sum y_e M_e >= floor I > 0, near the identity by least squares; None if not near."""
    n = problem.n
    if problem.basis is not None or problem.losses or n > DENSE_CHOLESKY:
        return None
    A = sp.vstack([part.functional.incidence.symmetric_operator() for part in problem.constraints])
    y = lsqr(A.T, np.eye(n).ravel(), atol=1e-15, btol=1e-15)[0]
    y[np.abs(y) < NEARLY * np.max(np.abs(y))] = 0.0  # where nothing is added, nothing is rounded
    ones = problem.split_multipliers(np.split(y, np.cumsum(problem.sizes)[:-1]))
    parts = zip(problem.constraints, ones.constraints, strict=True)
    M = sp.csr_array(sum(part.functional.adjoint(own) for part, own in parts))
    if n <= DENSE_EIGH:
        least = min_eigenvalue(M, query=Query("eigh")).lower
    else:  # Gershgorin's circles
        least = float(np.min(2 * M.diagonal() - abs(M).sum(axis=1)))
    floor = least - gamma(A.nnz) * rounding.multiplier_sizes(problem, ones)
    return (ones, floor) if floor > 0 else None
