"""Residuals of the equalities, and factors that make these residuals small."""

from __future__ import annotations

from functools import partial

import numpy as np

from npkl_models.feasibility.equality_map import EqualityMap, largest
from npkl_models.linalg import Array, gram_eigenvalues
from npkl_models.model.functionals import DistanceDifferences, Entries, SquaredDistances, TotalSum, Trace
from npkl_models.model.statement import Statement

ITERATIONS = 500  # of L-BFGS
LITTLE = 1e-9  # largest residual, relative to the data, that may be rounding
NAMED = (Entries, SquaredDistances, DistanceDifferences, TotalSum, Trace)  # indices alone define their values


def nearest(problem: Statement, W: Array) -> Array:
    """A factor of the unknown (s x r) with a stationary sum of squared residuals; the search begins at W."""
    from scipy.optimize import minimize

    function = partial(_residual, EqualityMap(problem), row_bound(problem), W.shape)
    options = {"maxiter": ITERATIONS, "ftol": 0.0, "gtol": 1e-14, "maxcor": 20}
    found = minimize(function, W.ravel(), jac=True, method="L-BFGS-B", options=options)
    out: Array = found.x.reshape(W.shape)
    return out


def random_factor(problem: Statement, rank: int) -> Array:
    """A random factor whose rows have about the length that the equalities ask for."""
    typical = np.sqrt(largest(EqualityMap(problem).wanted))
    rng = np.random.default_rng(0)
    out: Array = rng.standard_normal((problem.order, rank)) * typical / np.sqrt(rank)
    return out


def row_bound(problem: Statement) -> float:
    """The bound on K_ii by the regulariser; inf without a bound on row norms."""
    return problem.regularizer.trace_bound(1) if problem.regularizer.row_multipliers else np.inf


def contradictory(problem: Statement) -> bool:
    """Whether two equalities with the same indices ask for different values."""
    known: dict[tuple[object, ...], float] = {}
    for part in problem.equalities:
        f = part.functional
        if type(f) not in NAMED:
            continue
        symmetric = isinstance(f, (Entries, SquaredDistances))
        ends = np.sort(np.stack(f.indices), axis=0) if symmetric else np.array(f.indices)
        columns = ends.T.tolist() if len(f.indices) else [[]]
        for indices, value in zip(columns, part.value.tolist(), strict=True):
            if known.setdefault((f.kind, *indices), value) != value:
                return True
    return False


def _residual(equal: EqualityMap, top: float, shape: tuple[int, ...], x: Array) -> tuple[float, Array]:
    """Half the sum of squared residuals at V V', those of the regulariser included, and its gradient in W."""
    problem = equal.problem
    V = problem.lift(x.reshape(shape))
    miss = equal.residual(V) / equal.scales
    total, gradient = 0.5 * float(np.sum(miss**2)), equal.back(miss / equal.scales, V)
    if np.isfinite(top):
        over = np.maximum(np.einsum("ir,ir->i", V, V) - top, 0.0) / top
        total += 0.5 * float(np.sum(over**2))
        gradient += 2 * (over / top)[:, None] * V
    R = problem.regularizer
    if not np.isfinite(V).all():
        return np.inf, np.zeros(x.size)
    slope = R.violation_gradient(problem.drop(V))
    if slope is not None:
        excess = R.violation(gram_eigenvalues(V), np.zeros(0))
        total += 0.5 * excess * excess
        if excess > 0:
            gradient += excess * problem.lift(slope)
    return total, problem.drop(gradient).ravel()
