"""A feasible kernel near a point, by Newton steps with residuals of twice the digits, and Kantorovich's theorem.

Distances of neighbours may depend on each other but for 1e-8: the smallest singular value sigma of their
derivative at a factor is of that size, and the theorem asks for a residual below sigma^2. No factor of
floating-point numbers has one so small, but a sum of two has (`npkl_models.linalg.twofold`), and sigma is proved by an
orthogonal factorisation (`npkl_models.proof.singular`). What is returned is the factor in floating-point numbers, and how far
from it the exact one is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.feasibility.equality_map import MOST, EqualityMap
from npkl_models.linalg import Array, dense, gamma
from npkl_models.linalg.twofold import ROUNDOFF, Twofold, add, matmul, multiply, total, twofold
from npkl_models.model.statement import Statement
from npkl_models.proof.singular import Independent, independent_rows

ROUNDS, STEPS = 3, 4  # derivatives, and steps with each
GAIN = 0.5  # a step that does not shrink the residual to this share is the last
FORMING = 32  # operations in an entry of the derivative
NUMBERS = 4e7  # of the derivative
WORK = 2e11  # operations of its factorisation


@dataclass(frozen=True, eq=False)
class Refined:
    """A factor V (n x r), and within ``reach`` of it (Frobenius) one that meets the equalities exactly."""

    V: Array
    reach: float


def refined(problem: Statement, V: Array) -> Refined | None:
    """The nearest feasible factor, with proof; None where there is none, or the derivative is too large."""
    equal = EqualityMap(problem)
    m, k = equal.size, problem.order * V.shape[1]
    if m > min(MOST, k) or float(m) * k > NUMBERS or 4.0 * m * m * k > WORK:
        return None
    W = problem.drop(V)
    for _ in range(ROUNDS):
        found = _derivative(equal, W)
        if found is None:
            return None
        rows, lengths = found
        weights = equal.of_each(np.abs(equal.triplets.coefficient))
        lipschitz = 2.01 * float(np.linalg.norm(weights / lengths))
        exact, F = _steps(equal, W, rows, lengths)
        moved = float(np.linalg.norm(np.abs(exact.high - W) + np.abs(exact.low))) * (1 + 1e-9)
        sigma = rows.floor - lipschitz * moved
        if sigma > 0 and 4.004 * lipschitz * F <= sigma**2:
            V = problem.lift(exact.high)
            return Refined(V, _away(problem, V, exact) + 2.01 * F / sigma)
        W = exact.high
    return None


def _derivative(equal: EqualityMap, W: Array) -> tuple[Independent, Array] | None:
    """That rows of the derivative at W, of unit length, are independent; their lengths."""
    V = equal.problem.lift(W)
    A = _rows(equal, V, W)
    if A is None:
        return None
    lengths = np.sqrt(np.einsum("ek,ek->e", A, A))
    if not bool(np.all(lengths > 0)):
        return None
    A = A / lengths[:, None]
    t, length = equal.triplets, np.sqrt(np.einsum("ir,ir->i", V, V))
    lift = gamma(equal.problem.order + 4) * float(np.linalg.norm(W))  # what a row of V may be off by
    sizes = equal.of_each(2 * np.abs(t.coefficient) * (length[t.row] + length[t.column] + 2 * lift))
    sizes = gamma(FORMING) * sizes + 2 * lift * equal.of_each(2 * np.abs(t.coefficient))
    doubt = float(np.linalg.norm(sizes / lengths)) * (1 + 1e-3)
    rows = independent_rows(A, doubt)
    return None if rows is None else (rows, lengths)


def _rows(equal: EqualityMap, V: Array, W: Array) -> Array | None:
    """The derivative (m x s r), dense, the columns of W one after the other."""
    if equal.vectors is None:
        J = equal.derivative(V)
        return None if J is None else dense(J)
    P, R = equal.vectors
    both = (P @ W)[:, :, None] * R[:, None, :] + (R @ W)[:, :, None] * P[:, None, :]
    out: Array = both.reshape(equal.size, -1)
    return out


def _steps(equal: EqualityMap, W: Array, rows: Independent, lengths: Array) -> tuple[Twofold, float]:
    """Steps with one derivative from W on, and an upper bound on the residual, relative to the lengths."""
    best, here = (twofold(W), np.inf), twofold(W)
    for _ in range(STEPS):
        F, doubt = _residual(equal, here)
        size = float(np.linalg.norm((np.abs(F) + doubt) / lengths)) * (1 + 1e-9)
        if not size < GAIN * best[1]:
            return (here, size) if size < best[1] else best
        best = here, size
        step = rows.shortest(F / lengths).reshape(W.shape[1], W.shape[0]).T
        here = add(here, twofold(-step))
    F, doubt = _residual(equal, here)
    size = float(np.linalg.norm((np.abs(F) + doubt) / lengths)) * (1 + 1e-9)
    return (here, size) if size < best[1] else best


def _residual(equal: EqualityMap, W: Twofold) -> tuple[Array, Array]:
    """A(QWW'Q') - b to floating-point numbers, and what each may be off by."""
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
    doubt += (count + 2) * ROUNDOFF * (
        np.abs(equal.wanted) + 1.01 * equal.of_each(coefficient * length[t.row] * length[t.column])
    )
    value = out.high + out.low
    return value, doubt + 2.0**-52 * np.abs(value)


def _lifted(problem: Statement, W: Twofold) -> tuple[Twofold, Array]:
    """Q W, and by how much each row may be off (Euclidean)."""
    if problem.basis is None:
        return W, np.zeros(problem.n)
    Q = problem.Q
    size = np.linalg.norm(np.abs(Q) @ np.abs(W.high), axis=1)
    return matmul(Q, W), 2.02 * Q.shape[1] * ROUNDOFF * size


def _away(problem: Statement, V: Array, W: Twofold) -> float:
    """An upper bound on the distance from V to Q W."""
    exact, error = _lifted(problem, W)
    off = np.abs(add(exact, twofold(-V)).high) * (1 + 1e-9)
    return float(np.linalg.norm(off)) * (1 + 1e-9) + float(np.linalg.norm(error))


def _taken(x: Twofold, at: Array) -> Twofold:
    return Twofold(x.high[at], x.low[at])
