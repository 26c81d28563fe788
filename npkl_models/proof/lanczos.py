"""Randomised Lanczos, deflated by what is nearly null: a probable bound at any order.

The bound is read off the run itself. With the coefficients alpha, beta of the recurrence and an
eigenvector v to an eigenvalue lambda below all Ritz values theta_1 <= ... <= theta_j, the component of
the next Lanczos vector along v is that of the start times prod (theta_k - lambda) / prod beta_k, and at
most one. The start is uniform on the sphere, so that its component is below c with probability at most
0.8 c sqrt(n): with all other probability

    prod_k (theta_k - lambda) <= prod_k beta_k / c,

which bounds lambda from below. Only the three-term recurrence enters, not the orthogonality of its
vectors, and one event of the start covers every step: it may be looked at as often as one likes. A
subspace that is almost invariant is no special case, its last beta is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from npkl_models.linalg import UNIT, Array, Matrix, longest_row, norm_bound
from npkl_models.linalg.threads import shared
from npkl_models.proof.deflation import NEAR_NULL, Deflation, is_local, tight
from npkl_models.proof.eigenbound import EigenBound

NOISE = (
    8.0  # units of roundoff, and one for each number in a row: what a step of the recurrence may be off by
)
TRUSTED = 1e-2  # of a beta: what that may be, over the start's component, before the run must end
SAFE = 0.5  # of the start's component: paid for rounding
HALVINGS = 50  # of the interval in which the bound is sought, on a logarithmic scale
ROUGH = 0.01  # of a positive eigenvalue: what a Cholesky proof of it may give away
REORTHOGONALISED = 2_000_000  # numbers that a Lanczos basis may take to be kept exact
KEPT = 300_000_000  # and to be kept in single precision, for the vectors that are wanted of it
BLOCK = 16  # of them in one array
STALLED, PATIENT = 60, 4.0  # steps after which a run is given up that would need so many times more


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
    component: float,
    stop: Callable[[Ritz, Recurrence], bool],
    count: int,
    upper: float,
    dimension: int,
) -> tuple[Ritz, Recurrence]:
    """Lanczos steps on the complement of a deflation until ``stop``, or until there are no more.

    ``count`` Ritz pairs are looked at; ``component`` is `smallest_component` of the start; ``upper`` bounds
    the norm, ``dimension`` is that of the space.
    """
    n = dimension - deflation.size
    run = Recurrence(S, deflation, start, min(steps, n))
    noise = (NOISE + longest_row(S) + deflation.size) * UNIT * upper
    look = 10
    while True:
        b = run.step()
        j = len(run.alpha)
        exhausted = not noise < TRUSTED * component * b  # what follows would be rounding
        last = exhausted or j == run.limit
        if not last and j < look:
            continue
        look = j + max(10, j // 8)
        values, vectors, spread = _extreme_ritz(run.alpha, run.beta[:-1], count)
        lower = _lowest(run.alpha, run.beta, noise, SAFE * component)
        found = Ritz(values, b * np.abs(vectors[-1]), vectors, lower, spread, j, last)
        if last or stop(found, run):
            return found, run


def smallest_component(dimension: int, failure: float) -> float:
    """What the component of a uniform unit vector along a fixed one exceeds, but with that probability.

    The density of a component is at most sqrt(n / (2 pi)) for n >= 3, and 0.8 >= 2 / sqrt(2 pi) covers n
    <= 2.
    """
    return failure / (0.8 * float(np.sqrt(max(dimension, 1))))


def _lowest(alpha: list[float], beta: list[float], noise: float, component: float) -> float:
    """The lambda below theta_1 with prod (theta_k - lambda) = prod beta_k / component."""
    theta = _ritz_values(alpha, beta)
    wanted = float(np.sum(np.log(np.maximum(beta, noise) + 1e-300))) - float(np.log(component))
    apart = theta - theta[0]
    high = wanted / theta.size  # log of a distance at which the product is large enough
    low = min(high, float(np.log(max(abs(theta[0]), apart[-1], 1e-290))) - 42.0)  # a unit of roundoff
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = float(np.sum(np.log(apart + np.exp(middle)))) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return float(theta[0] - np.exp(high))


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
        return EigenBound(low - held.coupling - held.rounding(upper), low, "proved", held.lowest()), None
    if quick and held.size and held.whole(upper) < -accuracy:  # no complement could make up for the coupling
        low = float(held.inner[0])
        return EigenBound(-np.inf, low, "estimated", held.lowest(), 1.0, held.coupling), None

    component = smallest_component(n, failure)
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
            if -np.log(component) / np.sqrt(margin) > 2 * PATIENT * found.steps:
                hopes = False
                return bool(is_local(run.combine(found.coefficients[:, :1]))[0])
        return False

    start = held.remove(rng.standard_normal(n))
    found, run = search(S, held, start, steps, component, stop, 1, upper, n)
    vector, estimate, hint = run.combine(found.coefficients[:, :1]), float(found.values[0]), None
    if local and held.whole(found.lower) < -accuracy and bool(is_local(vector)[0]):
        hint = vector[:, 0]
    vector = vector[:, 0]
    if held.size and held.inner[0] < estimate:
        estimate, vector = float(held.inner[0]), held.lowest()
    if not np.isfinite(found.lower):
        return EigenBound(estimate, estimate, "estimated", vector, 1.0), hint
    bound = held.whole(found.lower) - held.rounding(upper)
    return EigenBound(bound, estimate, "probable", vector, failure, held.coupling), hint


def _ritz_values(alpha: list[float], beta: list[float]) -> Array:
    """All eigenvalues of the tridiagonal matrix, ascending; ``beta`` has one number more than it needs."""
    if len(alpha) == 1:
        return np.array(alpha)
    out: Array = scipy.linalg.eigvalsh_tridiagonal(alpha, beta[: len(alpha) - 1])
    return out


def _extreme_ritz(alpha: list[float], beta: list[float], count: int) -> tuple[Array, Array, float]:
    """The smallest eigenvalues of the tridiagonal matrix, their vectors, and the spread to the largest."""
    j = len(alpha)
    if j == 1:
        return np.array(alpha), np.ones((1, 1)), 0.0
    few = min(count, j) - 1
    try:
        low, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta, select="i", select_range=(0, few))
    except np.linalg.LinAlgError:  # inverse iteration does not part a cluster
        low, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta)
        low, vectors = low[: few + 1], vectors[:, : few + 1]
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
            for _ in range(2):  # once is not enough where little is left
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
