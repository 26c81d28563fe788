"""What the conic backends cost, and beyond which size they are hopeless.

A matrix whose entries outside a chordal pattern are zero is a sum of positive semidefinite ones, each on a
clique (Agler, Helton, McCullough & Rodman 1988; Vandenberghe & Andersen 2015, section 9.2), and the kernel
that is dual to it is only known on the cliques: its completion is unique where its inverse has the pattern.
Clarabel decomposes and completes; here is what it will find, from a factorisation by minimum degree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from npkl_models.conic.solvers import SCS_SECONDS, default_solver, predicted_bytes, predicted_seconds
from npkl_models.linalg import Index, symmetric_lu
from npkl_models.model.statement import Statement
from npkl_models.model.trace_cones import needs_majorisation
from npkl_models.solve.cost import PRODUCT, Cost

CVXPY = 0.15  # seconds to compile the smallest conic program
MAJORISED = 200.0  # how much more a trace power without a form of fixed size costs
LARGEST_ORDER = 500  # beyond, no installed conic solver returns in reasonable time
LARGEST_SPARSE = 2_000  # beyond, nor where the cone falls into cliques
FEW = 0.2  # values a point: with more of them the cliques are not counted before they must be


def dense_cost(problem: Statement) -> Cost:
    """Of a conic program with one PSD cone of the problem's order."""
    order = problem.order
    solver = default_solver(None, order)
    seconds = predicted_seconds(solver, order)
    R = problem.regularizer.spectral
    if R is not None and needs_majorisation(R.p):
        seconds *= MAJORISED
    return _within_reach(problem, Cost(CVXPY + seconds, predicted_bytes(solver, order)))


def dual_cost(problem: Statement) -> Cost:
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


def reduced_cost(per_entry: float) -> Callable[[Statement], Cost]:
    """Of conic programs over svec(U): dense in the quadratic, so they grow with the square of its size."""

    def cost(problem: Statement) -> Cost:
        p = problem.order * (problem.order + 1) // 2
        seconds = CVXPY + PRODUCT * problem.n_pairs * p**2 + per_entry * p**2
        return _within_reach(problem, Cost(seconds, 8.0 * (12 * p**2 + 4 * problem.n_pairs * p)))

    return cost


def schur_cost(problem: Statement) -> Cost:
    """Of the program with a second PSD cone, of the order of svec(U)."""
    p = problem.order * (problem.order + 1) // 2
    seconds = CVXPY + PRODUCT * problem.n_pairs * p**2 + SCS_SECONDS * (p + 1) ** 3
    return _within_reach(problem, Cost(seconds, predicted_bytes("SCS", p + 1) + 24.0 * p**2))


def _within_reach(problem: Statement, cost: Cost) -> Cost:
    if problem.order <= LARGEST_ORDER:
        return cost
    return Cost(cost.seconds, cost.bytes, f"is hopeless at order {problem.order}, predicted {cost}")


DENSE = 0.2  # of all entries: a pattern so full is one clique
LARGEST = 5_000  # beyond, nothing is factorised to find out


def slack_cliques(problem: Statement) -> Index:
    """Sizes of the maximal cliques of the pattern of the dual slack, once it is made chordal, descending."""
    pattern = slack_pattern(problem)
    return np.array([problem.order]) if pattern is None else clique_sizes(pattern)


def slack_pattern(problem: Statement) -> sp.csc_array | None:
    """Where the slack may have entries; None where that is everywhere."""
    n, R = problem.n, problem.regularizer.spectral
    if n > LARGEST or problem.basis is not None or not sp.issparse(problem.cost):
        return None
    if R is not None and R.p != 1:
        return None
    columns = [part.functional.operator(None).indices for part in problem.parts]
    flat = np.unique(np.concatenate(columns)) if columns else np.zeros(0, dtype=int)
    if flat.size > DENSE * n * n:
        return None
    linked = sp.coo_array((np.ones(flat.size), (flat // n, flat % n)), shape=(n, n))
    pattern = abs(problem.cost) + linked + linked.T + sp.eye_array(n)
    return sp.csc_array(pattern) if pattern.nnz <= DENSE * n * n else None


def clique_sizes(pattern: sp.csc_array) -> Index:
    """Of a symmetric pattern (n x n), by the columns of a Cholesky factor of minimum degree."""
    n = pattern.shape[0]
    A = pattern.copy()
    A.data[:] = -1.0
    A = sp.csc_array(A + (n + 1.0) * sp.eye_array(n))  # diagonally dominant: no pivot is moved
    L = sp.csc_array(symmetric_lu(A).L)
    L.sort_indices()
    counts = np.diff(L.indptr)
    swallowed = np.zeros(n, dtype=bool)
    for column in np.flatnonzero(counts > 1):
        parent = L.indices[L.indptr[column] + 1]
        swallowed[parent] |= counts[column] == counts[parent] + 1
    return np.sort(counts[~swallowed])[::-1]


def dense_order(sizes: Index) -> float:
    """The order of one dense cone for which Clarabel stores as many numbers as for cliques of those sizes."""
    s = np.asarray(sizes, dtype=float)
    numbers = np.sqrt(float(np.sum((s * (s + 1) / 2) ** 2)))  # of their triangles
    return float(np.sqrt(2 * numbers + 0.25) - 0.5)
