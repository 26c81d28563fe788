"""Three conic programs for one quadratic over a basis: sqlp, its Schur-complement baseline scsdp, and qsdp.

Source: Wu, "Fast Graph Laplacian Regularized Kernel Learning via Semidefinite-Quadratic-Linear
Programming", thesis, CUHK 2011, chapter 3; with y = svec(U) in place of vec(U).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from npkl_models.conic.cost import reduced_cost, schur_cost
from npkl_models.conic.quadratic import ReducedQuadratic, svec_to_vec
from npkl_models.conic.runner import ConicRun, Reader
from npkl_models.conic.sdp import relation, signed
from npkl_models.conic.solvers import ConicOptions, choose_solver, predicted_bytes
from npkl_models.linalg import Array, symmetrize
from npkl_models.model.functional import smat, svec
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.judge import Claim
from npkl_models.solve.takes import Powers, Takes
from npkl_models.solve.watch import RunMonitor

if TYPE_CHECKING:
    import cvxpy as cp

Cvx = Any
DEFAULT_SOLVER = "SCS"  # without constraints quicker and more exact than CLARABEL on these scaled programs
EPS_SHARE = 1e-3  # share of tol: an error in By counts twice in the objective


@dataclass(frozen=True)
class Written:
    """A quadratic objective in conic form, and a description of its cones."""

    objective: Cvx
    constraints: list[Cvx]
    cones: str


def write_sqlp(quadratic: ReducedQuadratic, B: Array, y: Cvx) -> Written:
    """||By||^2 as u_1 - u_2 with u_1 + u_2 = 1, u = ((1+mu)/2, (1-mu)/2, By) in a second-order cone.

    Eqs. (3.21)-(3.24).
    """
    import cvxpy as cp

    r = len(B)
    u = cp.Variable(r + 2, name="u")
    linked = [] if r == 0 else [B @ y - u[2:] == 0]
    constraints = [u[0] + u[1] == 1, *linked, cp.SOC(u[0], u[1:])]
    return Written(u[0] - u[1], constraints, f"a second-order cone of {r + 2}, {r + 1} equations")


def write_scsdp(quadratic: ReducedQuadratic, B: Array, y: Cvx) -> Written:
    """nu >= y'Ay by the Schur complement of I in [[I, A^(1/2) y], [., nu]] >= 0, eqs. (3.15)-(3.16)."""
    import cvxpy as cp

    _, singular, vectors = np.linalg.svd(B, full_matrices=False)
    root = (vectors.T * singular) @ vectors
    p = len(quadratic.b)
    nu = cp.Variable((1, 1), name="nu")
    column = cp.reshape(root @ y, (p, 1), order="C")
    block = cp.bmat([[np.eye(p), column], [column.T, nu]])
    return Written(nu[0, 0], [block >> 0], f"a second PSD cone of order {p + 1}")


def write_qsdp(quadratic: ReducedQuadratic, B: Array, y: Cvx) -> Written:
    """y'Ay as a quadratic objective, which the solver takes without cones."""
    import cvxpy as cp

    return Written(cp.quad_form(y, cp.psd_wrap(B.T @ B)), [], "a quadratic objective")


@dataclass(frozen=True)
class Form:
    """One of the three conic forms."""

    name: str
    write: Callable[[ReducedQuadratic, Array, Cvx], Written]
    cost: Callable[[Statement], Cost]
    summary: str
    schur: bool = False  # whether the largest PSD cone is that of the Schur complement

    def order(self, problem: Statement) -> int:
        """The order of the largest PSD cone."""
        return problem.order * (problem.order + 1) // 2 + 1 if self.schur else problem.order


@dataclass(frozen=True, eq=False)
class ReducedPlan:
    """The quadratic, and its CVXPY problem in one of the three forms."""

    problem: Statement
    options: ConicOptions
    form: Form
    quadratic: ReducedQuadratic
    model: cp.Problem
    unknown: cp.Variable
    scale: Array  # (s,), D: the unknown of the model is D^-1 U D^-1
    unit: float  # the unit of the objective without c
    cones: str
    links: tuple[Cvx, ...]  # constraints, each divided by the norm of its row
    rows: tuple[Array, ...]  # the norms of these rows
    cone: Cvx

    def run(self, watch: RunMonitor) -> Claim:
        """Solve it."""
        reader = Reader(
            lambda: self._unscaled(self.unknown.value), self._multipliers,
            lambda value: self.unit * value + self.quadratic.c,
        )  # fmt: skip
        run = ConicRun(self.problem, self.model, self.options, reader, watch)
        return run.claim(self.form.order(self.problem))

    def _unscaled(self, U: Array | None) -> Array | None:
        return None if U is None else self.scale[:, None] * np.asarray(U) * self.scale

    def _multipliers(self) -> Multipliers | None:
        """The multipliers whose slack is the dual of the PSD cone, as far as the range of A allows.

        The multipliers of the losses are their derivatives at the point y' with 2 A y' + b + E'nu = svec(Z).
        Up to the solver's accuracy y' is the solution, but at y' the slack is as accurate as Z.
        """
        q, problem, U = self.quadratic, self.problem, self._unscaled(self.unknown.value)
        read = [link.dual_value for link in self.links]
        if U is None or self.cone.dual_value is None or any(value is None for value in read):
            return None
        nu = tuple(
            part.project(signed(part, value) * self.unit / size)
            for part, value, size in zip(problem.constraints, read, self.rows, strict=True)
        )
        y = svec(symmetrize(U))
        Z = self.unit * symmetrize(self.cone.dual_value) / (self.scale[:, None] * self.scale)
        lack = svec(Z) - q.gradient(y)
        if problem.regularizer.vacuous:
            for (_, E, _), part in zip(q.constraints, nu, strict=True):
                lack = lack - E.T @ part
            y = y + 0.5 * q.pseudo_solve(lack)
        z = problem.values_in_basis(smat(y, q.order))
        terms = tuple(term.derivative(part) for term, part in zip(problem.losses, z, strict=True))
        return Multipliers(terms, nu)

    def describe(self) -> str:
        """Sizes and memory."""
        q, order = self.quadratic, self.form.order(self.problem)
        solver = choose_solver(self.options.solver, order)
        equations = sum(len(e) for _, _, e in q.constraints)
        return (
            f"{self.form.name} over {self.problem.n} points: a PSD cone of order {q.order} "
            f"({len(q.b)} unknowns), {self.cones}, {equations} further constraints; "
            f"A has rank {q.rank} of {len(q.b)}; "
            f"{solver}, about {predicted_bytes(solver, order) / 1e6:.3g} MB"
        )


def with_solver(problem: Statement, options: ConicOptions, form: Form) -> ConicOptions:
    """The options, with a solver that fits into memory and the eps of this solver."""
    preferred = None if problem.constraints else DEFAULT_SOLVER
    solver = choose_solver(options.solver or preferred, form.order(problem))
    if solver not in ("SCS", "CLARABEL") and options.eps is None:
        return options
    eps = EPS_SHARE * options.tol if options.eps is None else options.eps
    return replace(options, solver=solver, eps=eps)


def _plan(problem: Statement, options: ConicOptions, form: Form) -> ReducedPlan:
    """Form the quadratic, factor it, and write the cones; memory is checked first."""
    import cvxpy as cp

    options = with_solver(problem, options, form)
    q = ReducedQuadratic.of(problem)
    s = q.order
    D, unit = _scales(q)
    first, second = np.triu_indices(s)
    d = D[first] * D[second]
    U = cp.Variable((s, s), symmetric=True, name="U")
    y = svec_to_vec(s).T @ cp.vec(U, order="C")
    written = form.write(q, q.B * d / np.sqrt(unit), y)
    rows = tuple(_lengths(E * d) for _, E, _ in q.constraints)
    links = tuple(
        relation(part, (E * d / size[:, None]) @ y, e / size)
        for (part, E, e), size in zip(q.constraints, rows, strict=True)
    )
    cone = U >> 0
    every = [cone, *written.constraints, *links]
    R = problem.regularizer.spectral
    if R is not None and R.bound is not None:
        size = D**2 @ cp.diag(U) if R.p == 1 else cp.norm(cp.multiply(d, y))
        every.append(size / D.max() ** 2 <= R.bound ** (1 / R.p) / D.max() ** 2)
    model = cp.Problem(cp.Minimize(written.objective + (d * q.b / unit) @ y), every)
    return ReducedPlan(problem, options, form, q, model, U, D, unit, written.cones, links, rows, cone)


def _scales(q: ReducedQuadratic) -> tuple[Array, float]:
    """D for the unknown D^-1 U D^-1, and the unit of the objective.

    D first scales the diagonal entries of A that belong to the diagonal of U to one. Then D is multiplied by
    the root of t, where t I is the best multiple of the identity in this scale, so that the objective has
    size one. Without scaling, mu would be far larger than the ones beside it in the cone: rows of Q have size
    sqrt(1/n), so U has size n. The eigenvalues of a Laplacian also lie powers of ten apart.
    """
    s = q.order
    first, second = np.triu_indices(s)
    own = q.A.diagonal()[first == second]
    D = np.where(own > 0, np.maximum(own, 1e-300), float(np.max(own, initial=1.0))) ** -0.25
    e = (D[first] * D[second]) * svec(np.eye(s))
    bend, slope = float(e @ q.A @ e), float(-q.b @ e)
    if bend <= 0 or slope <= 0:
        return D, 1.0
    t = 0.5 * slope / bend
    return D * np.sqrt(t), t * t * bend


def _lengths(rows: Array) -> Array:
    """Norms of rows; one for a row of zeros."""
    size = np.linalg.norm(rows, axis=1)
    return np.where(size > 0, size, 1.0)


TAKES = Takes(
    losses=("quadratic",), regularizers=("none", "trace power"), basis="required", constraints="yes",
    powers=Powers("tr K or tr K^2", lambda face: face.p in (1, 2)),
)  # fmt: skip
SQLP = Form(
    "sqlp", write_sqlp, reduced_cost(3e-6),
    "the semidefinite-quadratic-linear program over a basis, through CVXPY",
)  # fmt: skip
QSDP = Form(
    "qsdp", write_qsdp, reduced_cost(2e-6),
    "the quadratic SDP over a basis, its quadratic as it is, through CVXPY",
)  # fmt: skip
SCSDP = Form(
    "scsdp", write_scsdp, schur_cost, "the Schur-complement SDP over a basis, a baseline for small s", True
)
BACKENDS = tuple(
    Backend(form.name, "conic", form.summary, TAKES, partial(_plan, form=form), ConicOptions, form.cost)
    for form in (SQLP, QSDP, SCSDP)
)
