"""The factor of the interior-point method's kernel, with the rank that its objective allows."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

NOISE = 1e-13  # pivots below this share of the largest diagonal entry are rounding
SHARE = 0.05  # the share of the required gap that a smaller rank may cost
JUMP = 3.0  # a rank may end where an eigenvalue is this many times the next one


def factor_of(
    problem: Statement, K: Array, y: Multipliers, tol: float = 1e-12, scaling: Array | None = None
) -> Array:
    """The factor V (n x r) of the leading part of K (order x order) with the smallest objective.

    If a smaller rank has nearly the same objective, the factor has the smaller rank. A violated constraint
    costs twice its multiplier times the violation. The products of the eigenvalues of K and S are mu, so K
    has large and small eigenvalues. Every jump between them is a rank that is tried. With a ``scaling`` T,
    the kernel is T K T'.
    """
    top = float(np.max(K.diagonal(), initial=0.0))
    if not top > 0:
        return np.zeros((problem.n, 1))
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1, tol=NOISE * top)
    W = np.zeros((len(K), rank))
    W[pivots - 1] = np.tril(factor)[:, :rank]
    U, s, _ = np.linalg.svd(W if scaling is None else scaling @ W, full_matrices=False)
    V = problem.lift(U * s)
    ends = [r for r in range(1, rank) if s[r - 1] ** 2 > JUMP * s[r] ** 2]
    if not problem.constraints:
        V = problem.regularizer.rescale(V) if problem.basis is None else V
    tried = [(_merit(problem, V[:, :r], y), r) for r in (*ends, rank)]
    tried = [pair for pair in tried if np.isfinite(pair[0])]
    if not tried:  # numbers out of range
        return V
    best = min(value for value, _ in tried)
    near = SHARE * tol * problem.size(2 * best)
    least = min(r for value, r in tried if value <= best + near)
    return V[:, :least]


def _merit(problem: Statement, V: Array, y: Multipliers) -> float:
    total = problem.objective_of_factor(V)
    for part, nu in zip(problem.constraints, y.constraints, strict=True):
        total += 2 * float(np.abs(nu) @ np.abs(part.excess(part.functional.value_of_factor(V))))
    return total
