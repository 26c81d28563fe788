"""What the low-rank backends cost, from n, the entries of C, the values, the rank and the basis."""

from __future__ import annotations

from npkl_models.certify.newton import CONSTRAINTS
from npkl_models.lowrank.factor.rank import auto_rank
from npkl_models.model.problem import Problem
from npkl_models.solve.cost import CALL, PRODUCT, Cost

ROW_COMPILED = 4e-7  # seconds per row of a compiled sweep, beside the product
ROW_NUMPY = 1e-6  # seconds per row of a numpy sweep, beside the product
RESTORATION = 1e-10  # seconds, times the cube of the number of equalities


def factor_cost(
    problem: Problem, iterations: int, products: float = 3.0, kinked: float = 2.0, row: float = 0.0
) -> Cost:
    """Of so many iterations, each with products of C and V, and seconds for a row.

    ``kinked`` is how many times longer a loss with a kink or a constraint takes.
    """
    rank = auto_rank(problem)
    held = sum(part.functional.size for part in problem.equalities)
    entries = problem.cost.nnz + 2 * problem.n_pairs
    if problem.basis is not None:
        entries += 2 * (problem.n if problem.basis.shared is not None else problem.n * problem.basis.size)
    seconds = iterations * (products * PRODUCT * entries * rank + problem.n * row + CALL)
    smooth = all(term.loss.smooth for term in problem.terms) and not problem.equalities
    if not smooth or not (problem.regularizer.vacuous or problem.regularizer.row_multipliers):
        seconds *= kinked
    seconds += RESTORATION * min(held, CONSTRAINTS) ** 3  # to a point that meets the equalities
    return Cost(seconds, 8.0 * (30 * problem.n * rank + 8 * entries))
