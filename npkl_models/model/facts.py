"""Facts about a problem: pure functions of the problem, each evaluated once and cached with the problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import TINY, UNIT, Array, Mask
from npkl_models.model import rounding
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import SquaredDistances, Trace
from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.proof.eigenbound import Query
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise, least_margin
from npkl_models.proof.perron import dominant, perron_interval

Known = TypeVar("Known")


def fact(function: Callable[[Statement], Known]) -> Callable[[Statement], Known]:
    """Evaluate a pure function of a problem only once for each problem.

    The value must not refer to the problem, since a circle of references would wait for the garbage
    collector.
    """

    @wraps(function)
    def known(problem: Statement) -> Known:
        facts = problem.facts
        if known not in facts:
            facts[known] = function(problem)
        return facts[known]

    return known


@fact
def cost_floor(problem: Statement) -> float:
    """A proved lower bound on the smallest eigenvalue of C (over a basis: of Q'CQ); -inf without proof."""
    C, error = rounding.slack(problem, problem.no_multipliers)
    if not problem.cost.data.any():
        return 0.0
    if problem.basis is None:
        C, error = problem.cost, 0.0  # nothing was computed
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


@fact
def distance_floor(problem: Statement) -> float:
    """A proved lower bound on the spectrum of sum_e M_e over all distances; -inf without proof."""
    return _floor_of(problem, which_distances(problem))


@fact
def growing_floor(problem: Statement) -> float:
    """The same of the distances alone whose multipliers may grow without limit (see `growing_distances`)."""
    return _floor_of(problem, growing_distances(problem))


def which_distances(problem: Statement) -> list[Mask]:
    """For each term, which values are distances."""
    return [np.full(e.functional.size, isinstance(e.functional, SquaredDistances)) for e in problem.terms]


def growing_distances(problem: Statement) -> list[Mask]:
    """For each term, which values are distances whose multipliers may grow without limit."""
    pairs = zip(problem.terms, which_distances(problem), strict=True)
    return [far & np.isposinf(part.domain[1]) for part, far in pairs]


@fact
def diagonal_floor(problem: Statement) -> float:
    """A proved lower bound on the spectrum of sum_e M_e over all upper bounds on K_ii; -inf without proof."""
    return _floor_of(problem, bounded_diagonals(problem))


def bounded_diagonals(problem: Statement) -> list[Mask]:
    """For each term, which values are those of `bounded_diagonal`."""
    none = [np.zeros(e.functional.size, dtype=bool) for e in problem.losses]
    return [*none, *map(bounded_diagonal, problem.constraints)]


def bounded_diagonal(constraint: Constraint) -> Mask:
    """Which values of a constraint are entries K_ii with an upper bound, whose multipliers may grow."""
    return constraint.functional.on_diagonal & np.isfinite(constraint.upper)


def _floor_of(problem: Statement, held: list[Mask]) -> float:
    """A lower bound on the spectrum of the sum of the selected M_e, restricted to the basis."""
    if not any(part.any() for part in held):
        return float("-inf")
    free = Statement(sp.csr_array(problem.cost.shape), problem.terms, basis=problem.basis)
    L, error = rounding.slack(free, problem.split_multipliers(part.astype(float) for part in held))
    if not can_factorise(L):
        return float("-inf")
    found = min_eigenvalue(L, query=Query("eigh" if L.shape[0] <= DENSE_EIGH else "cholesky"))
    return found.lower - error if found.rigour == "proved" else float("-inf")


def trace_bound(problem: Statement, upper: float) -> float:
    """A proved upper bound on the trace of every optimal kernel, inf if there is none.

    The result is the smallest of several bounds. The regulariser gives a bound, and so do upper bounds on
    the trace or on the whole diagonal. C >= delta I and non-negative losses give delta tr K <= ``upper``.
    Square losses w_i (K_ii - t_i)^2 on the whole diagonal give tr K <= sum t + sqrt(sum 1/w * upper) by
    Cauchy-Schwarz. ``upper`` is an upper bound on the optimum from a feasible point, or inf.
    """
    bounds = [problem.regularizer.trace_bound(problem.n), float(np.sum(top_of_diagonal(problem)))]
    bounds += [float(e.upper[0]) for e in problem.constraints if isinstance(e.functional, Trace)]
    if upper < np.inf and all(term.loss.nonnegative for term in problem.losses):
        floor = cost_floor(problem) + problem.regularizer.shift
        if floor > 0:
            bounds.append(upper / floor)
        bounds.append(_from_diagonal_losses(problem, upper, max(0.0, -floor)))
    return max(min(bounds), 0.0) * (1 + (problem.n + 64) * UNIT)


def _from_diagonal_losses(problem: Statement, upper: float, mu: float) -> float:
    """With C >= -mu I, x = tr K - sum t satisfies x^2 <= (sum 1/w) (upper + mu (sum t + x))."""
    weight, target = np.zeros(problem.n), np.zeros(problem.n)
    for term in problem.losses:
        if term.loss.quadratic and term.loss.curvature > 0:
            t = term.target
            i = term.functional.on_diagonal & (term.loss.value(t, t) == 0) & (term.loss.derivative(t, t) == 0)
            if not i.any():
                continue
            index = term.functional.indices[0][i]
            weight[index] = 0.5 * term.loss.curvature * term.weight[i]
            target[index] = term.target[i]
    W = float(np.sum(np.divide(1, weight, out=np.full(weight.size, np.inf), where=weight > TINY)))
    total = float(np.sum(target))
    if not (math.isfinite(W) and math.isfinite(mu)):
        return math.inf
    root = math.hypot(W * mu, 2 * math.sqrt(W) * math.sqrt(max(upper + mu * total, 0.0)))
    size = float(np.sum(np.abs(target)))
    return total + 0.5 * (W * mu + root) + (problem.n + 64) * UNIT * size


def top_of_diagonal(problem: Statement) -> Array:
    """The upper bounds of constraints on each K_ii (n,); inf for points without one."""
    top = np.full(problem.n, np.inf)
    for part in problem.constraints:
        i = bounded_diagonal(part)
        if i.any():
            np.minimum.at(top, part.functional.indices[0][i], part.upper[i])
    return top


@fact
def row_bound(problem: Statement) -> float | None:
    """The bound b^2 if the constraints are K_ii <= b^2 for all points, and no others; None otherwise."""
    top = top_of_diagonal(problem)
    alone = all(not part.equal and bounded_diagonal(part).all() for part in problem.constraints)
    return float(top[0]) if alone and problem.constraints and bool(np.all(top == top[0])) else None


def constrained(problem: Statement) -> bool:
    """Whether there are constraints other than one bound on all rows."""
    return bool(problem.constraints) and row_bound(problem) is None
