"""How far a point misses the constraints of a problem, relative to the data of each constraint.

A point V meets exactly the problem whose right-hand sides are the values A(VV'). So what it misses is a
backward error: a theorem about the point that needs no search (Higham 2002, chapter 7).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from npkl_models.linalg import Array, Matrix, dense, gamma, gram_eigenvalues
from npkl_models.model.basis import Basis
from npkl_models.model.constraint import Constraint
from npkl_models.model.regularizer import Regularizer, rounding_factor

EVALUATION = 16  # units of roundoff in a value, in addition to one for each column
BASIS = "basis"  # name of the constraint K = QUQ'


class Constrained(Protocol):
    """The faces of a statement that its constraints need."""

    @property
    def n(self) -> int: ...
    @property
    def constraints(self) -> tuple[Constraint, ...]: ...
    @property
    def regularizer(self) -> Regularizer: ...
    @property
    def basis(self) -> Basis | None: ...
    def restrict(self, S: Matrix) -> Matrix: ...
    def lift(self, W: Array) -> Array: ...
    def drop(self, V: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class Miss:
    """What a point misses of one constraint.

    Attributes
    ----------
    name : str
        Name of the constraint.
    residual : ndarray of shape (m,)
        The values of the point minus the nearest values that the constraint allows.
    doubt : ndarray of shape (m,)
        Bounds on the rounding errors of the residuals.
    share : float
        The largest (abs(residual) + doubt) over the size of the data; inf if a number is missing.
    """

    name: str
    residual: Array
    doubt: Array
    share: float


def misses(problem: Constrained, V: Array, K: Array | None = None) -> list[Miss]:
    """What the kernel VV' misses, or a kernel K (n x n) whose PSD part is VV'.

    Each constraint is measured by its own numbers: by the absolute value of its bound b, or where b is zero
    by sum abs(M_ij) s_ij with s_ij the root of K_ii K_jj, so that the share is a cosine. So the units of rows
    and columns, of other constraints and of the cost do not matter.
    """
    none = np.zeros(0)
    out = constraints_missed(problem.constraints, V, K)
    if problem.regularizer.constrains and not problem.regularizer.vacuous:
        out.append(Miss(problem.regularizer.words, none, none, excess(problem, V, K)))
    if problem.basis is not None:
        out.append(Miss(BASIS, none, none, outside(problem, V, K)))
    return out


def excess(problem: Constrained, V: Array, K: Array | None = None, more: float = 0.0) -> float:
    """The share by which a bound of the regulariser is exceeded within ``more`` (nuclear norm) of K.

    The lengths of a factor count as rounded downwards.
    """
    R = problem.regularizer
    if R.vacuous or not R.constrains:
        return 0.0
    if K is None:
        V = V / np.sqrt(rounding_factor(V))
        return R.violation(gram_eigenvalues(V), more)
    return R.violation(np.linalg.eigvalsh(dense(problem.restrict(K))), more)


def outside(problem: Constrained, V: Array, K: Array | None = None) -> float:
    """The relative distance (Frobenius) of a factor or kernel from the range of the basis; 0 for rounding."""
    point = V if K is None else K
    length = float(np.linalg.norm(point))
    if problem.basis is None or length == 0:
        return 0.0
    there = problem.lift(problem.drop(point))
    if K is not None:
        there = problem.lift(problem.drop(there.T)).T
    share = float(np.linalg.norm(point - there)) / length
    return 0.0 if share <= gamma(8 * problem.n) else share


def worst(found: Iterable[Miss]) -> tuple[float, str]:
    """The largest share, and the name of its constraint ("" if nothing is missed)."""
    top = max(found, key=lambda one: one.share, default=None)
    return (top.share, top.name) if top is not None and top.share > 0 else (0.0, "")


def constraints_missed(
    constraints: Iterable[Constraint], V: Array, K: Array | None = None, off: Array | None = None
) -> list[Miss]:
    """What the kernel misses of the constraints; rows of V may be wrong by ``off`` (n,)."""
    out = []
    for part in constraints:
        f, b = part.functional, np.abs(part.value)
        value, size = (
            (f.value_of_factor(V), f.size_of_factor(V)) if K is None else (f.value(K), f.size_of_kernel(K))
        )
        columns = V.shape[1] if K is None else 0
        rounding = gamma(EVALUATION + f.additions + columns)
        doubt = rounding * size
        if off is not None and off.any():
            doubt = doubt + f.change_of_factor(V, off)
        residual = part.excess(value)
        doubt = np.where(part.excess(value - doubt) == part.excess(value + doubt), 0.0, doubt)
        scale = b
        if not b.all():
            lengths = V if K is None else np.sqrt(np.maximum(K.diagonal(), 0.0))[:, None]
            scale = np.where(b > 0, b, f.scale_of_factor(lengths) / (1 + rounding))  # rounded downwards
        missed = (np.abs(residual) + doubt) * (1 + gamma(4))  # subtraction and division round, too
        share = np.divide(missed, scale, out=np.full(f.size, np.inf), where=scale > 0)
        share = np.where(missed == 0, 0.0, share)
        missing = bool(np.isnan(share).any())
        out.append(Miss(part.name, residual, doubt, np.inf if missing else float(np.max(share, initial=0.0))))
    return out
