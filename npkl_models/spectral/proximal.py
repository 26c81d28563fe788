"""Proximal points, for a bound on tr K^p that is not active.

With such a bound, R* has a kink at the solution. No maximiser K(y) comes near the solution, so ascent on the
dual alone does not close the gap. Each outer step minimises the objective plus ||K - K_c||^2 / (2 sigma) over
the feasible kernels, by a smooth dual. Then it moves the centre K_c to the result (Rockafellar 1976; for
semidefinite programs Zhao, Sun & Toh, SIAM J. Optim. 20, 2010).
"""

from __future__ import annotations

import time

import numpy as np

from npkl_models.linalg import Array, LowRankUpdate, schatten_norm
from npkl_models.model.shared_slack import onto_simplex
from npkl_models.proof.positive import positive_part
from npkl_models.spectral.concave import Dual

INNER = 40  # eigendecompositions for one proximal problem
GROWTH, LARGEST = 2.0, 1e16  # growth of sigma from one proximal problem to the next; and in all
VAST = 1e300  # the largest sigma
BISECTIONS = 60


class ProximalDual:
    """Value, gradient and kernel of the dual of one proximal problem with the centre W diag(mu) W'."""

    def __init__(self, dual: Dual, W: Array, mu: Array, sigma: float) -> None:
        self.dual, self.W, self.mu, self.sigma = dual, W, mu, sigma
        self.vectors, self.weights = W, mu

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Minus the value, and minus the gradient, at x."""
        dual, problem, sigma = self.dual, self.dual.problem, self.sigma
        y = dual.split(x)
        S = dual.slack(x)
        dual.evaluations += 1
        sum_of_both = LowRankUpdate(-sigma * S, self.W, self.mu)
        part = positive_part(sum_of_both, self.mu.size, deadline=dual.deadline)
        E, weights = part.vectors, onto_ball(part.values, dual.R.p, dual.R.bound or np.inf)
        self.vectors, self.weights = E, weights
        cross = float(np.sum((self.W.T @ E) ** 2 * self.mu[:, None] * weights))
        squared = float(weights @ weights) + float(self.mu @ self.mu) - 2 * cross
        reached = -float(np.sum(weights * np.sum(E * (S @ E), axis=0))) - squared / (2 * sigma)
        V = self.factor()
        return problem.conjugate_sum(y) + reached, -dual.gradient(y, V)

    def factor(self) -> Array:
        """The factor V (n x r) of the kernel at the last x."""
        W = self.vectors * np.sqrt(self.weights)
        V = self.dual.problem.lift(W)
        return V if V.shape[1] else np.zeros((self.dual.problem.n, 1))


def onto_ball(values: Array, p: float, bound: float) -> Array:
    """The nearest non-negative vector with sum lambda^p <= B, for non-negative values."""
    if schatten_norm(values, p) ** p <= bound:
        return values
    if p == 2:
        return values * np.sqrt(bound / float(values @ values))
    if p == 1:
        return onto_simplex(values, bound)
    from scipy.optimize import brentq

    def excess(mu: float) -> float:
        return float(np.sum(_shrunk(values, p, mu) ** p)) - bound

    high = 1.0
    while excess(high) > 0:
        high *= 2
    nearest = _shrunk(values, p, brentq(excess, 0.0, high, xtol=1e-300, maxiter=1000))
    size = schatten_norm(nearest, p)
    return nearest * min(1.0, bound ** (1 / p) / size) if size > 0 else nearest


def _shrunk(values: Array, p: float, mu: float) -> Array:
    """For each value, lambda with lambda + mu p lambda^(p-1) = value, by bisection."""
    low, high = np.zeros_like(values), values.copy()
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        above = middle + mu * p * middle ** (p - 1) > values
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low


def inner_ascent(proximal: ProximalDual, x: Array) -> Array:
    """The x that ``INNER`` eigendecompositions find for one proximal problem; fewer at the deadline."""
    from scipy.optimize import minimize

    def in_time(_x: Array) -> None:
        if time.perf_counter() > proximal.dual.deadline:
            raise StopIteration

    bounds = list(zip(proximal.dual.lower, proximal.dual.upper, strict=True))
    options = {"maxcor": 30, "ftol": 0.0, "gtol": 0.0, "maxiter": INNER, "maxfun": INNER}
    found = minimize(
        proximal, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=in_time
    )
    out: Array = np.asarray(found.x)
    proximal(out)
    return out
