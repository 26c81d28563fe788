"""Move a solver's point towards the constraints; a point from elsewhere is never moved.

Each of the Newton steps is the shortest that meets the constraints to first order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, lsmr

from npkl_models.feasibility.constraint_map import MOST, ConstraintMap
from npkl_models.kernel import grown, off_basis
from npkl_models.linalg import UNIT, Array, gram_eigenvalues, raised_cholesky
from npkl_models.model.facts import row_bound
from npkl_models.model.misses import excess
from npkl_models.model.regularizer import rounding_factor
from npkl_models.model.statement import Statement

STEPS = 12  # Newton steps
INNER = 300  # LSMR steps in each Newton step
TURNING = 0.5  # the third step that does not shrink the residual to this share is the last
ROUNDING = 8 * UNIT  # a residual that no step can shrink, relative to the numbers in its sum
SLACK = 1e-12  # margin by which an inequality is met


def restored(problem: Statement, V: Array, steps: bool = True) -> Array:
    """A factor (n x r) near V that misses less of the constraints; ``steps`` allows Newton steps."""
    if problem.basis is not None:
        V = problem.lift(problem.drop(V))
    if not problem.constraints:
        return _shrunk(problem, V)
    if problem.basis is None and all(part.functional.on_diagonal.all() for part in problem.constraints):
        return _scaled_rows(problem, V)
    return newton(problem, V) if steps else V


def rescaled(problem: Statement, V: Array) -> Array:
    """V, shrunk if necessary, so that a bound on all rows or the regulariser holds in spite of rounding."""
    bound = row_bound(problem)
    if bound is not None:
        norms = np.sqrt(np.einsum("ir,ir->i", V, V))
        most = rounding_factor(V) * float(np.sqrt(bound))
        return V * (most / np.maximum(norms, most))[:, None] if (norms > most).any() else V
    return problem.regularizer.rescale(V)


def _shrunk(problem: Statement, V: Array) -> Array:
    """Shrink V until the regulariser is met; over a basis all rows shrink alike, and so stay in its range."""
    R = problem.regularizer
    if problem.basis is None or not R.bounds:
        return R.rescale(V)
    V = problem.lift(R.rescale(problem.drop(V)))
    more = 2 * grown(V, float(np.linalg.norm(off_basis(problem, V))))  # twice: shrinking rounds, too
    over = excess(problem, V, more=more)
    return V * ((1 - SLACK) / (1 + over)) if over > 0 else V


def _scaled_rows(problem: Statement, V: Array) -> Array:
    """Scale rows to lengths that are allowed; a zero row may become a multiple of the first unit vector."""
    V = V.copy()
    for part in problem.constraints:
        i, margin = part.functional.indices[0], 0.0 if part.equal else SLACK
        length = np.linalg.norm(V[i], axis=1)
        allowed = np.clip(length**2, part.lower * (1 + margin), part.upper * (1 - margin))
        wanted = np.sqrt(np.maximum(allowed, 0.0))
        lost = (length == 0) & (wanted > 0)
        V[i[lost], 0], length[lost] = 1.0, 1.0
        share = np.divide(wanted, length, out=np.zeros_like(length), where=length > 0)
        moved = part.equal | (allowed != length**2) | lost
        V[i] = np.where(moved[:, None], V[i] * share[:, None], V[i])
    return V


@dataclass(frozen=True)
class _Rows:
    """Residuals, their derivatives at V along D, and the adjoint of the derivative."""

    residual: Array
    along: Callable[[Array], Array]
    back: Callable[[Array], Array]


def newton(problem: Statement, V: Array) -> Array:
    """The factor (n x r) with the smallest residual among some Newton iterates that start at V."""
    W, best, least, turns, held = problem.drop(V), V, np.inf, 0, False
    met = _taking_part(problem, V)
    for _ in range(STEPS):
        V = problem.lift(W)
        if not np.isfinite(V).all():
            break
        met = _taking_part(problem, V, met)
        held, others = _of_regularizer(problem, W, held)
        every = ([_constraints(met, V)] if met.size else []) + others
        size = sum(float(np.sum(c.residual**2)) for c in every)
        if not np.isfinite(size):
            break
        turns += size > TURNING**2 * least
        if size < least:
            best, least = V, size
        count = sum(c.residual.size for c in every)
        if size <= count * ROUNDING**2 or turns > 2:
            break
        step = None if others or not met.size else _direct_step(met, V)
        W = W + (_step(problem, W, every) if step is None else step)
    return best


def _taking_part(problem: Statement, V: Array, before: ConstraintMap | None = None) -> ConstraintMap:
    """Equalities, and bounds that V misses or that took part ``before``; these are met with a margin."""
    if before is not None and all(mask.all() for mask in before.masks):  # nothing can join
        return before
    parts, masks = [], []
    given = [part.equal for part in problem.constraints] if before is None else before.masks
    for part, known in zip(problem.constraints, given, strict=True):
        mask = known | (part.excess(part.functional.value_of_factor(V)) != 0)
        masks.append(mask)
        if mask.any():
            own = part if mask.all() else part.kept(mask)
            inwards = 0.0 if part.equal else SLACK if np.isfinite(part.lower).all() else -SLACK
            parts.append(own.moved(own.value + inwards * np.abs(own.value)))
    if before is not None and all(np.array_equal(a, b) for a, b in zip(masks, before.masks, strict=True)):
        return before
    return ConstraintMap(problem, tuple(parts), tuple(masks))


def _direct_step(met: ConstraintMap, V: Array) -> Array | None:
    """The shortest step by a factorisation of JJ'; None if JJ' is too large or too near singular."""
    found = met.normal(V) if met.size <= MOST else None
    if found is None:
        return None
    G, back = found
    if not (np.isfinite(G).all() and bool(np.all(G.diagonal() >= 0))):
        return None
    scale = np.sqrt(np.maximum(G.diagonal(), 1e-300))
    try:
        factor = raised_cholesky(G / scale / scale[:, None])
        step = back(scipy.linalg.cho_solve(factor, -met.residual(V) / scale) / scale)
    except (np.linalg.LinAlgError, ValueError):  # not finite
        return None
    return step if np.isfinite(step).all() else None


def _step(problem: Statement, W: Array, constraints: list[_Rows]) -> Array:
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


def _constraints(met: ConstraintMap, V: Array) -> _Rows:
    """The constraints, scaled such that a residual is relative to the data in it."""
    wanted = met.wanted
    scale = 1 / np.maximum(np.where(wanted != 0, np.abs(wanted), met.sizes(V)), 1e-300)
    return _Rows(
        -scale * met.residual(V), lambda D: scale * met.along(V, D), lambda y: met.back(scale * y, V)
    )


def _of_regularizer(problem: Statement, W: Array, held: bool) -> tuple[bool, list[_Rows]]:
    """The bound of the regulariser if it is missed now or was before (``held``)."""
    slope = problem.regularizer.violation_gradient(W)
    excess = 0.0 if slope is None else problem.regularizer.violation(gram_eigenvalues(W))
    if slope is None or not (excess > 0 or held):
        return held, []
    G = problem.lift(slope)
    row = _Rows(np.array([-excess - SLACK]), lambda D: np.array([float(np.sum(G * D))]), lambda y: y[0] * G)
    return True, [row]
