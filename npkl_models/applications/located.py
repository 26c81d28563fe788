"""Positions from measured distances: least squares in few dimensions, their uncertainty, and alignment.

Least squares of distances is not convex in the positions. `refined` starts close to where it is told and ends
at a local minimum, to rounding; nothing is proved of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.cholesky import SymmetricFactors
from npkl_models.linalg.inverse_diagonal import inverse_diagonal
from npkl_models.linalg.owned import real_array
from npkl_models.lowrank.factor.centred_system import CentredSystem

MOST_STEPS, TRIALS = 200, 12  # of Levenberg-Marquardt; dampings that are tried in a step
FIRST, LOWERED, RAISED, DAMPED = 1e-3, 0.2, 8.0, 1e-11  # damping over the diagonal: at first, factors, least
SMALL = 1e-12  # steps end once one lowers the sum of squares by less than this share
NEAR = 1e-12  # points are at one place below this share of their distance
NUDGE = 1e-4  # moves of the start, as a share of the mean distance
SHIFTS = 1e-12, 1e-13  # two shifts, as shares of the largest entry, that tell null directions from others
SHARE = 1e-6  # least share of a coordinate in null directions that makes its variance unknown


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
        least = 1e-3 * float(np.mean(d)) if d.any() else 1.0
        return cls(i, j, d, np.maximum(d, least) if error == "relative" else np.ones(d.size))

    def residuals(self, X: Array) -> tuple[Array, Array]:
        """The errors over their standard deviations (m,), and the unit vectors from j to i (m, d)."""
        difference = X[self.i] - X[self.j]
        length = np.linalg.norm(difference, axis=1)
        return (length - self.d) / self.sigma, difference / np.maximum(length, 1e-300)[:, None]

    def second(self, r: Array) -> Array:
        """What r''/r' of a length adds to the Hessian across each edge, for residuals r (m,)."""
        length = self.d + r * self.sigma
        far = length > NEAR * self.d
        return np.where(far, r / (self.sigma * np.where(far, length, 1.0)), 0.0)


class Information:
    """The Hessian of half the sum of squares over the moving points, in an order for sparse factors."""

    def __init__(self, known: Measured, moving: Index, n: int) -> None:
        fixed = np.setdiff1d(np.arange(n), moving)
        self.known, self.system = known, CentredSystem(sp.csr_array((n, n)), 0.0, known.i, known.j, fixed)
        self.weight = known.sigma**-2
        self.own = self.system.points[: moving.size]  # the moving points in the order of elimination
        ends = np.concatenate([known.i, known.j])
        total = np.bincount(ends, np.tile(self.weight, 2), n)[self.own]
        self.total = np.where(total > 0, total, 1.0)

    def gradient(self, r: Array, unit: Array) -> Array:
        """The derivative in the positions of the moving points."""
        out: Array = self.system.pulled((r / self.known.sigma)[:, None] * unit)[self.own]
        return out

    def matrix(self, unit: Array, across: Array, shift: float) -> tuple[SymmetricFactors, Array]:
        """J'J at the unit vectors, what is across the edges, and a share of the mean diagonal of a point."""
        shifts = shift / unit.shape[1] * self.total
        return self.system.matrix(unit, across, 0.5 * (self.weight - across), shifts)


def refined(X: Array, known: Measured, moving: Index) -> Array:
    """A local minimum of the sum of squared errors over the positions of the moving points.

    Levenberg-Marquardt (Marquardt 1963) with sparse equations of the whole Hessian where it is positive
    definite, else of Gauss and Newton. Steps cannot leave a line on which all points lie, nor part two points
    at one place, so the start moves a little at random.
    """
    X, damping = X.copy(), FIRST
    if not (moving.size and known.d.size):
        return X
    information = Information(known, moving, len(X))
    shape = moving.size, X.shape[1]
    X[information.own] += NUDGE * float(np.mean(known.d)) * np.random.default_rng(0).standard_normal(shape)
    r, unit = known.residuals(X)
    value = float(r @ r)
    for _ in range(MOST_STEPS):
        g, across = information.gradient(r, unit), known.second(r)
        for _ in range(TRIALS):
            step = _step(information, unit, across, damping, g)
            if step is not None:
                trial = X.copy()
                trial[information.own] -= step
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


def _step(information: Information, unit: Array, across: Array, damping: float, g: Array) -> Array | None:
    """Newton's step if its matrix is positive definite, else that of Gauss and Newton.

    None means that even the damped matrix of Gauss and Newton is singular to rounding.
    """
    for second in (across, np.zeros(len(unit))):
        factors, data = information.matrix(unit, second, damping)
        try:
            return factors.at(data, definite=True).solve(g.ravel()).reshape(g.shape)
        except RuntimeError:
            continue
    return None


def uncertainty(X: Array, known: Measured, moving: Index) -> Array:
    """The standard deviation of each position (n,), from the information matrix at X; zero for fixed points.

    The inverse of J'J / s^2 bounds the covariance from below (Cramer-Rao) if the errors are normal. s^2 is
    the sum of squares over the number of distances less the rank of J. If no point is fixed, rigid motions
    are left out. NaN means that the distances do not fix the position, or that they leave no degree of
    freedom.
    """
    n, d = X.shape
    r, unit = known.residuals(X)
    loose = d * (d + 1) // 2 if moving.size == n else 0
    size = moving.size * d
    out = np.zeros(n)
    out[moving] = np.nan
    if size <= loose or not r.size:
        return out
    information = Information(known, moving, n)
    motions = rigid_motions(X)[information.own].reshape(size, loose) if loose else None
    factors, data = information.matrix(unit, np.zeros(r.size), 0.0)
    scale = np.repeat(information.total, d)
    variance, nullity = inverse_variances(factors, data, motions, scale)
    freedom = r.size - (size - loose - nullity)
    if freedom <= 0:
        return out
    total = variance.reshape(-1, d).sum(axis=1) * float(r @ r) / freedom
    out[information.own] = np.sqrt(np.where(total >= 0, total, np.nan))  # below zero: singular to rounding
    return out


def rigid_motions(X: Array) -> Array:
    """A basis (n x d x k) of orthonormal velocities of the k = d (d + 1) / 2 rigid motions of X (n x d)."""
    n, d = X.shape
    centred = X - X.mean(axis=0)
    every = [np.tile(np.eye(d)[k], (n, 1)) for k in range(d)]
    for a in range(d):
        for b in range(a):
            turn = np.zeros((d, d))
            turn[a, b], turn[b, a] = 1.0, -1.0
            every.append(centred @ turn)
    basis = scipy.linalg.qr(np.stack(every, axis=2).reshape(n * d, -1), mode="economic")[0]
    return np.asarray(basis.reshape(n, d, -1))


def inverse_variances(
    factors: SymmetricFactors, data: Array, motions: Array | None, unit: Array
) -> tuple[Array, int]:
    """The diagonal of the inverse of a matrix A >= 0 (size x size), NaN where A is singular; and its nullity.

    ``unit`` (size,) are positive numbers of the size of the diagonal. A is scaled by them, so that
    coordinates of very different information are told from singular ones.
    With orthonormal null vectors ``motions`` (size x k), it is that of the pseudo-inverse: k coordinates are
    held, and the inverse over the others is projected. The nullity does not count them. Whether A has further
    null vectors is told by two shifts t: at a coordinate of which they have the share p, the inverse of A + t
    is p / t and what stays bounded. With motions, further null vectors make every variance unknown, because
    they turn the frame.
    """
    held = np.empty(0, dtype=np.intp)
    if motions is not None:
        held = scipy.linalg.qr(motions.T, mode="r", pivoting=True)[1][: motions.shape[1]]
    diagonal, root = factors.diagonal, unit**-0.5
    data = data * root[factors.rows] * root[factors.indices]
    scale = float(np.max(data[diagonal], initial=0.0))
    data[np.isin(factors.rows, held) | np.isin(factors.indices, held)] = 0.0
    data[diagonal[held]] = scale
    both = []
    for shift in SHIFTS:
        raised = data.copy()
        raised[diagonal] += shift * scale
        try:
            both.append(_projected(factors, raised, motions, held, root))
        except RuntimeError:
            return np.full(factors.size, np.nan), factors.size
    share = (both[1] - both[0]) / (1 / SHIFTS[1] - 1 / SHIFTS[0]) * scale * unit
    unknown = share > SHARE
    if motions is not None:
        unknown |= unknown.any()
    bounded = both[1] - np.maximum(share, 0.0) / (SHIFTS[1] * scale * unit)
    return np.where(unknown, np.nan, bounded), round(float(np.sum(np.maximum(share, 0.0))))


def _projected(
    factors: SymmetricFactors, data: Array, motions: Array | None, held: Index, root: Array
) -> Array:
    """The diagonal of P G P: G the inverse without the held coordinates, P the projection off the motions.

    The entries are those of the matrix times ``root`` from both sides.
    """
    L, order = factors.triangle(data)
    out = np.empty(factors.size)
    out[order] = inverse_diagonal(L)
    out *= root**2
    if motions is None:
        return out
    out[held] = 0.0
    right = root[:, None] * motions
    right[held] = 0.0
    images = root[:, None] * factors.at(data, definite=True).solve(right)
    images[held] = 0.0
    inner = motions.T @ images
    out = out - 2 * np.sum(motions * images, axis=1) + np.sum((motions @ inner) * motions, axis=1)
    return np.asarray(out)


def aligned(X: ArrayLike, Y: ArrayLike) -> Array:
    """The positions X (n x d), moved, turned and reflected to lie as close to Y as they can (Procrustes).

    Schonemann, Psychometrika 31 (1966). Sizes do not change.
    """
    A, B = real_array(X, "positions"), real_array(Y, "positions to align with")
    if A.ndim != 2 or A.shape != B.shape:
        raise ProblemError(f"positions must have the same shape (n, d), got {A.shape} and {B.shape}")
    U, _, Vt = np.linalg.svd((A - A.mean(axis=0)).T @ (B - B.mean(axis=0)))
    return np.asarray((A - A.mean(axis=0)) @ (U @ Vt) + B.mean(axis=0))
