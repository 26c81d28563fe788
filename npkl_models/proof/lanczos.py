"""Randomised Lanczos with a nearly null space deflated: a probable bound at any order.

The run itself gives the bound. Let alpha and beta be the coefficients of the recurrence. Let v be an
eigenvector with an eigenvalue lambda below all Ritz values theta_1 <= ... <= theta_j. The component of the
next Lanczos vector along v is the component of the start, times prod (theta_k - lambda) / prod beta_k. This
component is at most one. The start is uniform on the sphere, so its component is below c with probability at
most 0.8 c sqrt(n). Otherwise

    prod_k (theta_k - lambda) <= prod_k beta_k / c,

which bounds lambda from below. The proof uses the three-term recurrence alone, not the orthogonality of the
vectors. One event of the start covers all steps, so the bound may be evaluated after any number of steps. An
almost invariant subspace is no special case: its last beta is small.

The bound includes rounding. The components x_k of the Lanczos vectors along v solve
(T - lambda) x = phi - beta_j x_j+1 e_j. T is the tridiagonal matrix, phi_k the error of step k along v. So

    c <= |x_1| <= prod_k beta_k / prod_k (theta_k - lambda) + |phi| |(T - lambda)^-1 e_1|.

The last factor is about one, since the start has small components along the low vectors. A comparison of phi
with c and beta at every step would prove the same, at a hundred times the cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dptsv

from npkl_models.linalg import Array, Matrix, norm_bound, symmetrize
from npkl_models.linalg.threads import threaded
from npkl_models.proof.eigenbound import EigenBound, Query
from npkl_models.proof.elimination import core
from npkl_models.proof.recurrence import NEAR_NULL, Deflation, Recurrence, is_local, tight

EXHAUSTED = 1e-6  # share of the norm: a smaller beta ends the run
SAFE = 0.5  # share of the start's component that a bound relies on; the rest is a margin
SPARED = 0.99995  # share of the component that the first search uses; the rest is for the errors of the steps
FURTHER, FINER = 1e-6, 14  # first relative increase of the distance if the errors are larger; halvings
HALVINGS = 50  # of the interval in which the bound is searched for, on a logarithmic scale
ROUGH = 0.01  # share of a positive eigenvalue that a Cholesky proof may give away
LOW, DEGREE = 2.5e-3, 60  # share of the norm below which eigenvalues are low; degree of a filter
STALLED, PATIENT = 60, 4.0  # a run may be given up after so many steps if it needs so many times more


@dataclass(frozen=True)
class Ritz:
    """The results of a Lanczos run after some steps."""

    values: Array  # the smallest Ritz values, ascending
    residuals: Array  # the norms of their residuals
    coefficients: Array  # their vectors in the Lanczos basis, a column each
    lower: float  # bound on the spectrum of the complement, except with a given probability; may be -inf
    spread: float  # from the smallest to the largest Ritz value
    steps: int
    last: bool


def search(
    deflation: Deflation, start: Array, limit: int, component: float,
    stop: Callable[[Ritz, Recurrence], bool], count: int, upper: float,
) -> tuple[Ritz, Recurrence]:  # fmt: skip
    """Lanczos steps on the complement of a deflation until ``stop`` says so, at most ``limit`` steps.

    ``count`` is the number of Ritz pairs that are computed, ``component`` is the `smallest_component` of the
    start, and ``upper`` bounds the norm.
    """
    run = Recurrence(deflation, start, limit, upper)
    look = 10
    while True:
        b = run.step()
        j = len(run.alpha)
        last = j == run.limit or not b > EXHAUSTED * upper
        if not last and j < look:
            continue
        look = j + max(10, j // 8)
        values, vectors, spread = _extreme_ritz(run.alpha, run.beta[:-1], count)
        lower = _lowest(run.alpha, run.beta, float(np.linalg.norm(run.lost)), SAFE * component)
        found = Ritz(values, b * np.abs(vectors[-1]), vectors, lower, spread, j, last)
        if last or stop(found, run):
            return found, run


def smallest_component(dimension: int, failure: float) -> float:
    """A number that the component of a uniform unit vector exceeds, except with probability ``failure``.

    The component is along a fixed unit vector. Its density is at most sqrt(n / (2 pi)) for n >= 3, and
    0.8 >= 2 / sqrt(2 pi) covers n <= 2.
    """
    return failure / (0.8 * float(np.sqrt(max(dimension, 1))))


def _lowest(alpha: list[float], beta: list[float], lost: float, component: float) -> float:
    """The largest lambda < theta_1 that is a bound, if the start has ``component`` along each eigenvector."""
    theta = _ritz_values(alpha, beta)
    product = float(np.sum(np.log(np.maximum(beta, 1e-300))))
    distances, diagonal, beside = theta - theta[0], np.array(alpha), np.array(beta[: len(alpha) - 1])

    def shown(distance: float) -> float:
        return float(np.exp(min(product - np.sum(np.log(distances + distance)), 700.0)))

    def ruled_out(distance: float) -> bool:
        least = shown(distance)
        if least > component:
            return False
        return least + lost * _of_start(diagonal, beside, theta[0] - distance) <= component

    high = max(
        (product - np.log(component / 2)) / theta.size, float(np.log(max(2 * lost / component, 1e-300)))
    )
    low = min(high, float(np.log(max(abs(theta[0]), distances[-1], 1e-290))) - 42.0)  # a unit of roundoff
    top = high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if shown(float(np.exp(middle))) <= SPARED * component else (middle, high)
    low, further = high, FURTHER
    while high < top and not ruled_out(float(np.exp(high))):  # errors of the steps count
        low, high, further = high, min(high + further, top), 2 * further
    for _ in range(FINER if high > low else 0):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if ruled_out(float(np.exp(middle))) else (middle, high)
    return float(theta[0] - np.exp(high))


def _of_start(diagonal: Array, beside: Array, lam: float) -> float:
    """The norm of (T - lambda)^-1 e_1; inf if the rounded T - lambda is not positive definite."""
    if diagonal.size == 1:
        return float(1 / (diagonal[0] - lam)) if diagonal[0] > lam else float("inf")
    start = np.zeros(diagonal.size)
    start[0] = 1.0
    _, _, x, failed = dptsv(diagonal - lam, beside, start)
    return float("inf") if failed else math.sqrt(x @ x)


def by_lanczos(
    S: Matrix, Q: Array, query: Query, steps: int, local: bool = False
) -> tuple[EigenBound, Array | None]:
    """Randomised Lanczos on the orthogonal complement of a basis Q (n x k) that S nearly maps to zero.

    `Deflation.whole` turns a bound on the complement into a bound on the whole spectrum. Before a Cholesky
    proof, the run stops at a good estimate. For a quick answer, it stops once the estimate is clearly
    negative. With ``local``, directions of Q on few points are deflated only if S q is tiny. The run then
    stops early if it would take long and its lowest vector lives on few points. If the run misses the
    accuracy, such a vector is the second result.
    """
    n, upper, S = S.shape[0], norm_bound(S), threaded(S)
    held, separate = Deflation(S, Q, NEAR_NULL * upper), np.zeros((n, 0))
    if local:
        held, separate = _without_local(held, query, upper)
    if not query.quick and _misses(held, query.accuracy, upper):
        other = Deflation(S, _filtered(S, Q, upper, query), NEAR_NULL * upper)
        held = max(held, other, key=lambda one: one.whole(NEAR_NULL * upper))
    if held.size == n:
        low = float(held.inner[0])
        return EigenBound(low - held.coupling - held.rounding(upper), low, "proved", held.lowest()), None
    if query.bound_only and held.size and held.whole(upper) < -query.accuracy:
        low = float(held.inner[0])  # no bound on the complement could suffice
        return EigenBound(-np.inf, low, "estimated", held.lowest(), 1.0, held.coupling), None
    component = smallest_component(n, query.failure_probability)
    start = held.remove(np.random.default_rng(query.random_state).standard_normal(n))
    stop = _Stop(held, query, component, local)
    found, run = search(held, start, min(steps, n - held.size), component, stop, 1, upper)
    X, estimate = run.combine(found.coefficients[:, :1]), float(found.values[0])
    vector = X[:, 0]
    beaten = local and held.whole(found.lower) < -query.accuracy and bool(is_local(X)[0])
    hint = np.hypot(vector, np.linalg.norm(separate, axis=1)) if beaten and not query.late else None
    if held.size and held.inner[0] < estimate:
        estimate, vector = float(held.inner[0]), held.lowest()
    if not np.isfinite(found.lower):
        return EigenBound(estimate, estimate, "estimated", vector, 1.0), hint
    bound = held.whole(found.lower) - held.rounding(upper)
    return EigenBound(bound, estimate, "probable", vector, query.failure_probability, held.coupling), hint


def _without_local(held: Deflation, query: Query, upper: float) -> tuple[Deflation, Array]:
    """A deflation without directions on few points, unless S q is tiny; and the directions left out."""
    local, norms = is_local(held.Q), np.sqrt(held.inner**2 + held.across.diagonal())
    out = local & (norms > tight(query.accuracy, upper))
    if query.price is not None:
        low = local & (held.inner < -query.accuracy)
        costs = [query.price @ core(held.Q[:, a], query.price, -held.inner[a]) for a in np.flatnonzero(low)]
        if sum(costs) <= query.allowance:
            out |= low
    if not out.any():
        return held, held.Q[:, out]
    return Deflation(held.S, held.Q[:, ~out], NEAR_NULL * upper), held.Q[:, out]


def _misses(held: Deflation, accuracy: float, upper: float) -> bool:
    """Whether the coupling of a deflation costs more than the accuracy, and its own eigenvalues do not."""
    return bool(held.size and held.inner[0] >= -2 * accuracy and held.whole(NEAR_NULL * upper) < -accuracy)


def _filtered(S: Matrix, Q: Array, upper: float, query: Query) -> Array:
    """The deflated directions after a polynomial of S that is large below ``LOW`` and small above.

    The Chebyshev polynomial leaves less of the other eigenvectors in them, and so less coupling. Source: Zhou
    & Saad, "Block Chebyshev-Davidson method for large symmetric eigenvalue problems", 2007. The result is
    orthonormal to rounding, and rotated to the eigenvectors of Q'SQ.
    """
    middle, half = 0.5 * (1 + LOW) * upper, 0.5 * (1 - LOW) * upper
    before = Q
    now = (S @ before - middle * before) / half
    for _ in range(DEGREE):
        if query.late:
            return Q
        size = np.linalg.norm(now, axis=0)
        size[size < 1e-30] = 1.0  # such a column is nothing but rounding
        before, now = now / size, (2 / half * (S @ now - middle * now) - before) / size
    Q = np.linalg.qr(now)[0]
    return np.asarray(Q @ np.linalg.eigh(symmetrize(Q.T @ (S @ Q)))[1])


class _Stop:
    """The rule that stops a run; ``hopes`` is true until a slow run is tested for a local vector."""

    def __init__(self, held: Deflation, query: Query, component: float, local: bool) -> None:
        self.held, self.query, self.component, self.hopes = held, query, component, local

    def __call__(self, found: Ritz, run: Recurrence) -> bool:
        if self.query.late:
            return True
        accuracy, whole = self.query.accuracy, self.held.whole
        theta, residual = float(found.values[0]), float(found.residuals[0])
        if self.query.method == "cholesky" and residual <= max(0.5 * ROUGH * theta, accuracy):
            return True
        if self.query.quick and whole(theta) < -accuracy and residual <= 0.3 * abs(theta):
            return True
        if whole(found.lower) >= -accuracy:
            return True
        if self.hopes and found.steps >= STALLED:
            margin = max(theta + accuracy, accuracy) / max(found.spread, 1e-300)
            if -np.log(self.component) / np.sqrt(margin) > 2 * PATIENT * found.steps:
                self.hopes = False
                return bool(is_local(run.combine(found.coefficients[:, :1]))[0])
        return False


def _ritz_values(alpha: list[float], beta: list[float]) -> Array:
    """All eigenvalues of the tridiagonal matrix, ascending; the last number of ``beta`` is not used."""
    if len(alpha) == 1:
        return np.array(alpha)
    return scipy.linalg.eigvalsh_tridiagonal(alpha, beta[: len(alpha) - 1])


def _extreme_ritz(alpha: list[float], beta: list[float], count: int) -> tuple[Array, Array, float]:
    """The smallest eigenvalues of the tridiagonal matrix, their vectors, and the spread to the largest."""
    j = len(alpha)
    if j == 1:
        return np.array(alpha), np.ones((1, 1)), 0.0
    few = min(count, j) - 1
    try:
        low, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta, select="i", select_range=(0, few))
    except np.linalg.LinAlgError:  # inverse iteration does not separate a cluster
        low, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta)
        low, vectors = low[: few + 1], vectors[:, : few + 1]
    high = scipy.linalg.eigh_tridiagonal(
        alpha, beta, eigvals_only=True, select="i", select_range=(j - 1, j - 1)
    )
    return low, vectors, float(high[0] - low[0])
