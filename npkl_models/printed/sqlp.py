"""The SQLP as it is printed, in vec(U), and the rank of its quadratic.

Source: Wu, Fast Graph Laplacian Regularized Kernel Learning via Semidefinite-Quadratic-Linear Programming,
thesis, CUHK 2011, chapter 3, and the last columns of its tables 3.1 and 3.2. With y = vec(U), the value
K_ij = q_i'U q_j has the row q_j (x) q_i, which is not symmetric. So A = sum w row row' in eq. (3.13) has rank
up to s^2. For symmetric U the rows may be made symmetric without a change of the form. The rank of the
form is then at most s (s + 1) / 2. The backend sqlp solves this form, in svec(U) and scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from npkl_models.conic.quadratic import ReducedQuadratic, rank_revealing_factor, smat
from npkl_models.conic.reduced import SQLP, ReducedPlan, with_solver, write_sqlp
from npkl_models.conic.solvers import ConicOptions
from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array, Index
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.solve.backend import PRINTED, Backend
from npkl_models.solve.takes import Takes

ROUNDING = float(np.finfo(float).eps)  # times the order and the largest eigenvalue, as usual for a rank


class Ranks(NamedTuple):
    """Ranks of A, and the numbers of unknowns that bound the ranks."""

    svec: int
    vec: int
    unknowns: int
    printed_unknowns: int


def quadratic_ranks(problem: Statement) -> Ranks:
    """Ranks of the quadratic of a problem with a basis and square losses, in svec(U) and in vec(U).

    An UnsupportedError is raised for functionals other than entries and squared distances, for a problem
    without a basis, and for a penalty, since tr K^2 gives the quadratic full rank.
    """
    R = problem.regularizer.spectral
    if problem.basis is None or (R is not None and R.penalty is not None):
        raise UnsupportedError(f"quadratic_ranks needs a basis and no penalty on the kernel, got {problem!r}")
    s, parts = problem.order, _parts(problem)
    m = sum(len(scale) for _, scale in parts)
    A = _quadratic(problem.Q, parts) if s * s <= m else _gram(problem.Q, parts, m)
    values = np.linalg.eigvalsh(A)
    vec = int(np.sum(values > s * s * ROUNDING * values[-1])) if m else 0
    return Ranks(ReducedQuadratic.of(problem).rank, vec, s * (s + 1) // 2, s * s)


Products = list[tuple[float, Index, Index]]  # rows as sums of c q_i (x) q_j
Parts = list[tuple[Products, Array]]


def _parts(problem: Statement) -> Parts:
    """The rows of the terms that have a curvature."""
    return [_products(term) for term in problem.losses if term.loss.curvature > 0]


def _quadratic(Q: Array, parts: Parts) -> Array:
    """A of eq. (3.13), s^2 x s^2."""
    s = Q.shape[1]
    A: Array = np.zeros((s * s, s * s))
    for products, scale in parts:
        rows = scale[:, None] * sum(
            c * np.einsum("ea,eb->eab", Q[i], Q[j]).reshape(len(scale), -1) for c, i, j in products
        )
        A += rows.T @ rows
    return A


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


def _gram(Q: Array, parts: Parts, m: int) -> Array:
    """The Gram matrix of all rows, which has the rank of A, by <a (x) b, c (x) d> = (a'c)(b'd)."""
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


@dataclass(frozen=True, eq=False)
class PrintedSQLPPlan(ReducedPlan):
    """The plan of eqs. (3.21)-(3.24) over vec(U), without a scale for each basis vector."""

    def describe(self) -> str:
        s = self.quadratic.order
        return f"{self.form.name}: a PSD cone of order {s} ({s * s} unknowns), {self.cones}"


def _plan(problem: Statement, options: ConicOptions) -> PrintedSQLPPlan:
    """Factor A in vec(U), and write the cones."""
    import cvxpy as cp

    form = replace(SQLP, name="printed_sqlp")
    given, q, s = with_solver(problem, options, form), ReducedQuadratic.of(problem), problem.order
    B = rank_revealing_factor(_quadratic(problem.Q, _parts(problem)))
    U = cp.Variable((s, s), symmetric=True, name="U")
    y = cp.vec(U, order="C")
    written, cone = write_sqlp(q, B, y), U >> 0
    objective = written.objective + smat(q.b, s).ravel() @ y
    model = cp.Problem(cp.Minimize(objective), [cone, *written.constraints])
    return PrintedSQLPPlan(
        problem, given, form, q, model, U, np.ones(s), 1.0, written.cones, (), (), cone
    )  # fmt: skip


TAKES = Takes(
    losses=("quadratic",), regularizers=("none",), basis="required",
    functionals=("entries", "squared distances"),
)  # fmt: skip
BACKEND = Backend(
    "printed_sqlp",
    PRINTED,
    "the SQLP as Wu (2011) prints it, in vec(U) and unscaled, through CVXPY",
    TAKES,
    _plan,
    ConicOptions,
)
