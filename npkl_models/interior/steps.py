"""Lengths of steps that keep a matrix positive definite, and multipliers inside their bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import sqrt
from typing import TypeVar

import numpy as np
from scipy.linalg import blas, lapack

from npkl_models.linalg import Array, Matrix

LANCZOS = 25  # the largest number of steps of Lanczos
LOOK_EVERY = 4  # steps of Lanczos between two computations of the residual
SURE = 0.003  # largest residual of an eigenvalue, relative to the eigenvalue
AGAIN = 0.01  # if less than this share of the squared norm is left, the vector is orthogonalised again
SHARE, MORE = 0.9, 0.09  # share of the way to the boundary: SHARE + MORE times the shorter of the last steps
SHORTER = 0.8  # factor of a step at which a factorisation fails
EXACT = 64  # up to this order, LAPACK computes the eigenvalue
RATE = 2.5e10  # operations of dense algebra per second
DENSE = 400  # up to this order, S and its changes are dense: the products are quicker

Made = TypeVar("Made")


def longest(L: Array, dX: Matrix, share: float) -> float:
    """A step alpha <= 1 that keeps X + alpha dX positive definite, ``share`` of the way to the boundary.

    X = L L'. The step follows from the smallest eigenvalue of L^-1 dX L^-T. LAPACK computes it for small
    orders. For others it is the estimate of Lanczos, minus its residual.
    """
    n = len(L)
    if n > EXACT:

        def product(v: Array) -> Array:
            return blas.dtrsv(L, dX @ blas.dtrsv(L, v, lower=1, trans=1), lower=1, overwrite_x=1)

        low = _smallest(product, first_vector(n))
    else:
        similar = blas.dtrsm(1.0, L, dX.T if dX.flags.c_contiguous else dX, lower=1)
        similar = blas.dtrsm(1.0, L, similar, side=1, lower=1, trans_a=1, overwrite_b=1)
        if not np.isfinite(similar).all():
            raise np.linalg.LinAlgError("numbers out of range")
        values = lapack.dsyevr(similar, compute_v=0, range="I", il=1, iu=1, lower=1, overwrite_a=1)[0]
        low = float(values[0])
    return 1.0 if low >= -share else share / -low


@lru_cache(maxsize=2)
def first_vector(n: int) -> Array:
    """The start of Lanczos: the same random direction for all matrices of an order."""
    q = np.random.default_rng(0).standard_normal(n)
    out: Array = q / np.linalg.norm(q)
    return out


def cholesky(X: Array) -> Array:
    """L with X = L L', stored by columns; LinAlgError if X is not positive definite."""
    out: Array
    out, failed = lapack.dpotrf(X.T if X.flags.c_contiguous else X, lower=1, clean=1)
    if failed or not np.isfinite(out[-1, -1]):
        raise np.linalg.LinAlgError("not positive definite, or numbers out of range")
    return out


def inverse(L: Array) -> Array:
    """The inverse of L L'; LinAlgError if it is singular."""
    Z: Array
    Z, failed = lapack.dpotri(L, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the slack is singular")
    Z += np.tril(Z, -1).T
    return Z


def shortened(step: float, attempt: Callable[[float], Made], name: str) -> tuple[float, Made]:
    """The step, shortened until an attempt raises no LinAlgError, and what the attempt has made."""
    for _ in range(30):
        try:
            return step, attempt(step)
        except np.linalg.LinAlgError:
            step *= SHORTER
    raise np.linalg.LinAlgError(f"no step keeps the {name}")


def solved(factor: tuple[Array, bool], right: Array) -> Array:
    """The solution x of A x = right, by the lower Cholesky factor of A."""
    x: Array = lapack.dpotrs(factor[0], right, lower=1)[0] if right.size else right
    return x


def ratio(x: Array, dx: Array, share: float) -> float:
    """A step alpha <= 1 with x + alpha dx > 0, ``share`` of the way to the boundary."""
    falls = dx < 0
    if not falls.any():
        return 1.0
    return min(1.0, share * float(np.min(-x[falls] / dx[falls])))


def _smallest(product: Callable[[Array], Array], start: Array) -> float:
    """A lower estimate of the smallest eigenvalue, by Lanczos with orthogonalisation.

    If a vector cancels, it is orthogonalised a second time. The iteration ends when the residual is below
    `SURE` times the eigenvalue. This is accurate enough for the length of a step.
    """
    basis = np.empty((LANCZOS + 1, start.size))
    basis[0] = start
    alpha: list[float] = []
    beta: list[float] = []
    for j in range(LANCZOS):
        known = basis[: j + 1]
        w = product(known[j])
        shares = known @ w
        w = w - shares @ known
        alpha.append(float(shares[j]))
        left = float(w @ w)
        if left <= AGAIN * float(shares @ shares):
            w = w - (known @ w) @ known
            left = float(w @ w)
        beta.append(sqrt(left))
        last = beta[-1] <= 1e-12 * max(1.0, abs(alpha[-1])) or j + 1 == LANCZOS
        if last or (j + 1) % LOOK_EVERY == 0:
            low, residual = _ritz(alpha, beta)
            if last or residual <= SURE * abs(low):
                break
        basis[j + 1] = w / beta[-1]
    return low - residual


def _ritz(alpha: list[float], beta: list[float]) -> tuple[float, float]:
    """The smallest Ritz value and its residual."""
    if len(alpha) == 1:
        return alpha[0], beta[0]
    values, vectors, _ = lapack.dstev(alpha, beta[:-1])
    return float(values[0]), beta[-1] * abs(float(vectors[-1, 0]))
