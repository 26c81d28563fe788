"""Find a feasible kernel near a point, since only the objective of a feasible kernel is an upper bound.

A point meets the regulariser after shrinking, a basis after projection, and equalities on the diagonal after
scaling of its rows. Other equalities need Newton steps on V (each a least-squares problem), which keep
K = VV' positive semidefinite.
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

LEADING = 1e-9  # a narrower factor keeps the eigenvalues of a kernel above this share of the largest
SHORT = 1e-12  # a distance to feasibility, relative to V, that is small enough
ALIKE = 1e-6  # a distance, relative to V, over which equalities stay as independent as before


@dataclass(frozen=True)
class Restored:
    """A point with its constraints restored.

    Attributes
    ----------
    V : ndarray of shape (n, r)
    near : Near or None
        A proof that an exactly feasible kernel is near; None without proof.
    moved : float
        An upper bound on the distance of VV' from the given kernel, relative to the given kernel.
    """

    V: Array
    near: Near | None
    moved: float

    @property
    def feasible(self) -> bool:
        """Whether a kernel that meets all constraints exactly is proved to be near the point."""
        return self.near is not None


def restore(problem: Statement, V: Array, prove: bool = True) -> Restored:
    """The nearest feasible factor that a few steps find.

    Without ``prove``, of all equalities only those on the diagonal are restored. If a problem has equalities,
    nothing is proved then.
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
    """V or the end of Newton steps from V, whichever is proved to be nearer to a feasible kernel."""
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
    if narrow.shape[1] < V.shape[1]:  # Newton restores it, and its derivative is smaller
        better = newton(problem, narrow)
        found = near(problem, better)
    return (V, None) if found is None else (better, found)


def _sharper(problem: Statement, V: Array, better: Array) -> tuple[Array, Near] | None:
    """The proof with twice the digits, for equalities so nearly dependent that the usual proof fails.

    The proof starts at ``better``, which Newton steps made of V, or at the restored leading part of V, whose
    derivative is smaller.
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
    """The leading part of a factor: its orthogonal columns that are not far shorter than the longest."""
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
    if V.shape[1] < given.shape[1]:  # only the leading part of ``given`` was restored
        given = _rotated(given)
        V = np.pad(V, ((0, 0), (0, given.shape[1] - V.shape[1])))
    lengths, apart = [_length(X) for X in (given, V)], float(np.linalg.norm(given - V))
    if apart <= 8 * given.shape[0] * UNIT * max(lengths):
        return 0.0
    return apart * sum(lengths) / max(float(np.linalg.norm(gram_eigenvalues(given))), 1e-300)


def _length(V: Array) -> float:
    return float(np.linalg.norm(V))


def _shrunk(problem: Statement, V: Array) -> Array:
    """Shrink V until the regulariser is met; over a basis all rows shrink alike, and so stay in its range.

    The unknown over a basis may meet the bound while the rows of V miss it by rounding. So both are checked.
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
    """Scale rows to their wanted lengths; a zero row may become a multiple of the first unit vector."""
    V = V.copy()
    for part in problem.equalities:
        i, wanted = part.functional.indices[0], np.sqrt(np.maximum(part.value, 0.0))
        length = np.linalg.norm(V[i], axis=1)
        lost = (length == 0) & (wanted > 0)
        V[i[lost], 0], length[lost] = 1.0, 1.0
        V[i] = V[i] * np.divide(wanted, length, out=np.zeros_like(length), where=length > 0)[:, None]
    return V
