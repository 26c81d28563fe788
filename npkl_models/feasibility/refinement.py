"""A feasible kernel near a point: Newton steps with residuals of twice the digits, Kantorovich's theorem.

Distances of neighbours may depend on each other up to 1e-8. Then the smallest singular value sigma of their
derivative at a factor has this size, and the theorem requires a residual below sigma^2. No factor of
floating-point numbers has such a small residual, but a sum of two factors has (`npkl_models.linalg.twofold`).
An orthogonal factorisation proves sigma (`npkl_models.proof.singular`). The result is a factor of
floating-point numbers, and a bound on its distance from an exact factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from npkl_models.feasibility.equality_map import MOST, EqualityMap
from npkl_models.feasibility.kantorovich import FORMING
from npkl_models.linalg import Array, Index, dense, gamma
from npkl_models.linalg.twofold import ROUNDOFF, Twofold, add, matmul, multiply, total, twofold
from npkl_models.model.statement import Statement
from npkl_models.proof.singular import independent_by_gram, independent_rows

ROUNDS, STEPS = 3, 4  # derivatives, and steps with each
GAIN = 0.5  # a step that does not shrink the residual to this share is the last
NUMBERS = 4e7  # most numbers of the derivative
WORK = 2e11  # most operations of its factorisation
LOST = 2.0**-1060  # largest loss of a product of two numbers by underflow


Shortest = Callable[[Array], Array]
"""A map from right-hand sides (m) to nearly the shortest change of W (s x r) that has them."""


@dataclass(frozen=True, eq=False)
class Refined:
    """A factor V (n x r); a factor within ``reach`` of V (Frobenius) meets the equalities exactly."""

    V: Array
    reach: float


def refined(problem: Statement, V: Array) -> Refined | None:
    """A feasible factor near V, with proof; None without proof, or if the derivative is too large."""
    equal = EqualityMap(problem)
    m, k = equal.size, problem.order * V.shape[1]
    if m > min(MOST, k):
        return None
    W = problem.drop(V)
    for _ in range(ROUNDS):
        found = _derivative(equal, W)
        if found is None:
            return None
        floor, shortest, lengths = found
        weights = equal.of_each(np.abs(equal.triplets.coefficient))
        lipschitz = 2.01 * float(np.linalg.norm(weights / lengths))
        exact, F = _steps(equal, W, shortest, lengths)
        moved = float(np.linalg.norm(np.abs(exact.high - W) + np.abs(exact.low))) * (1 + 1e-9)
        sigma = floor - lipschitz * moved
        if sigma > 0 and 4.004 * lipschitz * F <= sigma**2:
            V = problem.lift(exact.high)
            return Refined(V, _away(problem, V, exact) + 2.01 * F / sigma)
        W = exact.high
    return None


def _derivative(equal: EqualityMap, W: Array) -> tuple[float, Shortest, Array] | None:
    """A floor of the singular values of the derivative at W, its inverse, and the lengths of its rows.

    The floor is for rows of unit length. The proof uses the Gram matrix if this suffices, and otherwise an
    orthogonal factorisation, which costs more for a wider W.
    """
    V = equal.problem.lift(W)
    m, k = equal.size, W.size
    small = float(m) * k <= NUMBERS and 4.0 * m * m * k <= WORK
    vectors = equal.vectors
    if vectors is None and not small:
        return None
    if vectors is not None:
        P, R = vectors
        PW, RW = P @ W, R @ W
        p, r, pw, rw = (np.linalg.norm(X, axis=1) for X in (P, R, PW, RW))
        lengths = p * rw + r * pw  # upper bounds on the lengths of the rows
        G = (P @ P.T) * (RW @ RW.T) + (R @ R.T) * (PW @ PW.T)
        mixed = (P @ R.T) * (RW @ PW.T)
        G = G + mixed + mixed.T
    else:
        J = equal.derivative(V)
        if J is None:
            return None
        A = dense(J)
        lengths = np.sqrt(np.einsum("ek,ek->e", A, A))
    if not bool(np.all(lengths > 0)):
        return None
    doubt = _doubt(equal, V, W, lengths)
    if vectors is not None:
        found = independent_by_gram(G / lengths / lengths[:, None], gamma(2 * (sum(W.shape) + 16)))
        if found is not None and found[0] > doubt:
            X = found[1]

            def by_gram(right: Array) -> Array:
                x = (X @ (X.T @ right)) / lengths
                out: Array = P.T @ (x[:, None] * RW) + R.T @ (x[:, None] * PW)
                return out

            return found[0] - doubt, by_gram, lengths
        if not small:
            return None
        A = ((RW)[:, :, None] * P[:, None, :] + PW[:, :, None] * R[:, None, :]).reshape(m, -1)
    rows = independent_rows(A / lengths[:, None], doubt)
    if rows is None:
        return None
    return rows.floor, lambda right: rows.shortest(right).reshape(W.shape[1], W.shape[0]).T, lengths


def _doubt(equal: EqualityMap, V: Array, W: Array, lengths: Array) -> float:
    """A bound on the rounding errors of the derivative with rows of unit length (in norm)."""
    t, length = equal.triplets, np.sqrt(np.einsum("ir,ir->i", V, V))
    lift = gamma(equal.problem.order + 4) * float(np.linalg.norm(W))  # error of a row of V
    sizes = equal.of_each(2 * np.abs(t.coefficient) * (length[t.row] + length[t.column] + 2 * lift))
    sizes = gamma(FORMING) * sizes + 2 * lift * equal.of_each(2 * np.abs(t.coefficient))
    return float(np.linalg.norm(sizes / lengths)) * (1 + 1e-3)


def _steps(equal: EqualityMap, W: Array, shortest: Shortest, lengths: Array) -> tuple[Twofold, float]:
    """The best of some steps from W with one derivative, and a bound on its residual over the lengths."""
    best, here = (twofold(W), np.inf), twofold(W)
    for _ in range(STEPS):
        F, doubt = _residual(equal, here)
        size = float(np.linalg.norm((np.abs(F) + doubt) / lengths)) * (1 + 1e-9)
        if not size < GAIN * best[1]:
            return (here, size) if size < best[1] else best
        best = here, size
        here = add(here, twofold(-shortest(F / lengths)))
    F, doubt = _residual(equal, here)
    size = float(np.linalg.norm((np.abs(F) + doubt) / lengths)) * (1 + 1e-9)
    return (here, size) if size < best[1] else best


def _residual(equal: EqualityMap, W: Twofold) -> tuple[Array, Array]:
    """A(QWW'Q') - b as floating-point numbers, and a bound on the error of each."""
    t = equal.triplets
    V, error = _lifted(equal.problem, W)
    products = total(multiply(_taken(V, t.row), _taken(V, t.column)))
    weighted = multiply(products, twofold(np.asarray(t.coefficient, dtype=float)))
    length = np.sqrt(np.einsum("ir,ir->i", V.high, V.high))
    count = np.bincount(t.owner, minlength=equal.size)
    out = twofold(-equal.wanted)
    order = np.argsort(t.owner, kind="stable")
    first = np.cumsum(count) - count
    for k in range(int(count.max(initial=0))):
        has = np.flatnonzero(count > k)
        at = order[first[has] + k]
        part = add(_taken(out, has), _taken(weighted, at))
        out.high[has], out.low[has] = part
    coefficient = np.abs(t.coefficient)
    own = (V.high.shape[1] + 2) * ROUNDOFF * length[t.row] * length[t.column]
    own += error[t.row] * length[t.column] + error[t.column] * (length[t.row] + error[t.row])
    doubt = 1.01 * equal.of_each(coefficient * own)
    doubt += V.high.shape[1] * LOST * equal.of_each(coefficient + 1.0)
    doubt += (
        (count + 2)
        * ROUNDOFF
        * (np.abs(equal.wanted) + 1.01 * equal.of_each(coefficient * length[t.row] * length[t.column]))
    )
    value = out.high + out.low
    return value, doubt + 2.0**-52 * np.abs(value)


def _lifted(problem: Statement, W: Twofold) -> tuple[Twofold, Array]:
    """Q W, and a bound on the error of each row (Euclidean)."""
    if problem.basis is None:
        return W, np.zeros(problem.n)
    Q = problem.Q
    size = np.linalg.norm(np.abs(Q) @ np.abs(W.high), axis=1)
    return matmul(Q, W), 2.02 * Q.shape[1] * (ROUNDOFF * size + LOST)


def _away(problem: Statement, V: Array, W: Twofold) -> float:
    """An upper bound on the distance from V to Q W."""
    exact, error = _lifted(problem, W)
    off = np.abs(add(exact, twofold(-V)).high) * (1 + 1e-9)
    return float(np.linalg.norm(off)) * (1 + 1e-9) + float(np.linalg.norm(error))


def _taken(x: Twofold, at: Index) -> Twofold:
    return Twofold(x.high[at], x.low[at])
