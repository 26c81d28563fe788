"""From a point to a feasible one nearby: only the objective of a feasible kernel is an upper bound.

Regularisers are met by shrinking, a basis by projection, equalities on the diagonal by scaling rows, any
others by Newton steps on V (each a least-squares problem), which keep K = VV' positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from npkl_models.certify.floors import diagonal_of
from npkl_models.linalg import UNIT, Array, gram_eigenvalues
from npkl_models.model.functionals import Entries, Functional
from npkl_models.model.problem import Problem

STEPS = 12  # Newton steps
INNER = 300  # steps of LSMR in each
ROUND = 64  # units of roundoff, and for each column, within which an equality holds
TURNING = 0.5  # a step that does not shrink the misfit to this share is the last but a few
SLACK = 1e-13  # by which an inequality is met more than needed


@dataclass(frozen=True)
class Restored:
    """A point with its constraints restored.

    Attributes
    ----------
    V : ndarray of shape (n, r)
    feasible : bool
        Whether it meets them to rounding.
    misfits : tuple of ndarray
        |z - b| of each equality, what is left of them.
    moved : float
        An upper bound on the distance of the kernels, relative to the given one.
    """

    V: Array
    feasible: bool
    misfits: tuple[Array, ...]
    moved: float


def restore(problem: Problem, V: Array) -> Restored:
    """The nearest feasible factor that a few steps find."""
    W = problem.drop(V)
    given = V
    if problem.basis is not None:
        V = problem.lift(W)
    if not problem.equalities:
        V = _shrunk(problem, V)
    elif problem.basis is None and all(diagonal_of(part.functional).all() for part in problem.equalities):
        V = _scaled_rows(problem, V)
        V = V if _feasible(problem, V)[0] else _newton(problem, V)
    else:
        V = _newton(problem, V)
    feasible, misfits = _feasible(problem, V)
    lengths = [float(np.linalg.norm(X)) for X in (given, V)]
    apart = float(np.linalg.norm(given - V))
    size = max(float(np.linalg.norm(gram_eigenvalues(given))), 1e-300) if apart else 1.0
    moved = apart * sum(lengths) / size
    outside = apart <= 8 * given.shape[0] * UNIT * max(lengths)
    return Restored(V, feasible, misfits, 0.0 if outside else moved)


def _shrunk(problem: Problem, V: Array) -> Array:
    """The regulariser's own way; in a basis all rows alike, which keeps them in it."""
    R = problem.regularizer
    if problem.basis is None:
        return R.rescale(V)
    if not R.row_multipliers:
        return problem.lift(R.rescale(problem.drop(V)))
    excess = R.violation(np.zeros(0), np.einsum("ir,ir->i", V, V))
    return V * ((1 - SLACK) / (1 + excess)) if excess > 0 else V


def _scaled_rows(problem: Problem, V: Array) -> Array:
    """Rows of the wanted lengths; for one that is zero and must not be, the first unit vector times that."""
    V = V.copy()
    for part in problem.equalities:
        i, wanted = part.functional.indices[0], np.sqrt(np.maximum(part.value, 0.0))
        length = np.linalg.norm(V[i], axis=1)
        lost = (length == 0) & (wanted > 0)
        V[i[lost], 0], length[lost] = 1.0, 1.0
        V[i] = V[i] * np.divide(wanted, length, out=np.zeros_like(length), where=length > 0)[:, None]
    return V


def _feasible(problem: Problem, V: Array) -> tuple[bool, tuple[Array, ...]]:
    unit = (ROUND + 8 * V.shape[1]) * UNIT
    ok = problem.regularizer.violation(gram_eigenvalues(V), np.einsum("ir,ir->i", V, V)) <= unit
    misfits = []
    for part in problem.equalities:
        error = np.abs(part.functional.value_of_factor(V) - part.value)
        size = np.abs(part.value) + part.functional.size_of_factor(V)
        ok = ok and bool(np.all(error <= unit * size))
        misfits.append(error)
    return bool(ok), tuple(misfits)


@dataclass(frozen=True)
class _Constraint:
    """Values that must be ``wanted``, with their first derivatives in V along D and the adjoint of that."""

    residual: Array
    along: Callable[[Array], Array]
    back: Callable[[Array], Array]


def _newton(problem: Problem, V: Array) -> Array:
    W, best, least, turns = problem.drop(V), V, np.inf, 0
    held: set[int] = set()
    for _ in range(STEPS):
        V = problem.lift(W)
        constraints = [*_equalities(problem, V), *_inequalities(problem, V, W, held)]
        size = sum(float(np.sum(c.residual**2)) for c in constraints)
        if not np.isfinite(size):
            break
        turns += size > TURNING**2 * least
        if size < least:
            best, least = V, size
        if size == 0.0 or turns > 2 or _feasible(problem, V)[0]:
            break
        W = W + _step(problem, W, constraints)
    return best


def _step(problem: Problem, W: Array, constraints: list[_Constraint]) -> Array:
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


def _equalities(problem: Problem, V: Array) -> list[_Constraint]:
    return [_of_functional(part.functional, V, part.value) for part in problem.equalities]


def _of_functional(f: Functional, V: Array, wanted: Array) -> _Constraint:
    """Scaled, so that a misfit counts by its share in the data that enter."""
    scale = 1 / np.maximum(np.where(wanted != 0, np.abs(wanted), f.size_of_factor(V)), 1e-300)
    return _Constraint(
        scale * (wanted - f.value_of_factor(V)),
        lambda D: scale * (f.value_of_product(V, D) + f.value_of_product(D, V)),
        lambda y: 2 * np.asarray(f.adjoint(scale * y) @ V),
    )


def _inequalities(problem: Problem, V: Array, W: Array, held: set[int]) -> list[_Constraint]:
    """Constraints of the regulariser that are exceeded, or were; ``held`` remembers which."""
    R = problem.regularizer
    if R.row_multipliers:
        top = R.trace_bound(1)
        held.update(np.flatnonzero(np.einsum("ir,ir->i", V, V) > top).tolist())
        if not held:
            return []
        rows = np.array(sorted(held), dtype=np.intp)
        return [_of_functional(Entries(problem.n, (rows, rows)), V, np.full(rows.size, top * (1 - SLACK)))]
    slope = R.violation_gradient(W)
    excess = R.violation(gram_eigenvalues(W), np.zeros(0))
    if slope is None or not (excess > 0 or held):
        return []
    held.add(0)
    G = problem.lift(slope)
    return [
        _Constraint(
            np.array([-excess - SLACK]), lambda D: np.array([float(np.sum(G * D))]), lambda y: y[0] * G
        )
    ]
