"""The targets that a point meets exactly, and its gap in the problem with these targets.

Let z be the values of a point K at the constraints, b what the problem asks for, and let S(y) >= 0 be proved.
K is feasible for the problem with the targets z, in which the multipliers y have the bound of the problem as
written, plus nu'(b - z). A kernel with the smallest eigenvalue -e is feasible for the cone K >= -e I, in
which the bound is lower by e tr S. So the gap of any point is a theorem that needs no search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.certify.bounds import Dual
from npkl_models.certify.points import EIGH, Given
from npkl_models.linalg import UNIT, Array, dense, gamma, symmetrize
from npkl_models.model import rounding
from npkl_models.model.facts import trace_bound
from npkl_models.model.misses import Miss, constraints_missed, excess, outside
from npkl_models.model.statement import Statement


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
    below: float  # the absolute value of a negative smallest eigenvalue


def target_of(problem: Statement, given: Given) -> Target:
    """The values of a point; over a basis those of its projection, whose objective is not taken as lower."""
    V = given.V if problem.basis is None else problem.lift(problem.drop(given.V))
    if given.K is not None:
        return _of_kernel(problem, V, given.K)
    own = problem.objective_of_factor(given.V)
    there = own if problem.basis is None else problem.objective_of_factor(V)
    top = max(own, there) + rounding.objective(problem, V, there)
    off = rounding.off_basis(problem, V)
    over = excess(problem, V, more=rounding.grown(V, float(np.linalg.norm(off))))
    missed = constraints_missed(problem.constraints, V, off=off)
    exact = over == 0 and outside(problem, given.V) == 0 and all(miss.share == 0 for miss in missed)
    return Target(V, own, top, top if exact else float("inf"), missed, over, 0.0)


def _of_kernel(problem: Statement, V: Array, K: Array) -> Target:
    """The values of a kernel that is not PSD."""
    there = K
    if problem.basis is not None:
        there = symmetrize(problem.lift(problem.drop(problem.lift(problem.drop(K)).T)))
    own, value = problem.objective(K), problem.objective(there)
    top = max(own, value) + rounding.objective_of_kernel(problem, there, value)
    spectrum = np.linalg.eigvalsh(symmetrize(dense(problem.restrict(there))))
    doubt = EIGH * problem.n * UNIT * float(np.linalg.norm(there))  # products with a basis round, too
    missed = constraints_missed(problem.constraints, V, there)
    over = excess(problem, V, there, more=len(spectrum) * doubt)
    return Target(V, own, top, float("inf"), missed, over, max(0.0, doubt - float(spectrum[0])))


def gap_for(problem: Statement, target: Target, dual: Dual) -> float:
    """The objective less the bound of a dual point for the targets that the point meets; rounded upwards.

    What the slack costs besides the conjugates is R*(-S) or a bound on the trace times what S misses of PSD.
    Both grow with the targets.
    """
    if not np.isfinite(dual.bound):
        return float("inf")
    gap, sizes = target.top - dual.bound, abs(target.top) + abs(dual.bound)
    for miss, nu in zip(target.missed, dual.y.constraints, strict=True):
        gap += float(nu @ miss.residual)
        sizes += float(np.abs(nu) @ np.abs(miss.residual))
        gap += float(np.abs(nu) @ miss.doubt)
    if target.missed or target.excess > 0:
        owed = max(-rounding.paid(problem, dual.y) - dual.bound, 0.0) + gamma(4) * abs(dual.bound)
        grown = (1 + target.excess) * (1 + target.excess)  # a power of a Python float would raise an error
        gap += owed * (grown * _share_of_trace(problem, target) - 1) if owed > 0 else 0.0
    if target.below > 0:
        gap += target.below * _trace_of_slack(problem, dual)
    count = sum(miss.residual.size for miss in target.missed)
    return gap + gamma(count + 64) * (sizes + abs(gap)) if target.upper == float("inf") else gap


def _share_of_trace(problem: Statement, target: Target) -> float:
    """A bound on the trace for the targets of the point, over the one for the problem as written."""
    own = trace_bound(problem, float("inf"))
    if problem.regularizer.finite_support or not 0 < own < np.inf:
        return 1.0
    moved = tuple(
        part.moved(part.value + np.abs(miss.residual) + miss.doubt)
        for part, miss in zip(problem.constraints, target.missed, strict=True)
    )
    changed = problem.like(problem.cost, (*problem.losses, *moved), problem.regularizer)
    return max(trace_bound(changed, float("inf")) / own, 1.0) * (1 + 8 * UNIT)


def _trace_of_slack(problem: Statement, dual: Dual) -> float:
    """An upper bound on the trace of the positive part of the slack."""
    S, error = rounding.slack(problem, dual.y)
    values = np.linalg.eigvalsh(symmetrize(dense(S)))
    doubt = EIGH * len(values) * UNIT * float(np.max(np.abs(values), initial=0.0)) + error
    return float(np.sum(np.maximum(values, 0.0))) + len(values) * doubt
