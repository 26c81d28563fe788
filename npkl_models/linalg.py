"""Dense and iterative linear algebra: arrays in, arrays out.

The smallest eigenvalue of a dual slack matrix decides every certificate, so it
comes with the rigour by which it is known (see `EigenBound`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from npkl_models.errors import unknown

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Matrix = Any  # a scipy sparse array or a dense ndarray; both take `@`

Rigour = Literal["proved", "probable", "estimated", "none"]

UNIT = float(np.finfo(np.float64).eps) / 2  # unit roundoff
DENSE_EIGH = 1_500  # largest order for a full symmetric eigendecomposition
DENSE_CHOLESKY = 10_000  # largest order for a dense Cholesky proof
LANCZOS_STEPS = 400
NEAR_NULL = 1e-3  # of the norm: a direction q with |S q| above it is not deflated


@dataclass(frozen=True, eq=False)
class LowRankUpdate:
    """The symmetric matrix S + W diag(mu) W' with orthonormal W (n x k), never formed."""

    S: Matrix
    W: Array
    mu: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return (self.S.shape[0], self.S.shape[0])

    def __matmul__(self, X: Array) -> Array:
        out: Array = self.S @ X + (self.W * self.mu) @ (self.W.T @ X)
        return out


def dense(A: Matrix) -> Array:
    """A dense copy of a sparse, dense or low-rank-updated matrix."""
    if isinstance(A, LowRankUpdate):
        return dense(A.S) + (A.W * A.mu) @ A.W.T
    out: Array = A.toarray() if sp.issparse(A) else np.array(A, dtype=float)
    return out


def symmetrize(A: Array) -> Array:
    """The symmetric part (A + A') / 2."""
    return (A + A.T) * 0.5


def psd_factor(K: Array, rtol: float = 0.0) -> Array:
    """Factor V (n x r) of the nearest PSD matrix, V V' = K+.

    Eigenvalues below ``rtol`` times the largest one are dropped, negative ones
    always are.
    """
    values, vectors = scipy.linalg.eigh(symmetrize(K))
    keep = values > max(rtol * max(values[-1], 0.0), 0.0)
    out: Array = vectors[:, keep] * np.sqrt(values[keep])
    return out


def gram_eigenvalues(V: Array) -> Array:
    """The non-zero eigenvalues of V V' (at most r of them), descending."""
    out: Array = np.linalg.svd(V, compute_uv=False) ** 2 if V.size else np.zeros(0)
    return out


def numerical_rank(V: Array, rtol: float = 1e-7) -> int:
    """Number of eigenvalues of V V' above ``rtol`` times the largest one."""
    values = gram_eigenvalues(V)
    return int(np.sum(values > rtol * values[0])) if values.size and values[0] > 0 else 0


def schatten_norm(values: Array, q: float) -> float:
    """(sum |x|^q)^(1/q), and max |x| for q = inf; scaled against overflow."""
    top = float(np.max(np.abs(values), initial=0.0))
    if top == 0.0 or np.isinf(q):
        return top
    return top * float(np.sum((np.abs(values) / top) ** q) ** (1.0 / q))


def norm_bound(S: Matrix) -> float:
    """Upper bound on the spectral norm of a symmetric matrix: largest absolute row sum."""
    if isinstance(S, LowRankUpdate):
        return norm_bound(S.S) + float(np.max(np.abs(S.mu), initial=0.0))
    return float(abs(S).sum(axis=1).max()) if S.shape[0] else 0.0


def orthonormal_range(V: Array, rtol: float = 1e-6) -> Array:
    """Orthonormal basis (n x k) of the range of V, its negligible directions dropped."""
    if not V.size:
        return np.zeros((V.shape[0], 0))
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    out: Array = U[:, s > rtol * s[0]] if s[0] > 0 else U[:, :0]
    return out


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
    """

    lower: float
    estimate: float
    rigour: Rigour
    vector: Array
    failure_probability: float = 0.0


def min_eigenvalue(
    S: Matrix,
    V: Array | None = None,
    method: str = "auto",
    accuracy: float = 0.0,
    failure_probability: float = 1e-6,
    random_state: int | np.random.Generator | None = 0,
) -> EigenBound:
    """Bound the smallest eigenvalue of the symmetric matrix S from below.

    Parameters
    ----------
    S : sparse or dense matrix of shape (n, n)
    V : ndarray of shape (n, r), optional
        A factor with S V close to zero; Lanczos is deflated by its range.
    method : {"auto", "eigh", "cholesky", "lanczos", "ritz"}
        "auto" takes the strictest that the order allows.
    accuracy : float
        Lanczos stops once the bound is above ``-accuracy`` or its steps are spent;
        Cholesky shifts by at least this much.
    failure_probability : float
        Of the "lanczos" bound (Kuczynski and Wozniakowski 1992, theorem 4.2).
    """
    n = S.shape[0]
    if method == "auto":
        method = "eigh" if n <= DENSE_EIGH else "cholesky" if n <= DENSE_CHOLESKY else "lanczos"
    rng = np.random.default_rng(random_state)
    if method == "eigh":
        return _by_eigh(dense(S))
    if method not in ("cholesky", "lanczos", "ritz"):
        raise unknown("eigenvalue method", method, ("auto", "eigh", "cholesky", "lanczos", "ritz"))
    found = _by_lanczos(S, V, accuracy, failure_probability, rng)
    if method == "ritz":
        return EigenBound(found.estimate, found.estimate, "estimated", found.vector, 1.0)
    return _by_cholesky(S, found, accuracy) if method == "cholesky" else found


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
    margin = max(accuracy, 16 * n * UNIT * scale)
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
    S: Matrix, V: Array | None, accuracy: float, failure: float, rng: np.random.Generator
) -> EigenBound:
    """Randomised Lanczos on the orthogonal complement of range(V).

    With Q a basis of range(V), a = lambda_min(Q'SQ), rho = ||(I - QQ')SQ|| and c a lower
    bound of the spectrum on the complement, lambda_min(S) is at least the smaller
    eigenvalue of [[a, rho], [rho, c]].
    """
    n = S.shape[0]
    Q = orthonormal_range(V) if V is not None else np.zeros((n, 0))
    SQ = S @ Q
    near_null = np.linalg.norm(SQ, axis=0) <= NEAR_NULL * norm_bound(S)  # others would couple
    Q, SQ = Q[:, near_null], SQ[:, near_null]
    k = Q.shape[1]
    inner, rotation = np.linalg.eigh(symmetrize(Q.T @ SQ)) if k else (np.zeros(0), np.zeros((0, 0)))
    coupling = float(np.linalg.norm(SQ - Q @ (Q.T @ SQ), 2)) if k else 0.0
    if k == n:
        return EigenBound(float(inner[0]) - coupling, float(inner[0]), "proved", Q @ rotation[:, 0])

    upper = norm_bound(S)
    log_term = np.log(1.648 * np.sqrt(n) / failure)
    start = rng.standard_normal(n)
    start -= Q @ (Q.T @ start)
    basis = [start / np.linalg.norm(start)]
    alpha: list[float] = []
    beta: list[float] = []
    theta, lower = np.inf, -np.inf
    coefficients = np.ones(1)
    steps = min(LANCZOS_STEPS, n - k)
    for j in range(1, steps + 1):
        w = S @ basis[-1]
        w -= Q @ (Q.T @ w)
        alpha.append(float(basis[-1] @ w))
        B = np.stack(basis, axis=1)
        w -= B @ (B.T @ w)
        w -= B @ (B.T @ w)
        w -= Q @ (Q.T @ w)
        b = float(np.linalg.norm(w))
        exhausted = b <= 1e-13 * upper or j == steps
        if exhausted or j % 10 == 0:
            values, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta)
            theta, coefficients = float(values[0]), vectors[:, 0]
            epsilon = (log_term / (2 * j - 1)) ** 2
            lower = (theta - epsilon * upper) / (1 - epsilon) if epsilon < 1 else -np.inf
            if b <= 1e-13 * upper or j == n - k:  # an invariant subspace: theta is exact almost surely
                lower = theta - b - 4 * n * UNIT * upper
            if exhausted or _smaller_eigenvalue(inner, coupling, lower) >= -accuracy:
                break
        beta.append(b)
        basis.append(w / b)
    complement = np.stack(basis[: len(alpha)], axis=1) @ coefficients
    estimate, vector = theta, complement
    if k and inner[0] < theta:
        estimate, vector = float(inner[0]), Q @ rotation[:, 0]
    if not np.isfinite(lower):
        return EigenBound(estimate, estimate, "estimated", vector, 1.0)
    bound = _smaller_eigenvalue(inner, coupling, lower) - 4 * UNIT * upper
    return EigenBound(bound, estimate, "probable", vector, failure)


def _smaller_eigenvalue(inner: Array, coupling: float, complement: float) -> float:
    if not inner.size:
        return complement
    a, c = float(inner[0]), complement
    if not np.isfinite(c):
        return c
    return 0.5 * (a + c - float(np.hypot(a - c, 2 * coupling)))
