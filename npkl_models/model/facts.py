"""What follows from a problem: pure functions of it, each worked out once and kept with the problem itself.

Nothing else keeps them, so that they end with the problem, and a copy, a pickle or another process finds them
again. Two threads may both work one out; they find the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from npkl_models.model.statement import Statement

Known = TypeVar("Known")


def fact(function: Callable[[Statement], Known]) -> Callable[[Statement], Known]:
    """Let a pure function of a problem be evaluated once for each problem.

    Its value must not hold the problem: a circle of references would wait for the garbage collector.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.model.facts import fact
    >>> @fact
    ... def entries(problem):
    ...     print("counted")
    ...     return problem.cost.nnz
    >>> problem = nm.pcp(nm.laplacian([[0.0], [1.0], [9.0]], 1), nm.Pairs(3, [(0, 1)], None))
    >>> entries(problem) == entries(problem)
    counted
    True
    """

    @wraps(function)
    def known(problem: Statement) -> Known:
        facts = problem.facts
        if known not in facts:
            facts[known] = function(problem)
        value: Known = facts[known]
        return value

    return known
