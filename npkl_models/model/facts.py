"""Facts about a problem: pure functions of the problem, each evaluated once and cached with the problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from npkl_models.linalg import Array, Mask
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Trace
from npkl_models.model.statement import Statement

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


def bounded_diagonal(constraint: Constraint) -> Mask:
    """Which values of a constraint are entries K_ii with an upper bound, whose multipliers may grow."""
    return constraint.functional.on_diagonal & np.isfinite(constraint.upper)


def trace_bound(problem: Statement) -> float:
    """The upper bound on the trace of every feasible kernel that the data state, inf if there is none.

    The regulariser may give a bound, and so do upper bounds on the trace or on the whole diagonal.
    """
    bounds = [problem.regularizer.trace_bound(problem.n), float(np.sum(top_of_diagonal(problem)))]
    bounds += [float(e.upper[0]) for e in problem.constraints if isinstance(e.functional, Trace)]
    return max(min(bounds), 0.0)


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
