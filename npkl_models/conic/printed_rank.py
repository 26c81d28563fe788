"""The rank of the thesis' quadratic, in vec(U) as printed and in svec(U) as it is solved here.

Source: Wu, thesis 2011, eq. (3.13) and the last columns of its tables 3.1 and 3.2. With y = vec(U) the value
K_ij = q_i'U q_j has the row q_j (x) q_i, which is not symmetric: A = sum w row row' has rank up to s^2. On
symmetric U the form is the same with the rows made symmetric, and its rank at most s (s + 1) / 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npkl_models.conic.quadratic import ReducedQuadratic
from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array, Index
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

ROUNDING = float(np.finfo(float).eps)  # times the order and the largest eigenvalue, as is usual for a rank


class Ranks(NamedTuple):
    """Ranks of A, and the numbers of unknowns that bound them."""

    svec: int
    vec: int
    unknowns: int
    printed_unknowns: int


def quadratic_ranks(problem: Statement) -> Ranks:
    """Ranks of the quadratic of a problem with a basis and square losses, in svec(U) and in vec(U).

    Raises
    ------
    UnsupportedError
        For functionals other than entries and squared distances, and for a penalty on tr K^2, whose
        quadratic has full rank.
    """
    R = problem.regularizer.spectral
    if problem.basis is None or (R is not None and R.penalty is not None):
        raise UnsupportedError(f"quadratic_ranks needs a basis and no penalty on the kernel, got {problem!r}")
    s, terms = problem.order, [term for term in problem.terms if term.loss.curvature > 0]
    parts = [_products(term) for term in terms]
    m = sum(len(scale) for _, scale in parts)
    Q = problem.Q
    if s * s <= m:
        A: Array = np.zeros((s * s, s * s))
        for products, scale in parts:
            rows = scale[:, None] * sum(
                c * np.einsum("ea,eb->eab", Q[i], Q[j]).reshape(len(scale), -1) for c, i, j in products
            )
            A += rows.T @ rows
    else:
        A = _gram(Q, parts, m)
    values = np.linalg.eigvalsh(A)
    vec = int(np.sum(values > s * s * ROUNDING * values[-1])) if m else 0
    return Ranks(ReducedQuadratic.of(problem).rank, vec, s * (s + 1) // 2, s * s)


Products = list[tuple[float, Index, Index]]  # of rows: sum of c q_i (x) q_j


def _products(term: LossTerm) -> tuple[Products, Array]:
    """The rows of a term as sums of products, and the roots of their weights."""
    ends, scale = term.functional.indices, np.sqrt(0.5 * term.loss.curvature * term.weight)
    if term.functional.kind == "entries":
        i, j = ends
        return [(1.0, i, j)], scale
    if term.functional.kind == "squared distances":
        i, j = ends
        return [(1.0, i, i), (-2.0, i, j), (1.0, j, j)], scale
    raise UnsupportedError(f"quadratic_ranks needs entries or squared distances, got {term.functional.kind}")


def _gram(Q: Array, parts: list[tuple[Products, Array]], m: int) -> Array:
    """The inner products of all rows, which have the rank of A, by <a (x) b, c (x) d> = (a'c)(b'd)."""
    out = np.zeros((m, m))
    start = 0
    for first, scale in parts:
        stop, at = start + len(scale), 0
        for second, other in parts:
            block = out[start:stop, at : at + len(other)]
            for c, i, j in first:
                for d, k, h in second:
                    block += c * d * (Q[i] @ Q[k].T) * (Q[j] @ Q[h].T)
            block *= scale[:, None] * other
            at += len(other)
        start = stop
    return out
