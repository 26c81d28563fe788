"""The predicted cost of the conic backends, and the sizes beyond which they are hopeless.

A positive semidefinite matrix whose entries outside a chordal pattern are zero is a sum of positive
semidefinite matrices, each on a clique (Agler, Helton, McCullough & Rodman 1988; Vandenberghe & Andersen
2015, section 9.2). The dual kernel is determined on the cliques only; one of its completions has an inverse
with the pattern. Clarabel decomposes and completes. This module predicts the cliques that Clarabel finds, by
a factorisation with minimum degree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from npkl_models.conic.solvers import SCS_SECONDS, default_solver, predicted_bytes, predicted_seconds
from npkl_models.linalg import Index, symmetric_lu
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.incidence import Incidence
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.statement import Statement
from npkl_models.model.trace_cones import needs_majorisation
from npkl_models.solve.cost import CALL, DENSE_SHARE, PRODUCT, Cost

CVXPY = 0.15  # seconds to compile the smallest conic program
MAJORISED = 200.0  # factor of the time for a trace power without a form of fixed size
SLOWER = 10.0  # for kinked losses of distances (bounded_multipliers.py), any matrices (sdplib.py), and tr K^p
LARGEST_ORDER = 500  # largest order at which an installed conic solver returns in reasonable time


def dense_cost(problem: Statement) -> Cost:
    """The cost of a conic program with one PSD cone of the problem's order."""
    order = problem.order
    solver = default_solver(None, order)
    seconds = CVXPY + CALL * problem.n_pairs + predicted_seconds(solver, order)
    R = problem.regularizer.spectral
    if R is not None and R.p > 1:
        seconds *= MAJORISED if needs_majorisation(R.p) else SLOWER
    kinked = any(isinstance(t.functional, SquaredDistances) and not t.loss.smooth for t in problem.losses)
    if kinked or any(isinstance(part.functional, SparseMatrices) for part in problem.constraints):
        seconds *= SLOWER
    return _within_reach(problem, Cost(seconds, predicted_bytes(solver, order)))


def dual_cost(problem: Statement) -> Cost:
    """The cost of the dual form, whose PSD cone falls into cliques if the slack is sparse.

    Cliques are not counted on for constraints with any matrices: on SDPLIB the completed kernel missed them.
    """
    order = problem.order
    matrices = any(isinstance(part.functional, SparseMatrices) for part in problem.constraints)
    if order > LARGEST_ORDER or matrices:
        return dense_cost(problem)
    cliques = dense_order(slack_cliques(problem))
    if default_solver(None, order, cliques) != "CLARABEL" or cliques >= order:
        return dense_cost(problem)
    seconds = CVXPY + predicted_seconds("CLARABEL", order, cliques)
    return Cost(seconds + PRODUCT * float(order) ** 2, predicted_bytes("CLARABEL", order, cliques))


def reduced_cost(per_entry: float) -> Callable[[Statement], Cost]:
    """The cost of programs over svec(U), whose dense quadratic grows with the square of its size."""

    def cost(problem: Statement) -> Cost:
        p = problem.order * (problem.order + 1) // 2
        seconds = CVXPY + PRODUCT * problem.n_pairs * p**2 + per_entry * p**2
        return _within_reach(problem, Cost(seconds, 8.0 * (12 * p**2 + 4 * problem.n_pairs * p)))

    return cost


def schur_cost(problem: Statement) -> Cost:
    """The cost of the program with a second PSD cone, whose order is the length of svec(U) plus one."""
    p = problem.order * (problem.order + 1) // 2
    seconds = CVXPY + PRODUCT * problem.n_pairs * p**2 + SCS_SECONDS * (p + 1) ** 3
    return _within_reach(problem, Cost(seconds, predicted_bytes("SCS", p + 1) + 24.0 * p**2))


def _within_reach(problem: Statement, cost: Cost) -> Cost:
    if problem.order <= LARGEST_ORDER:
        return cost
    return Cost(cost.seconds, cost.bytes, f"would take too long at order {problem.order}: about {cost}")


LARGEST = 5_000  # largest order at which a pattern is factorised


def slack_cliques(problem: Statement) -> Index:
    """Sizes of the maximal cliques of the dual slack's pattern after it is made chordal, descending."""
    pattern = slack_pattern(problem)
    return np.array([problem.order]) if pattern is None else clique_sizes(pattern)


def slack_pattern(problem: Statement) -> sp.csc_array | None:
    """The pattern of the entries that the slack may have; None if the slack counts as dense."""
    n, R = problem.n, problem.regularizer.spectral
    if n > LARGEST or problem.basis is not None or not sp.issparse(problem.cost):
        return None
    if R is not None and R.p != 1:
        return None
    linked = Incidence.stack([part.functional.incidence for part in problem.terms]).pattern()
    pattern = abs(problem.cost) + linked + sp.eye_array(n)
    return sp.csc_array(pattern) if pattern.nnz <= DENSE_SHARE * n * n else None


def clique_sizes(pattern: sp.csc_array) -> Index:
    """Clique sizes of a symmetric pattern (n x n), from a Cholesky factor of minimum degree."""
    n = pattern.shape[0]
    A = pattern.copy()
    A.data[:] = -1.0
    A = sp.csc_array(A + (n + 1.0) * sp.eye_array(n))  # diagonally dominant, so that no pivot moves
    L = sp.csc_array(symmetric_lu(A).L)
    L.sort_indices()
    counts = np.diff(L.indptr)
    swallowed = np.zeros(n, dtype=bool)
    for column in np.flatnonzero(counts > 1):
        parent = L.indices[L.indptr[column] + 1]
        swallowed[parent] |= counts[column] == counts[parent] + 1
    return np.sort(counts[~swallowed])[::-1]


def dense_order(sizes: Index) -> float:
    """The order of one dense cone for which Clarabel stores as many numbers as for cliques of these sizes."""
    s = np.asarray(sizes, dtype=float)
    numbers = np.sqrt(float(np.sum((s * (s + 1) / 2) ** 2)))  # in their triangles
    return float(np.sqrt(2 * numbers + 0.25) - 0.5)
