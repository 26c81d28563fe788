"""How far one may go: steps that keep a matrix positive definite and bounded multipliers inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from npkl_models.linalg import Array, Matrix

LANCZOS = 25
LOOK_EVERY = 4  # steps of Lanczos
SURE = 0.003  # of the eigenvalue: its residual
EXACT = 60  # order up to which all eigenvalues are found


def longest(L: Array, dX: Matrix, share: float) -> float:
    """A step alpha <= 1 that keeps X + alpha dX positive definite, ``share`` of the way to the boundary.

    X = L L'. By the smallest eigenvalue of L^-1 dX L^-T, less its Lanczos residual.
    """

    def product(v: Array) -> Array:
        inner = dX @ scipy.linalg.solve_triangular(L, v, lower=True, trans="T", check_finite=False)
        return scipy.linalg.solve_triangular(L, inner, lower=True, check_finite=False)

    n = len(L)
    low = _smallest(product, n) if n > EXACT else float(np.linalg.eigvalsh(product(np.eye(n)))[0])
    return 1.0 if low >= -share else share / -low


def ratio(x: Array, dx: Array, share: float) -> float:
    """A step alpha <= 1 with x + alpha dx > 0, ``share`` of the way to the boundary."""
    falls = dx < 0
    if not falls.any():
        return 1.0
    return min(1.0, share * float(np.min(-x[falls] / dx[falls])))


def _smallest(product: Callable[[Array], Array], n: int) -> float:
    """A lower estimate of the smallest eigenvalue, by Lanczos with two passes of orthogonalisation.

    It ends when its residual is a small share of the eigenvalue, which is all that a step's length needs.
    """
    q = np.random.default_rng(0).standard_normal(n)
    basis = np.empty((LANCZOS + 1, n))
    basis[0] = q / np.linalg.norm(q)
    alpha: list[float] = []
    beta: list[float] = []
    low = 0.0
    for j in range(LANCZOS):
        w = product(basis[j])
        alpha.append(float(basis[j] @ w))
        for _ in range(2):
            w = w - basis[: j + 1].T @ (basis[: j + 1] @ w)
        beta.append(float(np.linalg.norm(w)))
        last = beta[-1] <= 1e-12 * max(1.0, abs(alpha[-1])) or j + 1 == LANCZOS
        if last or (j + 1) % LOOK_EVERY == 0:
            low, residual = _ritz(alpha, beta)
            if last or residual <= SURE * abs(low):
                return low - residual
        basis[j + 1] = w / beta[-1]
    return low


def _ritz(alpha: list[float], beta: list[float]) -> tuple[float, float]:
    """The smallest Ritz value and its residual."""
    if len(alpha) == 1:
        return alpha[0], beta[0]
    values, vectors = scipy.linalg.eigh_tridiagonal(alpha, beta[:-1])
    return float(values[0]), beta[-1] * abs(float(vectors[-1, 0]))
