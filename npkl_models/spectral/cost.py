"""What the spectral backends cost."""

from __future__ import annotations

from npkl_models.model.problem import Problem
from npkl_models.solve.cost import CALL, EIGH, PRODUCT, Cost


def spectral_cost(problem: Problem, eigendecompositions: int) -> Cost:
    """Of so many eigendecompositions of the problem's order; a bound that does not bind takes many more."""
    order = problem.order
    one = EIGH * order**3 + PRODUCT * problem.cost.nnz * order + 5 * CALL
    return Cost(eigendecompositions * one, 8.0 * 7.5 * order**2)
