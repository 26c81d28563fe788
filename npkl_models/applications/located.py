"""Positions from measured distances: least squares in few dimensions, their uncertainty, and alignment.

Least squares of distances is not convex in the positions. `refined` starts where it is told and ends at a
local minimum; nothing is proved of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix, symmetric_lu
from npkl_models.linalg.owned import real_array

MOST_STEPS, TRIALS = 200, 12  # of Levenberg-Marquardt; dampings that are tried in a step
FIRST, LOWERED, RAISED, DAMPED = 1e-3, 0.2, 8.0, 1e-11  # damping over the diagonal: at first, factors, least
SMALL = 1e-12  # steps end once one lowers the sum of squares by less than this share
DENSE = 6_000  # up to this number of coordinates, LAPACK inverts the information matrix
CHUNK = 256  # columns of the inverse that are computed at a time


@dataclass(frozen=True, eq=False)
class Measured:
    """Measured distances (i, j, d), and the standard deviation of each up to a common factor."""

    i: Index
    j: Index
    d: Array
    sigma: Array

    @classmethod
    def of(cls, i: Index, j: Index, d: Array, error: str) -> Measured:
        """Errors in proportion to the distance ("relative"), or all alike ("absolute")."""
        least = 1e-3 * float(np.mean(d)) or 1.0
        return cls(i, j, d, np.maximum(d, least) if error == "relative" else np.ones(d.size))

    def residuals(self, X: Array) -> tuple[Array, Array]:
        """The errors over their standard deviations (m,), and the unit vectors from j to i (m, d)."""
        apart = X[self.i] - X[self.j]
        length = np.linalg.norm(apart, axis=1)
        unit = apart / np.maximum(length, 1e-300)[:, None]
        return (length - self.d) / self.sigma, unit / self.sigma[:, None]

    def jacobian(self, unit: Array, moving: Index, n: int) -> Matrix:
        """The derivative of the residuals in the coordinates of the moving points (m x f d)."""
        m, d = unit.shape
        place = np.full(n, -1)
        place[moving] = np.arange(moving.size)
        rows = np.repeat(np.arange(m), d)
        parts = []
        for end, sign in ((self.i, 1.0), (self.j, -1.0)):
            column = (place[end][:, None] * d + np.arange(d)).ravel()
            own = np.repeat(place[end] >= 0, d)
            parts.append((sign * unit.ravel()[own], rows[own], column[own]))
        value, row, column = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sp.csr_array(sp.coo_array((value, (row, column)), shape=(m, moving.size * d)))


def refined(X: Array, known: Measured, moving: Index) -> Array:
    """A local minimum of the sum of squared errors over the positions of the moving points.

    Levenberg-Marquardt (Marquardt 1963) with sparse normal equations.
    """
    X, damping = X.copy(), FIRST
    r, unit = known.residuals(X)
    value = float(r @ r)
    for _ in range(MOST_STEPS):
        J = known.jacobian(unit, moving, len(X))
        A, g = sp.csc_array(J.T @ J), J.T @ r
        diagonal = A.diagonal()
        diagonal = np.maximum(diagonal, 1e-9 * float(diagonal.max(initial=0.0)) or 1.0)
        for _ in range(TRIALS):
            step = symmetric_lu(A + sp.diags_array(damping * diagonal, format="csc")).solve(g)
            trial = X.copy()
            trial[moving] -= step.reshape(moving.size, X.shape[1])
            after, direction = known.residuals(trial)
            if float(after @ after) < value:
                break
            damping *= RAISED
        else:
            return X
        gain, value = value - float(after @ after), float(after @ after)
        X, r, unit, damping = trial, after, direction, max(LOWERED * damping, DAMPED)
        if gain <= SMALL * value:
            break
    return X


def uncertainty(X: Array, known: Measured, moving: Index) -> Array:
    """The standard deviation of each position (n,), from the information matrix at X; zero for fixed points.

    The inverse of J'J / s^2 bounds the covariance from below (Cramer-Rao) if the errors are normal. s^2 is
    the sum of squares over the degrees of freedom. If no point is fixed, rigid motions are left out
    (a pseudo-inverse). NaN means that the distances do not fix the position, or that they leave no degree of
    freedom, or more than 6,000 coordinates without a fixed point.
    """
    n, d = X.shape
    r, unit = known.residuals(X)
    J = known.jacobian(unit, moving, n)
    loose = d * (d + 1) // 2 if moving.size == n else 0
    freedom = r.size - (J.shape[1] - loose)
    out = np.zeros(n)
    out[moving] = np.nan
    if freedom <= 0 or J.shape[1] <= loose or (loose and J.shape[1] > DENSE):
        return out
    variance = _variances(sp.csc_array(J.T @ J), loose)
    total = variance.reshape(moving.size, d).sum(axis=1) * float(r @ r) / freedom
    out[moving] = np.sqrt(np.where(total >= 0, total, np.nan))
    return out


def _variances(A: Matrix, loose: int) -> Array:
    """The diagonal of the inverse of A, without ``loose`` smallest eigenvalues; NaN where A is singular."""
    size = A.shape[0]
    if size <= DENSE:
        values, vectors = np.linalg.eigh(A.toarray())
        values, vectors = values[loose:], vectors[:, loose:]
        null = values <= 1e-10 * values[-1]
        out: Array = (vectors[:, ~null] ** 2) @ (1 / values[~null])
        out[(vectors[:, null] ** 2).sum(axis=1) > 1e-6] = np.nan
        return out
    factor, out = symmetric_lu(A), np.empty(size)
    for start in range(0, size, CHUNK):
        own = np.arange(start, min(start + CHUNK, size))
        ends = np.zeros((size, own.size))
        ends[own, own - start] = 1.0
        out[own] = factor.solve(ends)[own, own - start]
    return out


def aligned(X: ArrayLike, Y: ArrayLike) -> Array:
    """The positions X (n x d), moved, turned and reflected to lie as close to Y as they can (Procrustes).

    Schonemann, Psychometrika 31 (1966). Sizes do not change.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.located import aligned
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> bool(np.allclose(aligned(X[:, ::-1] + 5.0, X), X))
    True
    """
    A, B = real_array(X, "positions"), real_array(Y, "positions to align with")
    if A.ndim != 2 or A.shape != B.shape:
        raise ProblemError(f"positions must have the same shape (n, d), got {A.shape} and {B.shape}")
    U, _, Vt = np.linalg.svd((A - A.mean(axis=0)).T @ (B - B.mean(axis=0)))
    return np.asarray((A - A.mean(axis=0)) @ (U @ Vt) + B.mean(axis=0))
