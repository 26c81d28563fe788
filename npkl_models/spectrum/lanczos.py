"""Randomised Lanczos, deflated by the range of a factor: a probable bound at any order."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from npkl_models.linalg import UNIT, Array, Matrix, norm_bound, orthonormal_range, symmetrize
from npkl_models.spectrum.eigenbound import EigenBound

LOOKS = 40  # more than the looks at which one Lanczos run may stop: 10, 20, ..., 80, then an eighth more
ROUGH = 0.01  # of a positive eigenvalue: what a Cholesky proof of it may give away
LANCZOS_MEMORY = 2_000_000  # numbers that the Lanczos basis may take before it is recomputed
NEAR_NULL = 1e-3  # of the norm: a direction q with |S q| above it is not deflated


def by_lanczos(
    S: Matrix,
    V: Array | None,
    accuracy: float,
    failure: float,
    rng: np.random.Generator,
    steps: int,
    rough: bool,
    quick: bool,
) -> EigenBound:
    """Randomised Lanczos on the orthogonal complement of range(V).

    With Q a basis of range(V), a = lambda_min(Q'SQ), rho = ||(I - QQ')SQ|| and c a lower
    bound of the spectrum on the complement, lambda_min(S) is at least the smaller
    eigenvalue of [[a, rho], [rho, c]]. With ``rough`` it stops at a good estimate, bound or not;
    with ``quick`` as soon as the estimate is clearly negative.
    """
    n = S.shape[0]
    upper = norm_bound(S)
    Q = orthonormal_range(V) if V is not None else np.zeros((n, 0))
    SQ = S @ Q
    near_null = np.linalg.norm(SQ, axis=0) <= NEAR_NULL * upper  # others would couple
    Q, SQ = Q[:, near_null], SQ[:, near_null]
    k = Q.shape[1]
    inner, rotation = np.linalg.eigh(symmetrize(Q.T @ SQ)) if k else (np.zeros(0), np.zeros((0, 0)))
    coupling = float(np.linalg.norm(SQ - Q @ (Q.T @ SQ), 2)) if k else 0.0
    if k == n:
        return EigenBound(float(inner[0]) - coupling, float(inner[0]), "proved", Q @ rotation[:, 0])

    hopeless = _smaller_eigenvalue(inner, coupling, upper) < -accuracy
    if quick and hopeless and k:  # no spectrum on the complement could make up for the coupling
        low = float(inner[0])
        return EigenBound(-np.inf, low, "estimated", Q @ rotation[:, 0], 1.0)
    log_term = np.log(2 * LOOKS * 1.648 * np.sqrt(n) / failure)  # shared by both ends and all looks
    start = rng.standard_normal(n)
    start -= Q @ (Q.T @ start)
    start /= np.linalg.norm(start)
    run = _Recurrence(S, Q, start, min(steps, n - k))
    theta, lower, look = np.inf, -np.inf, 10
    coefficients: Array = np.ones(1)
    while True:
        b = run.step()
        j = len(run.alpha)
        last = b <= 1e-13 * upper or j == run.limit
        if not last and j < look:
            continue
        look = j + max(10, j // 8)
        theta, coefficients, spread = _extreme_ritz(run.alpha, run.beta[:-1])
        epsilon = (log_term / (2 * j - 1)) ** 2
        lower = theta - epsilon * spread / (1 - 2 * epsilon) if epsilon < 0.25 else -np.inf
        if b <= 1e-13 * upper or j == n - k:  # an invariant subspace: theta is exact almost surely
            lower = theta - b - 4 * n * UNIT * upper
        residual = b * abs(float(coefficients[-1]))
        if rough and residual <= max(0.5 * ROUGH * theta, accuracy):
            break
        best = _smaller_eigenvalue(inner, coupling, theta)
        if quick and best < -accuracy and residual <= 0.3 * abs(theta):
            break
        if last or _smaller_eigenvalue(inner, coupling, lower) >= -accuracy:
            break
    estimate, in_range = theta, bool(k and inner[0] < theta)
    if in_range:
        estimate, vector = float(inner[0]), Q @ rotation[:, 0]
    else:
        vector = run.combine(coefficients)
    if not np.isfinite(lower):
        return EigenBound(estimate, estimate, "estimated", vector, 1.0)
    bound = _smaller_eigenvalue(inner, coupling, lower) - 4 * UNIT * upper
    return EigenBound(bound, estimate, "probable", vector, failure, coupling)


def _extreme_ritz(alpha: list[float], beta: list[float]) -> tuple[float, Array, float]:
    """Smallest eigenvalue of the tridiagonal matrix, its eigenvector, and the spread to the largest."""
    if len(alpha) == 1:
        return alpha[0], np.ones(1), 0.0
    j = len(alpha)
    low, vector = scipy.linalg.eigh_tridiagonal(alpha, beta, select="i", select_range=(0, 0))
    high = scipy.linalg.eigh_tridiagonal(
        alpha, beta, eigvals_only=True, select="i", select_range=(j - 1, j - 1)
    )
    return float(low[0]), vector[:, 0], float(high[0] - low[0])


class _Recurrence:
    """Lanczos vectors of the projected matrix: kept and reorthogonalised while they fit, else recomputed."""

    def __init__(self, S: Matrix, Q: Array, start: Array, limit: int) -> None:
        self.S, self.Q, self.start, self.limit = S, Q, start, limit
        self.alpha: list[float] = []
        self.beta: list[float] = []
        kept = start.size * limit <= LANCZOS_MEMORY
        self.basis = np.empty((limit, start.size)) if kept else None
        self.current, self.previous = start, np.zeros_like(start)

    def step(self) -> float:
        """One step; returns the norm of what is left."""
        j, q = len(self.alpha), self.current
        w = self.S @ q
        if self.Q.shape[1]:
            w = w - self.Q @ (self.Q.T @ w)
        a = float(q @ w)
        w = w - a * q
        if j:
            w -= self.beta[-1] * self.previous
        if self.basis is not None:
            self.basis[j] = q
            B = self.basis[: j + 1]
            w -= B.T @ (B @ w)
        if self.Q.shape[1]:
            w -= self.Q @ (self.Q.T @ w)
        b = float(np.linalg.norm(w))
        self.alpha.append(a)
        self.beta.append(b)
        self.previous, self.current = q, w / max(b, 1e-300)
        return b

    def combine(self, coefficients: Array) -> Array:
        """The vector with these coefficients in the Lanczos basis, of norm one."""
        if self.basis is not None:
            out = coefficients @ self.basis[: coefficients.size]
        else:
            again = _Recurrence(self.S, self.Q, self.start, self.limit)
            out = np.zeros_like(self.start)
            for c in coefficients:
                out += c * again.current
                again.step()
        normed: Array = out / np.linalg.norm(out)
        return normed


def _smaller_eigenvalue(inner: Array, coupling: float, complement: float) -> float:
    if not inner.size:
        return complement
    a, c = float(inner[0]), complement
    if not np.isfinite(c):
        return c
    return 0.5 * (a + c - float(np.hypot(a - c, 2 * coupling)))
