"""Residuals of the constraints, and factors that make these residuals small."""

from __future__ import annotations

from functools import partial

import numpy as np

from npkl_models.feasibility.constraint_map import ConstraintMap, largest
from npkl_models.linalg import Array, Mask, gram_eigenvalues
from npkl_models.model.basis import Basis
from npkl_models.model.functional import Functional
from npkl_models.model.functionals import DistanceDifferences, Entries, SquaredDistances, TotalSum, Trace
from npkl_models.model.statement import Statement

ITERATIONS = 500  # of L-BFGS
LITTLE = 1e-9  # largest residual, relative to the data, that may be rounding
NAMED = (Entries, SquaredDistances, DistanceDifferences, TotalSum, Trace)  # indices alone define their values


def nearest(problem: Statement, W: Array) -> Array:
    """A factor of the unknown (s x r) with a stationary sum of squared residuals; the search begins at W."""
    from scipy.optimize import minimize

    function = partial(_residual, ConstraintMap.of(problem), W.shape)
    options = {"maxiter": ITERATIONS, "ftol": 0.0, "gtol": 1e-14, "maxcor": 20}
    found = minimize(function, W.ravel(), jac=True, method="L-BFGS-B", options=options)
    out: Array = found.x.reshape(W.shape)
    return out


def random_factor(problem: Statement, rank: int) -> Array:
    """A random factor whose rows have about the length that the constraints ask for."""
    typical = np.sqrt(largest(ConstraintMap.of(problem).wanted))
    rng = np.random.default_rng(0)
    out: Array = rng.standard_normal((problem.order, rank)) * typical / np.sqrt(rank)
    return out


def contradictory(problem: Statement) -> bool:
    """Whether the bounds on values with the same indices leave no value."""
    known: dict[tuple[object, ...], tuple[float, float]] = {}
    for part in problem.constraints:
        f = part.functional
        if type(f) not in NAMED:
            continue
        symmetric = isinstance(f, (Entries, SquaredDistances))
        ends = np.sort(np.stack(f.indices), axis=0) if symmetric else np.array(f.indices)
        columns = ends.T.tolist() if len(f.indices) else [[]]
        for indices, low, high in zip(columns, part.lower.tolist(), part.upper.tolist(), strict=True):
            key = (f.kind, *indices)
            least, most = known.get(key, (-np.inf, np.inf))
            known[key] = max(least, low), min(most, high)
            if known[key][0] > known[key][1]:
                return True
    return False


def zero_over(basis: Basis | None, f: Functional) -> Mask:
    """Which values are zero for all kernels over the basis, because its rows are zero or equal."""
    if basis is None or not isinstance(f, (Entries, SquaredDistances)):
        return np.zeros(f.size, dtype=bool)
    Q, (i, j) = basis.Q, f.indices
    if isinstance(f, SquaredDistances):
        gap = Q[i] - Q[j]
        return np.asarray(abs(gap).sum(axis=1)).ravel() == 0
    size = np.asarray(abs(Q).sum(axis=1)).ravel()
    return (size[i] == 0) | (size[j] == 0)


def _residual(every: ConstraintMap, shape: tuple[int, ...], x: Array) -> tuple[float, Array]:
    """Half the sum of squared residuals at V V', those of the regulariser included, and its gradient in W."""
    problem = every.problem
    V = problem.lift(x.reshape(shape))
    miss = every.excess(V) / every.scales
    total, gradient = 0.5 * float(np.sum(miss**2)), every.back(miss / every.scales, V)
    R = problem.regularizer
    if not np.isfinite(V).all():
        return np.inf, np.zeros(x.size)
    slope = R.violation_gradient(problem.drop(V))
    if slope is not None:
        excess = R.violation(gram_eigenvalues(V))
        total += 0.5 * excess * excess
        if excess > 0:
            gradient += excess * problem.lift(slope)
    return total, problem.drop(gradient).ravel()
