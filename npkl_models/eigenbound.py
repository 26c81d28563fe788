"""The smallest eigenvalue of a symmetric matrix, and how rigorously it is known.

It decides every certificate: by eigendecomposition or Cholesky it is proved, by randomised Lanczos it is
probable, a Ritz value only estimates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import cg

from npkl_models.errors import unknown
from npkl_models.linalg import UNIT, Array, Matrix, dense, norm_bound, orthonormal_range, symmetrize

Rigour = Literal["proved", "probable", "estimated", "none"]

DENSE_EIGH = 400  # largest order at which a full eigendecomposition is the quickest proof
DENSE_CHOLESKY = 10_000  # largest order for a dense Cholesky factorisation
LANCZOS_STEPS = 1_000
CHEAP_STEPS = 400  # where Cholesky can take over
LOOKS = 40  # more than the looks at which one Lanczos run may stop: 10, 20, ..., 80, then an eighth more
PERRON_STEPS = 30
ROUGH = 0.01  # of a positive eigenvalue: what a Cholesky proof of it may give away
LANCZOS_MEMORY = 2_000_000  # numbers that the Lanczos basis may take before it is recomputed
NEAR_NULL = 1e-3  # of the norm: a direction q with |S q| above it is not deflated


@dataclass(frozen=True)
class EigenBound:
    """What is known of the smallest eigenvalue of a symmetric matrix.

    Attributes
    ----------
    lower : float
        lambda_min >= lower, in the sense of `rigour`.
    estimate : float
        The best approximation of lambda_min (never below lambda_min by more than rounding).
    rigour : {"proved", "probable", "estimated"}
        "proved": eigendecomposition or Cholesky, rounding margin included.
        "probable": randomised Lanczos, fails with at most `failure_probability`.
        "estimated": a Ritz value, which bounds lambda_min from the wrong side.
    vector : ndarray of shape (n,)
        A unit vector whose Rayleigh quotient is `estimate`.
    failure_probability : float
        0 for "proved", 1 for "estimated".
    coupling : float
        ||(I - QQ')SQ|| for a basis Q of range(V): how far V is from stationary.
    """

    lower: float
    estimate: float
    rigour: Rigour
    vector: Array
    failure_probability: float = 0.0
    coupling: float = 0.0


def min_eigenvalue(
    S: Matrix,
    V: Array | None = None,
    method: str = "auto",
    accuracy: float = 0.0,
    failure_probability: float = 1e-6,
    random_state: int | np.random.Generator | None = 0,
    quick: bool = False,
) -> EigenBound:
    """Bound the smallest eigenvalue of the symmetric matrix S from below.

    Parameters
    ----------
    S : sparse or dense matrix of shape (n, n)
    V : ndarray of shape (n, r), optional
        A factor with S V close to zero; Lanczos is deflated by its range.
    method : {"auto", "eigh", "cholesky", "lanczos", "ritz"}
        "auto" decomposes small matrices, else runs Lanczos, and up to order 10,000 falls back on
        Cholesky where a clustered spectrum defeats that.
    accuracy : float
        Lanczos stops once the bound is above ``-accuracy`` or its steps are spent;
        Cholesky shifts by at least this much.
    failure_probability : float
        Of the "lanczos" bound (Kuczynski and Wozniakowski 1992, theorem 4.2).
    quick : bool
        Give up on a sharp bound as soon as an eigenvalue below ``-accuracy`` is found.
    """
    n = S.shape[0]
    automatic = method == "auto"
    if automatic:
        method = "eigh" if n <= DENSE_EIGH else "lanczos"
    rng = np.random.default_rng(random_state)
    if method == "eigh":
        return _by_eigh(dense(S))
    if method not in ("cholesky", "lanczos", "ritz"):
        raise unknown("eigenvalue method", method, ("auto", "eigh", "cholesky", "lanczos", "ritz"))
    steps = CHEAP_STEPS if automatic and n <= DENSE_CHOLESKY else LANCZOS_STEPS
    rough = method == "cholesky"
    found = _by_lanczos(S, V, accuracy, failure_probability, rng, steps, rough, quick)
    if method == "ritz":
        return EigenBound(found.estimate, found.estimate, "estimated", found.vector, 1.0)
    if quick and (found.estimate < -accuracy or not np.isfinite(found.lower)):
        return found
    beaten = automatic and n <= DENSE_CHOLESKY and found.lower < -accuracy  # a clustered spectrum
    if beaten and quick and found.coupling > accuracy:  # rather go on until V is more stationary
        return found
    return _by_cholesky(S, found, accuracy) if rough or beaten else found


def perron_floor(C: Matrix) -> float:
    """A proved lower bound on the smallest eigenvalue of a sparse matrix without positive off-diagonals.

    For any x > 0 it is at least min_i (C x)_i / x_i (Collatz & Wielandt). Inverse iteration brings x near
    the Perron vector; the bound is evaluated with its rounding, so x itself need not be exact. -inf where the
    signs do not fit or no positive x was found. Sparse products only, at any order.
    """
    coo = C.tocoo()
    if bool(np.any(coo.data[coo.row != coo.col] > 0)):
        return float("-inf")
    size, terms = abs(C), float(np.diff(C.indptr).max()) + 2
    x, best = np.ones(C.shape[0]), float("-inf")
    for _ in range(PERRON_STEPS):
        y, failed = cg(C, x, rtol=1e-8, maxiter=500)
        if failed or not bool(np.all(y > 0)):
            break
        x = y / np.max(y)
        ratio = (C @ x) / x
        low = float(np.min(ratio - terms * UNIT * (size @ x) / x))
        best = max(best, low)
        if float(np.max(ratio)) - low <= 1e-3 * abs(low):
            break
    return best


def _by_eigh(S: Array) -> EigenBound:
    values, vectors = scipy.linalg.eigh(S, subset_by_index=[0, 0])
    margin = 4 * S.shape[0] * UNIT * norm_bound(S)  # backward error of the LAPACK driver
    low = float(values[0])
    return EigenBound(low - margin, low, "proved", vectors[:, 0])


def _by_cholesky(S: Matrix, guess: EigenBound, accuracy: float) -> EigenBound:
    """Prove lambda_min >= -shift by a factorisation that runs through.

    If floating-point Cholesky of A succeeds then lambda_min(A) >= -c tr(A) with
    c = (n + 2) u / (1 - (n + 2) u) (Rump 2006, "Verification of positive definiteness").
    """
    A = dense(S)
    n = A.shape[0]
    diagonal = A.diagonal().copy()
    rounding = (n + 2) * UNIT / (1 - (n + 2) * UNIT)
    scale = norm_bound(S)
    margin = max(accuracy, 16 * n * UNIT * scale, ROUGH * guess.estimate)
    for _ in range(12):
        shift = margin - guess.estimate
        A[np.diag_indices(n)] = diagonal + shift
        trace = float(np.abs(A.diagonal()).sum())
        try:
            scipy.linalg.cholesky(A, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            margin = 4 * margin
            continue
        lower = -shift - rounding * trace - 2 * UNIT * (scale + abs(shift))
        return EigenBound(lower, guess.estimate, "proved", guess.vector)
    return guess


def _by_lanczos(
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
