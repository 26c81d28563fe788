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

from npkl_models.conic.quadratic import ReducedQuadratic, rank_revealing_factor
from npkl_models.conic.reduced import SQLP, ReducedPlan, with_solver, write_sqlp
from npkl_models.conic.solvers import ConicOptions
from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array, Index
from npkl_models.model.functional import smat
from npkl_models.model.statement import Statement
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
    s, rows = problem.order, _rows(problem)
    values = np.linalg.eigvalsh(rows.T @ rows if s * s <= len(rows) else rows @ rows.T)
    vec = int(np.sum(values > s * s * ROUNDING * values[-1])) if values.size else 0
    return Ranks(ReducedQuadratic.of(problem).rank, vec, s * (s + 1) // 2, s * s)


def _rows(problem: Statement) -> Array:
    """The rows of A = rows'rows of eq. (3.13), m x s^2, over all losses that have a curvature."""
    Q, out = problem.Q, [np.zeros((0, problem.order**2))]

    def products(i: Index, j: Index) -> Array:
        """The rows q_i (x) q_j."""
        return np.einsum("ea,eb->eab", Q[i], Q[j]).reshape(i.size, -1)

    for term in problem.losses:
        if term.loss.curvature > 0:
            kind, ends = term.functional.kind, term.functional.indices
            if kind not in ("entries", "squared distances"):
                raise UnsupportedError(f"quadratic_ranks needs entries or squared distances, got {kind}")
            rows = products(*ends)
            if kind == "squared distances":
                rows = products(ends[0], ends[0]) - 2 * rows + products(ends[1], ends[1])
            out.append(np.sqrt(0.5 * term.loss.curvature * term.weight)[:, None] * rows)
    return np.concatenate(out)


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
    rows = _rows(problem)
    B = rank_revealing_factor(rows.T @ rows)
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
