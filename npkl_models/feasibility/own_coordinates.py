"""A feasible kernel near one inside the cone, in the coordinates of that kernel: nothing is squared.

K = WW' with W square. Kernels near it are W (I + D) W', positive semidefinite while D >= -I, and their
squared distances are p'(I + D) p, p = W'(q_i - q_j): a linear map A of D. With T = A'X nearly orthonormal,
||T'T - I|| <= delta < 1, there is a D with A(D) = f for every f, no longer than |X'f| / sqrt(1 - delta). If
that is below one for what WW' misses of the distances, there is an exactly feasible kernel, whose eigenvalues
may be as small as they like; a change in the norm of Frobenius would have to be shorter than the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from npkl_models.feasibility.equality_map import DENSE, ORDER, EqualityMap
from npkl_models.linalg import UNIT, Array, gamma
from npkl_models.linalg.exact_products import inner_products
from npkl_models.linalg.nearly_dependent import Rows
from npkl_models.linalg.twofold import ROUNDOFF, Twofold, add, exact_sum, multiply, total, twofold
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.rounding import in_range
from npkl_models.model.statement import Statement

STEPS = 3
ROUNDED = 1e-12  # of the largest distance: no step makes less of what is missed
FARTHEST = 1e8  # an entry of D, with which no step is taken
LENGTH = 1e-2  # of D, that is short enough
ROOM = 0.9  # largest part of the way to the boundary that a step may go
CLEAR = 1e-9  # squared distance of a row from the span of others that its Gram matrix proves
MOST = 0.5  # of delta
LOST = 2.0**-1060  # what underflow may take from a product of two numbers


@dataclass(frozen=True, eq=False)
class Inside:
    """A factor V (n x s), such that K = V (I + D) V' is feasible for a D with |D| <= ``turned``.

    V is within ``reach`` of a factor in the range of the basis, for which that is so, and ``missed`` (m) are
    upper bounds on what VV' misses of the equalities.
    """

    V: Array
    reach: float
    turned: float
    missed: Array


def inside(problem: Statement, V: Array) -> Inside | None:
    """The feasible kernel by a few steps in the coordinates of V, with proof; None where there is none."""
    equal, s = EqualityMap(problem), problem.order
    if not _serves(problem, V, equal.size):
        return None
    W = problem.drop(V)
    for k in range(STEPS):
        edges, off = _edges(problem, W)
        rows = Rows.of(edges.high, edges.high, CLEAR)
        if rows is None:
            return None
        F, missed = _residual(equal, edges, off)
        met = bool(np.all(missed <= ROUNDED * np.max(np.abs(equal.wanted))))
        turned = _length(rows, missed, off) if met or k == STEPS - 1 else np.inf
        if turned <= LENGTH:
            V = problem.lift(W)
            size = gamma(s + 2) * float(np.linalg.norm(np.abs(problem.Q) @ np.abs(W)))
            return Inside(V, 1.001 * size, turned, missed)
        if met:
            break
        D = -rows.back(rows.solve(F) * rows.lengths) if np.isfinite(F / rows.lengths).all() else None
        if D is None or not float(np.max(np.abs(D))) < FARTHEST:  # points that coincide are to be apart
            return None
        values, vectors = np.linalg.eigh(0.5 * (D + D.T))
        if not values[0] > -ROOM:
            break
        W = W @ (vectors * np.sqrt(1 + values))
    return None


def _serves(problem: Statement, V: Array, count: int) -> bool:
    """Whether the problem has distances alone, as many as kernels leave room for, and V is square."""
    kinds = all(isinstance(part.functional, SquaredDistances) for part in problem.equalities)
    plain = kinds and not problem.terms and problem.regularizer.vacuous
    s = problem.order
    return plain and V.shape[1] == s <= ORDER and 0 < count <= min(DENSE, s * (s + 1) // 2) and in_range(V)


def _edges(problem: Statement, W: Array) -> tuple[Twofold, Array]:
    """The rows p_e = W'(q_i - q_j) with twice the digits, and what each may be off by (Euclidean)."""
    ends = [part.functional.indices for part in problem.equalities]
    i, j = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
    Q = problem.Q
    edges, error = inner_products(_transposed(exact_sum(Q[i], -Q[j])), twofold(W))
    return edges, np.linalg.norm(error, axis=1) * (1 + 1e-9)


def _transposed(x: Twofold) -> Twofold:
    return Twofold(np.ascontiguousarray(x.high.T), np.ascontiguousarray(x.low.T))


def _residual(equal: EqualityMap, edges: Twofold, off: Array) -> tuple[Array, Array]:
    """|p_e|^2 - b_e to floating-point numbers, and upper bounds on their absolute values."""
    found = add(total(multiply(edges, edges)), twofold(-equal.wanted))
    size = np.einsum("es,es->e", edges.high, edges.high) * (1 + 1e-9)
    doubt = (edges.high.shape[1] + 3) * ROUNDOFF * (size + np.abs(equal.wanted))
    doubt += (2.01 * np.sqrt(size) + off) * off + edges.high.shape[1] * LOST
    return found.high, np.abs(found.high) * (1 + 4 * UNIT) + 1.01 * doubt


def _length(rows: Rows, missed: Array, off: Array) -> float:
    """An upper bound on the length of the shortest D with |A(D)| = ``missed``; inf where none is proved."""
    m, s = rows.P.shape
    k, first, others = len(rows.first), rows.first, rows.others
    X, failed = scipy.linalg.lapack.dtrtri(rows.L, lower=1)
    if failed or not np.isfinite(X).all():
        return float("inf")
    X = np.tril(X).T
    size = float(np.linalg.norm(X))
    P = rows.P[first]
    inner, absolute = P @ P.T, np.abs(P) @ np.abs(P).T
    G, sizes = inner**2, np.abs(X)
    of_first = float(np.linalg.norm(X.T @ (G @ X) - np.eye(k)))
    doubt = (2.1 * gamma(s + 8)) * (np.abs(inner) + gamma(s) * absolute) * absolute  # of G
    doubt += 2.1 * gamma(k + 4) * G  # of the products
    of_first += 1.01 * float(np.linalg.norm(sizes.T @ (doubt @ sizes)))
    across = of_others = 0.0
    if k < m:
        matrices = [rows.back(x) for x in others.T]
        rounded = gamma(m + 4) * float(np.linalg.norm(np.abs(others).sum(axis=0)))  # of all matrices
        values = np.stack([rows.value(B)[first] for B in matrices], axis=1)
        lengths = np.array([np.linalg.norm(B) for B in matrices]) * (1 + 1e-9)
        across = float(np.linalg.norm(X.T @ values)) + gamma(k + 2) * size * float(np.linalg.norm(values))
        across += 1.01 * size * gamma(2 * s + 8) * float(np.sqrt(k)) * float(np.linalg.norm(lengths))
        across += (1 + of_first) * rounded
        flat = np.stack([B.ravel() for B in matrices])
        of_others = float(np.linalg.norm(flat @ flat.T - np.eye(m - k)))
        of_others += gamma(s * s + 4) * float(np.sum(lengths**2))
        of_others += rounded * (2 * float(np.linalg.norm(lengths)) + rounded)
    delta = of_first + 2 * across + of_others
    whole = float(np.hypot(size, np.linalg.norm(others)))
    apart = 8 * UNIT + off / np.sqrt(rows.lengths)  # of rows of unit length
    moved = float(np.linalg.norm((2 + apart) * apart)) * whole
    delta = 1.01 * (delta + moved * (2 + 2 * delta + moved))
    if not delta <= MOST:
        return float("inf")
    f = missed / rows.lengths * (1 + 16 * UNIT)
    of_f = np.linalg.norm(np.abs(X).T @ f[first]), np.linalg.norm(np.abs(others).T @ f)
    return 1.01 * float(np.hypot(*of_f)) / float(np.sqrt(1 - delta))
