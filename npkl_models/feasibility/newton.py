"""Newton steps on a factor towards equalities; each step is the shortest that meets them to first order.

If equalities nearly depend on each other, a step may go too far. So the iterate with the smallest residual is
kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, lsmr

from npkl_models.feasibility.equality_map import MOST, EqualityMap
from npkl_models.linalg import UNIT, Array, Index, gram_eigenvalues, raised_cholesky
from npkl_models.model.statement import Statement

STEPS = 12  # Newton steps
INNER = 300  # LSMR steps in each Newton step
TURNING = 0.5  # the third step that does not shrink the residual to this share is the last
ROUNDING = 8 * UNIT  # a residual that no step can shrink, relative to the numbers in its sum
SINGULAR = (0.0, 1e-14, 1e-12, 1e-10)  # relative raises of the diagonal of JJ' if a factorisation fails
SLACK = 1e-12  # margin by which an inequality is met


@dataclass(frozen=True)
class _Constraint:
    """The residual of a constraint, the derivative at V along D, and the adjoint of the derivative."""

    residual: Array
    along: Callable[[Array], Array]
    back: Callable[[Array], Array]


def newton(problem: Statement, V: Array) -> Array:
    """The factor (n x r) with the smallest residual among some Newton iterates that start at V."""
    equal = EqualityMap(problem)
    W, best, least, turns = problem.drop(V), V, np.inf, 0
    held: set[int] = set()
    for _ in range(STEPS):
        V = problem.lift(W)
        if not np.isfinite(V).all():
            break
        others = _inequalities(problem, V, W, held)
        constraints = [_equalities(equal, V), *others]
        size = sum(float(np.sum(c.residual**2)) for c in constraints)
        if not np.isfinite(size):
            break
        turns += size > TURNING**2 * least
        if size < least:
            best, least = V, size
        count = sum(c.residual.size for c in constraints)
        if size <= count * ROUNDING**2 or turns > 2:
            break
        step = None if others else _direct_step(equal, V)
        W = W + (_step(problem, W, constraints) if step is None else step)
    return best


def _direct_step(equal: EqualityMap, V: Array) -> Array | None:
    """The shortest step by a factorisation of JJ'; None if JJ' is too large or too near singular."""
    found = equal.normal(V) if equal.size <= MOST else None
    if found is None:
        return None
    G, back = found
    if not (np.isfinite(G).all() and bool(np.all(G.diagonal() >= 0))):
        return None
    scale = np.sqrt(np.maximum(G.diagonal(), 1e-300))
    try:
        factor = raised_cholesky(G / scale / scale[:, None], SINGULAR)
        step = back(scipy.linalg.cho_solve(factor, -equal.residual(V) / scale) / scale)
    except (np.linalg.LinAlgError, ValueError):  # not finite
        return None
    return step if np.isfinite(step).all() else None


def _step(problem: Statement, W: Array, constraints: list[_Constraint]) -> Array:
    """The shortest change of W that meets all constraints to first order."""
    right = np.concatenate([c.residual for c in constraints])
    cuts = np.cumsum([c.residual.size for c in constraints])[:-1]

    def forward(x: Array) -> Array:
        D = problem.lift(x.reshape(W.shape))
        return np.concatenate([c.along(D) for c in constraints])

    def adjoint(y: Array) -> Array:
        parts = [c.back(part) for c, part in zip(constraints, np.split(y, cuts), strict=True)]
        return problem.drop(np.sum(parts, axis=0)).ravel()

    operator = LinearOperator((right.size, W.size), matvec=forward, rmatvec=adjoint, dtype=float)
    step: Array = lsmr(operator, right, atol=1e-14, btol=1e-14, conlim=0, maxiter=INNER)[0]
    return step.reshape(W.shape)


def _equalities(equal: EqualityMap, V: Array) -> _Constraint:
    """The equalities, scaled such that a residual is relative to the data in it."""
    wanted = equal.wanted
    scale = 1 / np.maximum(np.where(wanted != 0, np.abs(wanted), equal.sizes(V)), 1e-300)
    return _Constraint(
        -scale * equal.residual(V),
        lambda D: scale * equal.along(V, D),
        lambda y: equal.back(scale * y, V),
    )


def _rows_within(V: Array, rows: Index, top: float) -> _Constraint:
    """The constraint that these rows have the squared length ``top``."""

    def back(y: Array) -> Array:
        out = np.zeros_like(V)
        out[rows] = 2 / top * y[:, None] * V[rows]
        return out

    lengths = np.einsum("ir,ir->i", V[rows], V[rows])
    return _Constraint(1 - lengths / top, lambda D: 2 / top * np.einsum("ir,ir->i", V[rows], D[rows]), back)


def _inequalities(problem: Statement, V: Array, W: Array, held: set[int]) -> list[_Constraint]:
    """Constraints of the regulariser that are violated now or were before; ``held`` remembers them."""
    R = problem.regularizer
    if R.row_multipliers:
        top = R.trace_bound(1)
        held.update(np.flatnonzero(np.einsum("ir,ir->i", V, V) > top).tolist())
        if not held:
            return []
        rows = np.array(sorted(held), dtype=np.intp)
        return [_rows_within(V, rows, top * (1 - SLACK))]
    slope = R.violation_gradient(W)
    if slope is None:
        return []
    excess = R.violation(gram_eigenvalues(W), np.zeros(0))
    if not (excess > 0 or held):
        return []
    held.add(0)
    G = problem.lift(slope)
    return [
        _Constraint(
            np.array([-excess - SLACK]), lambda D: np.array([float(np.sum(G * D))]), lambda y: y[0] * G
        )
    ]
