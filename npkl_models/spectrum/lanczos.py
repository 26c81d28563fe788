"""Randomised Lanczos, deflated by what is nearly null: a probable bound at any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from npkl_models.linalg import UNIT, Array, Matrix, norm_bound, symmetrize
from npkl_models.spectrum.eigenbound import EigenBound
from npkl_models.threads import shared

LOOKS = 40  # more than the looks at which one Lanczos run may stop: 10, 20, ..., 80, then an eighth more
ROUGH = 0.01  # of a positive eigenvalue: what a Cholesky proof of it may give away
REORTHOGONALISED = 2_000_000  # numbers that a Lanczos basis may take to be kept exact
KEPT = 300_000_000  # and to be kept in single precision, for the vectors that are wanted of it
BLOCK = 16  # of them in one array
NEAR_NULL = 1e-3  # of the norm: a direction q with |S q| above it is not deflated
STALLED, PATIENT = 60, 4.0  # steps after which a run is given up that would need so many times more
LOCAL = 0.1  # share of the points over which a local vector spreads, by (sum |x|)^2 / sum x^2


class Deflation:
    """An orthonormal basis Q (n x k) that S nearly maps to zero, and what it leaves of that.

    Attributes
    ----------
    inner : ndarray of shape (k,)
        Eigenvalues of Q'SQ, ascending; Q is rotated to their eigenvectors.
    coupling : float
        The norm of R = (I - QQ')SQ.
    """

    def __init__(self, S: Matrix, Q: Array, largest: float) -> None:
        SQ = S @ Q
        fits = np.linalg.norm(SQ, axis=0) <= largest
        Q, SQ = Q[:, fits], SQ[:, fits]
        self.size = Q.shape[1]
        self.Q, self.R = np.asfortranarray(Q), SQ
        self.inner: Array = np.zeros(0)
        self.across: Array = np.zeros((0, 0))
        self.coupling = 0.0
        if self.size:
            self.inner, rotation = np.linalg.eigh(symmetrize(Q.T @ SQ))
            self.Q, SQ = np.asfortranarray(Q @ rotation), SQ @ rotation
            self.R = np.asfortranarray(SQ - self.Q * self.inner)
            self.across = symmetrize(self.R.T @ self.R)
            self.coupling = float(np.linalg.norm(self.R, 2))

    def whole(self, complement: float) -> float:
        """A lower bound of the spectrum from one, c, of the spectrum on the complement of Q.

        S - t I >= 0 if Q'SQ - t I - R'R / (c - t) >= 0, by the Schur complement; bisected for the largest t.
        """
        if not self.size or not np.isfinite(complement):
            return complement
        a, c = float(self.inner[0]), complement
        low = 0.5 * (a + c - float(np.hypot(a - c, 2 * self.coupling)))  # |R|^2 for R'R
        high = min(a, c)
        for _ in range(50):
            t = 0.5 * (low + high)
            if t < c and np.linalg.eigvalsh(np.diag(self.inner - t) - self.across / (c - t))[0] >= 0:
                low = t
            else:
                high = t
        return low

    def lowest(self) -> Array:
        """The unit vector of the smallest inner eigenvalue."""
        out: Array = self.Q[:, 0].copy()
        return out

    def remove(self, x: Array) -> Array:
        """The part of x that is orthogonal to Q."""
        out: Array = x - self.Q @ (self.Q.T @ x) if self.size else x
        return out


@dataclass(frozen=True)
class Ritz:
    """What a Lanczos run knows after some steps.

    Attributes
    ----------
    values, residuals : ndarray
        The smallest Ritz values, ascending, and the norms of their residuals.
    coefficients : ndarray
        Their vectors in the Lanczos basis, a column each.
    lower : float
        Bound on the spectrum of the complement that fails with the given probability; -inf if too few steps.
    spread : float
        From the smallest to the largest Ritz value.
    """

    values: Array
    residuals: Array
    coefficients: Array
    lower: float
    spread: float
    steps: int
    last: bool


def search(
    S: Matrix,
    deflation: Deflation,
    start: Array,
    steps: int,
    log_term: float,
    stop: Callable[[Ritz, Recurrence], bool],
    count: int,
    upper: float,
    dimension: int,
) -> tuple[Ritz, Recurrence]:
    """Lanczos steps on the complement of a deflation until ``stop``, or until there are no more.

    ``count`` Ritz pairs are looked at; ``log_term`` is ln(1.648 sqrt(n) / p), p the probability with
    which any look may fail (Kuczynski & Wozniakowski 1992, theorem 4.2); ``upper`` bounds the norm,
    ``dimension`` is that of the space.
    """
    n = dimension - deflation.size
    run = Recurrence(S, deflation, start, min(steps, n))
    look = 10
    while True:
        b = run.step()
        j = len(run.alpha)
        exhausted = b <= 1e-13 * upper or j == n
        last = exhausted or j == run.limit
        if not last and j < look:
            continue
        look = j + max(10, j // 8)
        values, vectors, spread = _extreme_ritz(run.alpha, run.beta[:-1], count)
        epsilon = (log_term / (2 * j - 1)) ** 2
        lower = float(values[0]) - epsilon * spread / (1 - 2 * epsilon) if epsilon < 0.25 else -np.inf
        if exhausted:  # an invariant subspace: the value is exact almost surely
            lower = float(values[0]) - b - 4 * S.shape[0] * UNIT * upper
        found = Ritz(values, b * np.abs(vectors[-1]), vectors, lower, spread, j, last)
        if last or stop(found, run):
            return found, run


def by_lanczos(
    S: Matrix,
    Q: Array,
    accuracy: float,
    failure: float,
    rng: np.random.Generator,
    steps: int,
    rough: bool,
    quick: bool,
    local: bool = False,
) -> tuple[EigenBound, Array | None]:
    """Randomised Lanczos on the orthogonal complement of a basis Q (n x k) that S nearly maps to zero.

    How a bound c on the complement bounds the whole is in `Deflation.whole`. With ``rough`` it stops at a
    good estimate, bound or not; with ``quick`` as soon as the estimate is clearly negative; with ``local``
    where it would take long and what it has found so far lives on few points, and directions of Q that do so
    are not deflated; that vector is then returned as well.
    """
    n, upper, S = S.shape[0], norm_bound(S), shared(S)
    if local:
        Q = Q[:, ~is_local(Q) | (np.linalg.norm(S @ Q, axis=0) <= tight(accuracy, upper))]
    held = Deflation(S, Q, NEAR_NULL * upper)
    if held.size == n:
        low = float(held.inner[0])
        return EigenBound(low - held.coupling, low, "proved", held.lowest()), None
    if quick and held.size and held.whole(upper) < -accuracy:  # no complement could make up for the coupling
        low = float(held.inner[0])
        return EigenBound(-np.inf, low, "estimated", held.lowest(), 1.0, held.coupling), None

    log_term = np.log(2 * LOOKS * 1.648 * np.sqrt(n) / failure)  # shared by both ends and all looks
    hopes = local

    def stop(found: Ritz, run: Recurrence) -> bool:
        nonlocal hopes
        theta, residual = float(found.values[0]), float(found.residuals[0])
        if rough and residual <= max(0.5 * ROUGH * theta, accuracy):
            return True
        if quick and held.whole(theta) < -accuracy and residual <= 0.3 * abs(theta):
            return True
        if held.whole(found.lower) >= -accuracy:
            return True
        if hopes and found.steps >= STALLED:
            margin = max(theta + accuracy, accuracy) / max(found.spread, 1e-300)
            if log_term / np.sqrt(margin) > 2 * PATIENT * found.steps:
                hopes = False
                return bool(is_local(run.combine(found.coefficients[:, :1]))[0])
        return False

    start = held.remove(rng.standard_normal(n))
    found, run = search(S, held, start, steps, log_term, stop, 1, upper, n)
    vector, estimate, hint = run.combine(found.coefficients[:, :1]), float(found.values[0]), None
    if local and held.whole(found.lower) < -accuracy and bool(is_local(vector)[0]):
        hint = vector[:, 0]
    vector = vector[:, 0]
    if held.size and held.inner[0] < estimate:
        estimate, vector = float(held.inner[0]), held.lowest()
    if not np.isfinite(found.lower):
        return EigenBound(estimate, estimate, "estimated", vector, 1.0), hint
    bound = held.whole(found.lower) - 4 * UNIT * upper
    return EigenBound(bound, estimate, "probable", vector, failure, held.coupling), hint


def tight(accuracy: float, upper: float) -> float:
    """The largest |S q| at which a deflated q costs little: rho^2 / c for a spectrum c on the complement."""
    return 0.1 * float(np.sqrt(accuracy * upper))


def is_local(X: Array) -> Any:
    """Which columns of X live on few points, by (sum |x|)^2 / sum x^2."""
    spread = np.abs(X).sum(axis=0) ** 2
    return spread <= LOCAL * X.shape[0] * np.einsum("ij,ij->j", X, X)


def _extreme_ritz(alpha: list[float], beta: list[float], count: int) -> tuple[Array, Array, float]:
    """The smallest eigenvalues of the tridiagonal matrix, their vectors, and the spread to the largest."""
    j = len(alpha)
    if j == 1:
        return np.array(alpha), np.ones((1, 1)), 0.0
    few = min(count, j) - 1
    low, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta, select="i", select_range=(0, few))
    high = scipy.linalg.eigh_tridiagonal(
        alpha, beta, eigvals_only=True, select="i", select_range=(j - 1, j - 1)
    )
    return low, vectors, float(high[0] - low[0])


class Recurrence:
    """Lanczos vectors on the complement of a deflation.

    A small basis is kept and reorthogonalised; a larger one is kept in single precision, which is enough
    to combine it; beyond that it is recomputed.
    """

    def __init__(self, S: Matrix, deflation: Deflation, start: Array, limit: int, keep: bool = True) -> None:
        self.S, self.deflation, self.limit = S, deflation, limit
        self.start = start / np.linalg.norm(start)
        self.alpha: list[float] = []
        self.beta: list[float] = []
        exact = start.size * limit <= REORTHOGONALISED
        self.basis = np.empty((limit, start.size)) if exact else None
        self.blocks: list[Array] | None = None if exact or not keep else []
        self.current, self.previous = self.start, np.zeros_like(start)
        self.scratch = np.empty_like(start)

    def step(self) -> float:
        """One step; returns the norm of what is left."""
        j, q = len(self.alpha), self.current
        w = np.ascontiguousarray(self.S @ q)
        a = float(q @ w)
        w -= np.multiply(q, a, out=self.scratch)
        if j:
            w -= np.multiply(self.previous, self.beta[-1], out=self.scratch)
        if self.basis is not None:
            self.basis[j] = q
            B = self.basis[: j + 1]
            w -= B.T @ (B @ w)
        elif self.blocks is not None:
            self._keep(j, q)
        w = self.deflation.remove(w)
        b = float(np.linalg.norm(w))
        self.alpha.append(a)
        self.beta.append(b)
        w *= 1 / max(b, 1e-300)
        self.previous, self.current = q, w
        return b

    def _keep(self, j: int, q: Array) -> None:
        assert self.blocks is not None
        if (j + 1) * q.size > KEPT:
            self.blocks = None
            return
        if j % BLOCK == 0:
            self.blocks.append(np.empty((BLOCK, q.size), dtype=np.float32))
        self.blocks[-1][j % BLOCK] = q

    def combine(self, coefficients: Array) -> Array:
        """Vectors (n x m) with these coefficients (j x m) in the Lanczos basis, of norm one."""
        j, m = coefficients.shape
        if self.basis is not None:
            out = coefficients.T @ self.basis[:j]
        else:
            out = np.zeros((m, self.start.size))
            for at in range(0, j, BLOCK):
                part = coefficients[at : at + BLOCK].T
                if self.blocks is not None:
                    out += part.astype(np.float32) @ self.blocks[at // BLOCK][: part.shape[1]]
                    continue
                if at == 0:
                    again = Recurrence(self.S, self.deflation, self.start, self.limit, keep=False)
                for c in part.T:
                    out += c[:, None] * again.current
                    again.step()
        normed: Array = (out / np.linalg.norm(out, axis=1)[:, None]).T
        return normed
