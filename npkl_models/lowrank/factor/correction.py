"""Corrections of a factor in the span of a few vectors, for points where row-by-row descent is slow.

Sweeps quickly reduce errors that vary from point to point. They slowly reduce errors that a whole group of
points shares, like a multigrid method without a coarse grid. The low eigenvectors of the slack serve as the
coarse space: V + X B with a small B is minimised over B alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.model.incidence import Adjoint, Incidence
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

SUPPORT = 1e-2  # a point belongs to the support of X if its entry exceeds this share of the largest one
EVALUATIONS = 200
FIRST = 1e-3  # size of the first step off a stationary point


def correct(problem: Statement, V: Array, X: Array) -> Array | None:
    """A factor V + X B (n x r) with a smaller objective, for few directions X (n x m); None if not found.

    Values that touch the support of X enter with their exact losses. All other values enter by their slope y
    at V. The model is <S(y), (V + X B)(V + X B)'>, plus the loss minus y_e z_e for each touched value.
    """
    from scipy.optimize import minimize

    if problem.constraints or problem.basis is not None or problem.regularizer.finite_support:
        return None
    if not all(term.loss.smooth for term in problem.losses):
        return None
    y = problem.derivatives(V)
    S = problem.slack(y)
    near = np.any(np.abs(X) > SUPPORT * np.abs(X).max(axis=0), axis=1)
    parts = [_part(term, own, V, near) for term, own in zip(problem.losses, y.losses, strict=True)]
    SX = S @ X
    A, G = X.T @ SX, SX.T @ V
    rng = np.random.default_rng(0)
    size = FIRST * float(np.sqrt(np.sum(V**2) / V.shape[0]))
    shape = (X.shape[1], V.shape[1])

    def model(b: Array) -> tuple[float, Array]:
        B = b.reshape(shape)
        AB = A @ B
        value, slope = float(np.sum(B * (2 * G + AB))), 2 * (G + AB)
        for part in parts:
            change, gradient = part.beyond_slope(X, V, B)
            value += change
            slope += gradient
        return value, slope.ravel()

    start = size * rng.standard_normal(shape).ravel()
    options = {"maxiter": EVALUATIONS, "ftol": 1e-14}
    found = minimize(model, start, jac=True, method="L-BFGS-B", options=options)
    if not found.fun < 0:
        return None
    out: Array = V + X @ found.x.reshape(shape)
    return out if problem.objective_of_factor(out) < problem.objective_of_factor(V) else None


@dataclass(frozen=True)
class _Part:
    """The values of a term that touch the support, over the points that they involve."""

    term: LossTerm
    which: Index
    slope: Array
    points: Index
    adjoint: Adjoint
    base: Array

    def beyond_slope(self, X: Array, V: Array, B: Array) -> tuple[float, Array]:
        """The change of the losses at V + X B minus its first-order part at V, and the gradient in B."""
        x = X[self.points]
        M = V[self.points] + x @ B
        z = self.adjoint.incidence.of_product(M, M)
        loss, t, w = self.term.loss, self.term.target[self.which], self.term.weight[self.which]
        at = self.base
        rest = w * (loss.value(z, t) - loss.value(at, t)) - self.slope * (z - at)
        gradient: Array = 2 * (x.T @ (self.adjoint(w * loss.derivative(z, t) - self.slope) @ M))
        return float(np.sum(rest)), gradient


def _part(term: LossTerm, slope: Array, V: Array, near: Mask) -> _Part:
    t = term.functional.incidence
    touched = np.zeros(term.functional.size, dtype=bool)
    touched[t.owner[near[t.row] | near[t.column]]] = True
    keep = touched[t.owner]
    which = np.flatnonzero(touched)
    place = np.cumsum(touched) - 1
    points, ends = np.unique(np.concatenate([t.row[keep], t.column[keep]]), return_inverse=True)
    row, column = np.split(ends, 2)
    near_by = Incidence(place[t.owner[keep]], row, column, t.coefficient[keep], points.size, which.size)
    base = near_by.of_product(V[points], V[points])
    return _Part(term, which, slope[which], points, Adjoint(near_by), base)
