"""Proof of a feasible kernel near a kernel K = WW' inside the cone, in the coordinates of K.

W is square. Kernels near K are W (I + D) W', and they are positive semidefinite while D >= -I. Their squared
distances are p'(I + D) p with p = W'(q_i - q_j), a linear map A of D. Let T = A'X be nearly orthonormal,
||T'T - I|| <= delta < 1. Then every f has a D with A(D) = f and |D| <= |X'f| / sqrt(1 - delta). Let f be what
WW' misses of the distances. If this bound is below one, there is an exactly feasible kernel. The
eigenvalues of this kernel may be arbitrarily small. Without these coordinates, a change of K would have to be
smaller than the smallest eigenvalue.
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
ROUNDED = 1e-12  # relative to the largest distance: no step makes residuals smaller than this
FARTHEST = 1e8  # no step is taken if an entry of D is larger
LENGTH = 1e-2  # a norm of D that is small enough
ROOM = 0.9  # largest share of the way to the boundary that a step may go
CLEAR = 1e-9  # squared distance of a row from the span of others that a Gram matrix can prove
MOST = 0.5  # largest delta
LOST = 2.0**-1060  # largest loss of a product of two numbers by underflow


@dataclass(frozen=True, eq=False)
class Inside:
    """A factor V (n x s) such that V (I + D) V' is feasible for some D with |D| <= ``turned``.

    Strictly, this holds for a factor in the range of the basis within ``reach`` of V. ``missed`` (m) are
    upper bounds on the residuals of VV'.
    """

    V: Array
    reach: float
    turned: float
    missed: Array


def inside(problem: Statement, V: Array) -> Inside | None:
    """Find and prove a feasible kernel by a few steps in the coordinates of V; None without proof."""
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
        if D is None or not float(np.max(np.abs(D))) < FARTHEST:  # coinciding points must be apart
            return None
        values, vectors = np.linalg.eigh(0.5 * (D + D.T))
        if not values[0] > -ROOM:
            break
        W = W @ (vectors * np.sqrt(1 + values))
    return None


def _serves(problem: Statement, V: Array, count: int) -> bool:
    """Whether the proof applies: distances alone, no more than U has entries, and V has s columns."""
    kinds = all(isinstance(part.functional, SquaredDistances) for part in problem.equalities)
    plain = kinds and not problem.terms and problem.regularizer.vacuous
    s = problem.order
    return plain and V.shape[1] == s <= ORDER and 0 < count <= min(DENSE, s * (s + 1) // 2) and in_range(V)


def _edges(problem: Statement, W: Array) -> tuple[Twofold, Array]:
    """The rows p_e = W'(q_i - q_j) with twice the digits, and a bound on the error of each (Euclidean)."""
    ends = [part.functional.indices for part in problem.equalities]
    i, j = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
    Q = problem.Q
    edges, error = inner_products(_transposed(exact_sum(Q[i], -Q[j])), twofold(W))
    return edges, np.linalg.norm(error, axis=1) * (1 + 1e-9)


def _transposed(x: Twofold) -> Twofold:
    return Twofold(np.ascontiguousarray(x.high.T), np.ascontiguousarray(x.low.T))


def _residual(equal: EqualityMap, edges: Twofold, off: Array) -> tuple[Array, Array]:
    """|p_e|^2 - b_e as floating-point numbers, and upper bounds on their exact absolute values."""
    found = add(total(multiply(edges, edges)), twofold(-equal.wanted))
    size = np.einsum("es,es->e", edges.high, edges.high) * (1 + 1e-9)
    doubt = (edges.high.shape[1] + 3) * ROUNDOFF * (size + np.abs(equal.wanted))
    doubt += (2.01 * np.sqrt(size) + off) * off + edges.high.shape[1] * LOST
    return found.high, np.abs(found.high) * (1 + 4 * UNIT) + 1.01 * doubt


def _length(rows: Rows, missed: Array, off: Array) -> float:
    """A bound on the norm of the smallest D with A(D) = f, for all |f| <= ``missed``; inf without proof."""
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
    doubt = (2.1 * gamma(s + 8)) * (np.abs(inner) + gamma(s) * absolute) * absolute  # error of G
    doubt += 2.1 * gamma(k + 4) * G  # error of the products
    of_first += 1.01 * float(np.linalg.norm(sizes.T @ (doubt @ sizes)))
    across = of_others = 0.0
    if k < m:
        matrices = [rows.back(x) for x in others.T]
        rounded = gamma(m + 4) * float(np.linalg.norm(np.abs(others).sum(axis=0)))  # error of all matrices
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
    apart = 8 * UNIT + off / np.sqrt(rows.lengths)  # error of the unit rows
    moved = float(np.linalg.norm((2 + apart) * apart)) * whole
    delta = 1.01 * (delta + moved * (2 + 2 * delta + moved))
    if not delta <= MOST:
        return float("inf")
    f = missed / rows.lengths * (1 + 16 * UNIT)
    of_f = np.linalg.norm(np.abs(X).T @ f[first]), np.linalg.norm(np.abs(others).T @ f)
    return 1.01 * float(np.hypot(*of_f)) / float(np.sqrt(1 - delta))
