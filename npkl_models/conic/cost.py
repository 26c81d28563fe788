"""What the conic backends cost, and beyond which size they are hopeless."""

from __future__ import annotations

from collections.abc import Callable

from npkl_models.conic.cliques import dense_order, slack_cliques
from npkl_models.conic.solvers import SCS_SECONDS, default_solver, predicted_bytes, predicted_seconds
from npkl_models.model.problem import Problem
from npkl_models.model.trace_cones import needs_majorisation
from npkl_models.solve.cost import PRODUCT, Cost

CVXPY = 0.15  # seconds to compile the smallest conic program
MAJORISED = 200.0  # how much more a trace power without a form of fixed size costs
LARGEST_ORDER = 500  # beyond, no installed conic solver returns in reasonable time
LARGEST_SPARSE = 2_000  # beyond, nor where the cone falls into cliques
FEW = 0.2  # values a point: with more of them the cliques are not counted before they must be


def dense_cost(problem: Problem) -> Cost:
    """Of a conic program with one PSD cone of the problem's order."""
    order = problem.order
    solver = default_solver(None, order)
    seconds = predicted_seconds(solver, order)
    R = problem.regularizer.spectral
    if R is not None and needs_majorisation(R.p):
        seconds *= MAJORISED
    return _within_reach(problem, Cost(CVXPY + seconds, predicted_bytes(solver, order)))


def dual_cost(problem: Problem) -> Cost:
    """Of the same in the dual form, which falls into cliques where the slack is sparse."""
    order = problem.order
    many = order > LARGEST_ORDER and problem.n_pairs > FEW * order
    if order > LARGEST_SPARSE or many:
        return dense_cost(problem)
    cliques = dense_order(slack_cliques(problem))
    if default_solver(None, order, cliques) != "CLARABEL" or cliques >= order:
        return dense_cost(problem)
    seconds = CVXPY + predicted_seconds("CLARABEL", order, cliques)
    return Cost(seconds + PRODUCT * float(order) ** 2, predicted_bytes("CLARABEL", order, cliques))


def reduced_cost(per_entry: float) -> Callable[[Problem], Cost]:
    """Of conic programs over svec(U): dense in the quadratic, so they grow with the square of its size."""

    def cost(problem: Problem) -> Cost:
        p = problem.order * (problem.order + 1) // 2
        seconds = CVXPY + PRODUCT * problem.n_pairs * p**2 + per_entry * p**2
        return _within_reach(problem, Cost(seconds, 8.0 * (12 * p**2 + 4 * problem.n_pairs * p)))

    return cost


def schur_cost(problem: Problem) -> Cost:
    """Of the program with a second PSD cone, of the order of svec(U)."""
    p = problem.order * (problem.order + 1) // 2
    seconds = CVXPY + PRODUCT * problem.n_pairs * p**2 + SCS_SECONDS * (p + 1) ** 3
    return _within_reach(problem, Cost(seconds, predicted_bytes("SCS", p + 1) + 24.0 * p**2))


def _within_reach(problem: Problem, cost: Cost) -> Cost:
    if problem.order <= LARGEST_ORDER:
        return cost
    return Cost(cost.seconds, cost.bytes, f"is hopeless at order {problem.order}, predicted {cost}")
