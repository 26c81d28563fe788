"""Move a solver's point towards the constraints; a point from elsewhere is never moved."""

from __future__ import annotations

import numpy as np

from npkl_models.feasibility.newton import SLACK, newton
from npkl_models.linalg import Array
from npkl_models.model.facts import row_bound
from npkl_models.model.functionals import diagonal_of
from npkl_models.model.misses import excess
from npkl_models.model.regularizer import rounding_factor
from npkl_models.model.rounding import grown, off_basis
from npkl_models.model.statement import Statement


def restored(problem: Statement, V: Array, steps: bool = True) -> Array:
    """A factor (n x r) near V that misses less of the constraints; ``steps`` allows Newton steps."""
    if problem.basis is not None:
        V = problem.lift(problem.drop(V))
    if not problem.constraints:
        return _shrunk(problem, V)
    if problem.basis is None and all(diagonal_of(part.functional).all() for part in problem.constraints):
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
