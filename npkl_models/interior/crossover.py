"""From a kernel inside the cone to a factor: its range, as far as it is not what the barrier has left."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from npkl_models.linalg import Array
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers

NOISE = 1e-13  # of the largest diagonal entry: below, pivots are rounding
WORTH = 0.05  # of the gap that is asked for: what a smaller rank may cost
JUMP = 3.0  # between two eigenvalues, where a rank may end


def factor_of(problem: Statement, K: Array, y: Multipliers, tol: float = 1e-12) -> Array:
    """The factor V (n x r) of the leading part of K (order x order) with the smallest objective.

    Or nearly the smallest, of a smaller rank. What it misses of an equality is priced by its multiplier.

    The eigenvalues of K and S multiply to mu, so that those of K fall into large ones and small ones; every
    jump between them is a rank that is tried.
    """
    top = float(np.max(K.diagonal(), initial=0.0))
    if not top > 0:
        return np.zeros((problem.n, 1))
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1, tol=NOISE * top)
    W = np.zeros((len(K), rank))
    W[pivots - 1] = np.tril(factor)[:, :rank]
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    V = problem.lift(U * s)
    ends = [r for r in range(1, rank) if s[r - 1] ** 2 > JUMP * s[r] ** 2]
    if not problem.equalities:
        V = problem.regularizer.rescale(V) if problem.basis is None else V
    tried = [(_merit(problem, V[:, :r], y), r) for r in (*ends, rank)]
    tried = [pair for pair in tried if np.isfinite(pair[0])]
    if not tried:  # numbers out of range
        return V
    best = min(value for value, _ in tried)
    near = WORTH * tol * problem.size(2 * best)
    return V[:, : min(r for value, r in tried if value <= best + near)]


def _merit(problem: Statement, V: Array, y: Multipliers) -> float:
    total = problem.objective_of_factor(V)
    for part, nu in zip(problem.equalities, y.equalities, strict=True):
        total += 2 * float(np.abs(nu) @ np.abs(part.functional.value_of_factor(V) - part.value))
    return total
