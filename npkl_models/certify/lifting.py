"""Raise the slack on the range of a factor, where the cost is singular and no multiplier raises the diagonal.

At an optimum the smallest eigenvalue of the slack is zero, and rounding makes every bound on it slightly
negative. `scale` needs a definite cost, and `slater` a factorisation. Here the multipliers move a little.

Let Q be an orthonormal basis of this range. A change d of the multipliers changes Q'SQ by
A(d) = sum d_e Q'M_e Q. A change with A(d) > 0 is sought as a strategy of the game max_d min_W <W, A(d)>,
where W is positive semidefinite with trace one. The answer to W is the gradient |y_e| <M_e, QWQ'>, moved into
the domain. Multipliers that are zero stay so: they belong to losses that are zero, and any change of them
costs at first order what the loss has to spare. W is updated by multiplicative weights (Arora & Kale, STOC
2007). Domains are convex, so the mean of all answers is a strategy, too.
"""

from __future__ import annotations

import numpy as np

from npkl_models.feasibility.anchored import SINGULAR
from npkl_models.linalg import Array, Matrix, norm_bound, orthonormal_range, symmetrize
from npkl_models.model import rounding
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import cost_floor
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

RAISED_ON_RANGE = "raised on the factor's range"  # name of the repair
ROUNDS, EVEN = 16, 0.1  # rounds of the game; it ends early once the least eigenvalue is so much of the mean
LEARNED = 2.0  # step of the weights, for changes of norm one


def raise_on_range(
    problem: Statement, y: Multipliers, V: Array, budget: float
) -> tuple[Multipliers, Matrix, float, float] | None:
    """Move the multipliers such that the slack rises on the range of V (n x r), for about the budget.

    Returns the multipliers, their slack with a bound on its error, and its least eigenvalue on the range.
    None if the cost is definite, or if no change was found.
    """
    if definite(problem) or not V.any() or not budget > 0:
        return None
    Q = orthonormal_range(V)
    found = _ascent(problem, y, Q) if Q.shape[1] else None
    if found is None:
        return None
    top, rise = found
    before, dearer = rounding.paid(problem, y), rounding.paid(problem, top)
    costs = rise * float(np.sum(V**2)), dearer - before  # the price is convex
    share = min((budget / cost for cost in costs if cost > budget), default=1.0)
    moved = projected(problem, y.towards(top, share))
    S, error = rounding.slack(problem, moved)
    level = float(np.linalg.eigvalsh(symmetrize(Q.T @ (S @ Q)))[0])
    return (moved, S, error, level) if level > 0 else None


def definite(problem: Statement) -> bool:
    """Whether the cost is definite by more than rounding, so that multipliers may be scaled down later."""
    return cost_floor(problem) + problem.regularizer.shift > SINGULAR * norm_bound(problem.cost)


def _ascent(problem: Statement, y: Multipliers, Q: Array) -> tuple[Multipliers, float] | None:
    """Multipliers y + d with A(d) > 0, and the least eigenvalue of A(d); None if the game finds none."""
    r = Q.shape[1]
    weights, total, before = np.eye(r) / r, np.zeros((r, r)), Q.T @ (problem.slack(y) @ Q)
    sums = [np.zeros_like(part) for part in y.terms]
    for k in range(1, ROUNDS + 1):
        values, vectors = np.linalg.eigh(weights)
        U = Q @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        ascent = [part.functional.value_of_factor(U) for part in problem.terms]
        length = float(np.sqrt(np.mean(np.concatenate([np.zeros(1), *ascent]) ** 2)))
        if not length > 0:
            return None
        moved = (a + np.abs(a) * (g / length) for a, g in zip(y.terms, ascent, strict=True))
        answer = projected(problem, problem.split_multipliers(moved))
        change = symmetrize(Q.T @ (problem.slack(answer) @ Q) - before)
        sums = [one + part for one, part in zip(sums, answer.terms, strict=True)]
        total += change
        rises, axes = np.linalg.eigh(total / k)
        if rises[0] > EVEN * float(np.mean(rises)) > 0:
            break
        norm = float(np.linalg.norm(total / k, 2)) or 1.0
        exponents = -LEARNED * np.sqrt(k) * rises / norm
        raised = np.exp(exponents - exponents.max())
        weights = (axes * (raised / raised.sum())) @ axes.T
    if not rises[0] > 0:
        return None
    return problem.split_multipliers(one / k for one in sums), float(rises[0])
