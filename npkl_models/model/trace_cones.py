"""CVXPY forms of tr K^p and of the support functions that belong to it.

p = 1 is the trace, and p = 2 the Frobenius norm. p = 4 uses a Schur complement: X >= K^2, and tr X^2. p = 3/2
and p = 3, which are conjugate to each other, use two blocks of order 2n (after Fawzi & Saunderson, Linear
Algebra Appl. 513, 2017). Any other p uses majorisation. Let f be symmetric, convex and increasing.
f(lambda(K)) <= s if and only if some decreasing x >= 0 weakly majorises lambda(K) with f(x) <= s (Ben-Tal &
Nemirovski, Lectures on Modern Convex Optimization, section 4.2). This form has one semidefinite pair for each
eigenvalue, so it is for small orders only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Cvx = Any  # CVXPY ships no complete types


class CvxSupport(NamedTuple):
    """R*(-S) = value subject to constraints and ``slack >> 0``, whose dual is the kernel."""

    value: Cvx
    slack: Cvx
    constraints: list[Cvx]


def needs_majorisation(p: float) -> bool:
    """Whether tr K^p needs majorisation, since this module has no form of fixed size for p."""
    return p not in (1.0, 1.5, 2.0, 3.0, 4.0)


def trace_power(K: Cvx, p: float) -> tuple[Cvx, list[Cvx]]:
    """An upper bound on tr K^p for PSD K, attained at the optimum, with its constraints."""
    import cvxpy as cp

    n = K.shape[0]
    if p == 1:
        return cp.trace(K), []
    if p == 2:
        return cp.sum_squares(K), []
    if p == 4:
        X = cp.Variable((n, n), symmetric=True)
        return cp.sum_squares(X), [cp.bmat([[X, K], [K, np.eye(n)]]) >> 0]
    if p in TOWERS:
        return TOWERS[p](K, 1.0)
    x, constraints = _majorant(K)
    return cp.sum(cp.power(x, p)), constraints


def bound_support(S: Cvx, p: float, B: float) -> CvxSupport:
    """R*(-S) of tr K^p <= B: B^(1/p) times the Schatten q-norm of the positive part."""
    import cvxpy as cp

    n = S.shape[0]
    radius = B ** (1 / p)
    if p == 1:
        level = cp.Variable(nonneg=True)
        return CvxSupport(B * level, S + level * np.eye(n), [])
    if p == 4:
        W, Y, T, block = _schur_multipliers(n)
        return CvxSupport(radius**2 * cp.norm(W, "fro") + cp.trace(T), S - Y - Y.T, [block])
    P = cp.Variable((n, n), symmetric=True)
    if p == 2:
        return CvxSupport(radius * cp.norm(P, "fro"), S + P, [P >> 0])
    q = p / (p - 1)
    if q in TOWERS:  # ||P||_q <= t iff tr P^q / t^(q-1) <= t
        t = cp.Variable(nonneg=True)
        form, constraints = TOWERS[q](P, t)
        return CvxSupport(radius * t, S + P, [P >> 0, form <= t, *constraints])
    x, constraints = _majorant(P)
    norm = cp.pnorm(x, q)
    return CvxSupport(radius * norm, S + P, [P >> 0, *constraints])


def penalty_support(S: Cvx, p: float, G: float) -> CvxSupport:
    """R*(-S) of G/p tr K^p: tr Z+^q / (q G^(q-1)), and the indicator of Z <= G I for p = 1."""
    import cvxpy as cp

    n = S.shape[0]
    if p == 1:
        return CvxSupport(0.0, S + G * np.eye(n), [])
    if p == 4:
        W, Y, T, block = _schur_multipliers(n)
        return CvxSupport(cp.sum_squares(W) / G + cp.trace(T), S - Y - Y.T, [block])
    q = p / (p - 1)
    P = cp.Variable((n, n), symmetric=True)
    form, constraints = trace_power(P, q)  # with P = Z / G, since a power of G alone might overflow
    return CvxSupport((G / q) * form, S + G * P, [P >> 0, *constraints])


def _cube(K: Cvx, t: Cvx) -> tuple[Cvx, list[Cvx]]:
    """Tr K^3 / t^2: Z >= K^2 / t and T >= Z K^-1 Z, whose trace is smallest at Z = K^2 / t."""
    import cvxpy as cp

    n = K.shape[0]
    Z, T = (cp.Variable((n, n), symmetric=True) for _ in range(2))
    blocks = [cp.bmat([[t * np.eye(n), K], [K, Z]]) >> 0, cp.bmat([[T, Z], [Z, K]]) >> 0]
    return cp.trace(T), blocks


def _three_halves(K: Cvx, t: Cvx) -> tuple[Cvx, list[Cvx]]:
    """Tr K^(3/2) / t^(1/2): W^2 <= t K, hence W <= (t K)^(1/2), and T >= K W^-1 K."""
    import cvxpy as cp

    n = K.shape[0]
    W, T = (cp.Variable((n, n), symmetric=True) for _ in range(2))
    blocks = [cp.bmat([[K, W], [W, t * np.eye(n)]]) >> 0, cp.bmat([[T, K], [K, W]]) >> 0]
    return cp.trace(T), blocks


TOWERS = {1.5: _three_halves, 3.0: _cube}


def _majorant(K: Cvx) -> tuple[Cvx, list[Cvx]]:
    import cvxpy as cp

    n = K.shape[0]
    x = cp.Variable(n, nonneg=True)
    constraints: list[Cvx] = [cp.trace(K) <= cp.sum(x)]
    constraints += [cp.lambda_sum_largest(K, k) <= cp.sum(x[:k]) for k in range(1, n)]
    if n > 1:
        constraints.append(cp.diff(x) <= 0)
    return x, constraints


def _schur_multipliers(n: int) -> tuple[Cvx, Cvx, Cvx, Cvx]:
    """Multipliers [[W, Y], [Y', T]] >= 0 of [[X, K], [K, I]] >= 0."""
    import cvxpy as cp

    W = cp.Variable((n, n), symmetric=True)
    T = cp.Variable((n, n), symmetric=True)
    Y = cp.Variable((n, n))
    return W, Y, T, cp.bmat([[W, Y], [Y.T, T]]) >> 0
