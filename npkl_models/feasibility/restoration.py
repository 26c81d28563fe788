"""From a point to a feasible one nearby: only the objective of a feasible kernel is an upper bound.

Regularisers are met by shrinking, a basis by projection, equalities on the diagonal by scaling rows, any
others by Newton steps on V (each a least-squares problem), which keep K = VV' positive semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.feasibility.dependence import without_dependent
from npkl_models.feasibility.kantorovich import Near, near
from npkl_models.feasibility.newton import SLACK, newton
from npkl_models.feasibility.own_coordinates import inside
from npkl_models.feasibility.refinement import refined
from npkl_models.feasibility.residual import misses_little
from npkl_models.linalg import UNIT, Array, gram_eigenvalues
from npkl_models.model.facts import diagonal_of
from npkl_models.model.rounding import grown, off_basis
from npkl_models.model.statement import Statement

LEADING = 1e-9  # eigenvalue of a kernel, relative to its largest, that a narrower factor keeps
SHORT = 1e-12  # a way to feasibility, relative to V, that is not worth a step
ALIKE = 1e-6  # a way, relative to V, on which equalities stay as independent as they were


@dataclass(frozen=True)
class Restored:
    """A point with its constraints restored.

    Attributes
    ----------
    V : ndarray of shape (n, r)
    near : Near or None
        Where there is an exactly feasible kernel; None if that could not be shown.
    moved : float
        An upper bound on the distance of the kernels, relative to the given one.
    """

    V: Array
    near: Near | None
    moved: float

    @property
    def feasible(self) -> bool:
        """Whether the point meets all constraints to rounding."""
        return self.near is not None


def restore(problem: Statement, V: Array, prove: bool = True) -> Restored:
    """The nearest feasible factor that a few steps find.

    Without ``prove`` equalities are left as they are, and no feasible kernel near them is looked for.
    """
    given = V
    if problem.basis is not None:
        V = problem.lift(problem.drop(V))
    if not problem.equalities:
        V = _shrunk(problem, V)
    elif problem.basis is None and all(diagonal_of(part.functional).all() for part in problem.equalities):
        V = _scaled_rows(problem, V)
    if not problem.equalities:
        return Restored(V, near(problem, V), _moved(given, V))
    turned = inside(problem, V) if prove else None
    if turned is not None:
        return Restored(turned.V, Near(turned.reach, turned=turned), _moved(given, turned.V))
    V, found = _nearest(problem, V) if prove else (V, None)
    return Restored(V, found, _moved(given, V))


def _nearest(problem: Statement, V: Array) -> tuple[Array, Near | None]:
    """By Newton steps, where they lead nearer to an exactly feasible kernel."""
    better = newton(problem, V)
    sharper = _sharper(problem, V, better)
    if sharper is not None:
        return sharper
    found = near(problem, better)
    if found is not None:
        size = _length(better)
        met = found.share == 0.0 and found.reach <= SHORT * size
        if met or _length(better - V) <= ALIKE * size:
            return better, found
    other = near(problem, V)
    if other is not None and (found is None or (other.share, other.reach) < (found.share, found.reach)):
        return V, other
    if found is not None:
        return better, found
    narrow = _leading(V)
    if narrow.shape[1] < V.shape[1]:  # what it lacks is soon mended, and there is less to factorise
        better = newton(problem, narrow)
        found = near(problem, better)
    return (V, None) if found is None else (better, found)


def _sharper(problem: Statement, V: Array, better: Array) -> tuple[Array, Near] | None:
    """With twice the digits, where the equalities are so nearly dependent that the usual ones do not do.

    Of V itself, restored to ``better``; or of its leading part, whose derivative is smaller.
    """
    if not problem.regularizer.vacuous or problem.terms:
        return None
    if misses_little(problem, better):
        if near(problem, better, anchored=False) is not None:
            return None
        found = refined(without_dependent(problem), better)
        if found is not None:
            return found.V, Near(found.reach)
    narrow = _leading(V)
    if narrow.shape[1] == V.shape[1]:
        return None
    found = refined(without_dependent(problem), newton(problem, narrow))
    return None if found is None else (found.V, Near(found.reach))


def _leading(V: Array) -> Array:
    """The part of a factor that is not far smaller than the rest."""
    try:
        turned = _rotated(V)
    except np.linalg.LinAlgError:  # numbers out of range
        return V
    square = np.einsum("ir,ir->r", turned, turned)
    kept = square > LEADING * square[0]
    return turned[:, kept] if kept.any() else V


def _rotated(V: Array) -> Array:
    """A factor of the same kernel with orthogonal columns, the longest first."""
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    out: Array = U * s
    return out


def _moved(given: Array, V: Array) -> float:
    if V.shape[1] < given.shape[1]:  # the leading part of the given one was restored
        given = _rotated(given)
        V = np.pad(V, ((0, 0), (0, given.shape[1] - V.shape[1])))
    lengths, apart = [_length(X) for X in (given, V)], float(np.linalg.norm(given - V))
    if apart <= 8 * given.shape[0] * UNIT * max(lengths):
        return 0.0
    return apart * sum(lengths) / max(float(np.linalg.norm(gram_eigenvalues(given))), 1e-300)


def _length(V: Array) -> float:
    return float(np.linalg.norm(V))


def _shrunk(problem: Statement, V: Array) -> Array:
    """The regulariser's own way; in a basis all rows alike, which keeps them in it.

    What is inside in the coordinates of a basis may be outside by a rounding as rows: both are looked at.
    """
    R = problem.regularizer
    if problem.basis is None or not (R.bounds or R.row_multipliers):
        return R.rescale(V)
    if not R.row_multipliers:
        V = problem.lift(R.rescale(problem.drop(V)))
    more = 2 * grown(V, float(np.linalg.norm(off_basis(problem, V))))  # twice: shrinking rounds, too
    excess = R.violation(gram_eigenvalues(V), np.einsum("ir,ir->i", V, V), more)
    return V * ((1 - SLACK) / (1 + excess)) if excess > 0 else V


def _scaled_rows(problem: Statement, V: Array) -> Array:
    """Rows of the wanted lengths; for one that is zero and must not be, the first unit vector times that."""
    V = V.copy()
    for part in problem.equalities:
        i, wanted = part.functional.indices[0], np.sqrt(np.maximum(part.value, 0.0))
        length = np.linalg.norm(V[i], axis=1)
        lost = (length == 0) & (wanted > 0)
        V[i[lost], 0], length[lost] = 1.0, 1.0
        V[i] = V[i] * np.divide(wanted, length, out=np.zeros_like(length), where=length > 0)[:, None]
    return V
