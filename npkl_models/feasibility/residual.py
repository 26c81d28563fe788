"""By how much kernels miss the equalities; those that miss them least, over a factor."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import minimize

from npkl_models.feasibility.equality_map import EqualityMap, largest
from npkl_models.linalg import Array, gram_eigenvalues
from npkl_models.model.functionals import DistanceDifferences, Entries, SquaredDistances, TotalSum, Trace
from npkl_models.model.statement import Statement

ITERATIONS = 500  # of L-BFGS
LITTLE = 1e-9  # largest residual, relative to the data, that is rounding at all
NAMED = (Entries, SquaredDistances, DistanceDifferences, TotalSum, Trace)  # by their indices alone


def nearest(problem: Statement, W: Array) -> Array:
    """A factor of the unknown (s x r) at which the sum of squared residuals is stationary, from W on."""
    function = partial(_residual, EqualityMap(problem), row_bound(problem), W.shape)
    options = {"maxiter": ITERATIONS, "ftol": 0.0, "gtol": 1e-14, "maxcor": 20}
    found = minimize(function, W.ravel(), jac=True, method="L-BFGS-B", options=options)
    out: Array = found.x.reshape(W.shape)
    return out


def random_factor(problem: Statement, rank: int) -> Array:
    """Rows of about the length that the equalities ask for."""
    typical = np.sqrt(largest(EqualityMap(problem).wanted))
    rng = np.random.default_rng(0)
    out: Array = rng.standard_normal((problem.order, rank)) * typical / np.sqrt(rank)
    return out


def row_bound(problem: Statement) -> float:
    """Of K_ii, inf without a bound on rows."""
    return problem.regularizer.trace_bound(1) if problem.regularizer.row_multipliers else np.inf


def contradictory(problem: Statement) -> bool:
    """Whether one value of the kernel must have two values, of those that indices name."""
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


def misses_little(problem: Statement, V: Array) -> bool:
    """Whether V V' meets the equalities but for what may be rounding."""
    equal = EqualityMap(problem)
    return bool(np.all(np.abs(equal.residual(V)) <= LITTLE * equal.scales))


def _residual(equal: EqualityMap, top: float, shape: tuple[int, ...], x: Array) -> tuple[float, Array]:
    """Half the sum of squared residuals at V V', and its gradient in W."""
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
