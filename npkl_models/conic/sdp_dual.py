"""The exact SDP in its dual form: maximise the certificate's bound over y; K is the dual of S >= 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from npkl_models.answer.solution import Status
from npkl_models.conic.cost import dense_order, dual_cost, slack_cliques
from npkl_models.conic.runner import ConicRun, Reader
from npkl_models.conic.sdp import TAKES, describe_cones, not_stated
from npkl_models.conic.solvers import ConicOptions, choose_solver
from npkl_models.model.constraint import Constraint
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.judge import Claim
from npkl_models.solve.watch import RunMonitor

if TYPE_CHECKING:
    import cvxpy as cp

SCALE = 0.5  # fixed scale of SCS; 0.1, the best for the primal form, takes twice as many iterations here


@dataclass(frozen=True)
class DualModel:
    """The CVXPY problem, its multipliers, and the constraint whose dual is the kernel."""

    problem: cp.Problem
    y: list[cp.Variable]  # of all terms
    slack: Any


def build(problem: Statement) -> DualModel:
    """Maximise -sum f*(y) - nu'b - R*(-S(y)), with R* written as ``slack >> 0``."""
    import cvxpy as cp

    Q = None if problem.basis is None else problem.basis.Q
    order = problem.order
    S: Any = cp.Constant(sp.csc_array(problem.restrict(problem.cost)))
    paid: list[Any] = []
    constraints: list[Any] = []
    y = []
    for part in problem.terms:
        own = cp.Variable(part.functional.size)
        S = S + _adjoint(part.functional.operator(Q), own, order)
        y.append(own)
        if isinstance(part, Constraint):
            upper = bool(np.isfinite(part.upper).all())
            paid.append(part.value @ own)
            constraints += [] if part.equal else [own >= 0 if upper else own <= 0]
        else:
            stated = part.loss.cvxpy_conjugate(own, part.target, part.weight)
            if not (isinstance(stated, tuple) and len(stated) == 2 and isinstance(stated[1], list)):
                wanted = "an expression and a list of constraints"
                raise not_stated(part.loss, "cvxpy_conjugate", wanted, stated)
            paid.append(stated[0])
            constraints += stated[1]
    support = problem.regularizer.cvxpy_support(S)
    slack = 0.5 * (support.slack + support.slack.T) >> 0
    every = [slack, *constraints, *support.constraints]
    cost = cp.sum(cp.hstack(paid)) + support.value
    return DualModel(cp.Problem(cp.Minimize(cost), every), y, slack)


def _adjoint(A: Any, part: Any, order: int) -> Any:
    """sum_e part_e M_e (order x order), symmetric, from the operator matrix A."""
    import cvxpy as cp

    transpose = np.arange(order * order).reshape(order, order).T.ravel()
    half = 0.5 * (A + A[:, transpose])
    return cp.reshape(half.T @ part, (order, order), order="C")


SWAPPED = {Status.INFEASIBLE: Status.UNBOUNDED, Status.UNBOUNDED: Status.INFEASIBLE}
"""The status of the primal problem, by the status of its dual."""


@dataclass(frozen=True, eq=False)
class DualSDPPlan:
    """Exact dual SDP; see `build`."""

    problem: Statement
    options: ConicOptions
    model: DualModel
    cliques: float  # see `npkl_models.conic.solvers.choose_solver`

    def run(self, watch: RunMonitor) -> Claim:
        """Solve the program."""
        reader = Reader(
            lambda: self.model.slack.dual_value, self._multipliers, lambda value: -value,
            lambda status: SWAPPED.get(status, status),
        )  # fmt: skip
        solver, options = choose_solver(self.options.solver, self.problem.order, self.cliques), self.options
        if solver == "SCS":
            options = replace(options, solver_options={"scale": SCALE} | options.solver_options)
        run = ConicRun(self.problem, self.model.problem, options, reader, watch)
        return run.claim(self.problem.order, solver)

    def _multipliers(self) -> Multipliers | None:
        if any(variable.value is None for variable in self.model.y):
            return None
        y = self.problem.split_multipliers([np.atleast_1d(variable.value) for variable in self.model.y])
        hard = zip(self.problem.constraints, y.constraints, strict=True)
        return Multipliers(y.losses, tuple(part.project(nu) for part, nu in hard))

    def describe(self) -> str:
        """Sizes and memory."""
        words = describe_cones(self.problem, self.options, "dual SDP over y", self.cliques)
        if self.cliques == self.problem.order:
            return words
        sizes = slack_cliques(self.problem)
        return f"{words}; the slack is sparse: {len(sizes)} cliques, the largest of {sizes[0]}"


def _plan(problem: Statement, options: ConicOptions) -> DualSDPPlan:
    """Check the solver and its memory, then write the CVXPY problem."""
    cliques = dense_order(slack_cliques(problem))
    choose_solver(options.solver, problem.order, cliques)
    return DualSDPPlan(problem, options, build(problem), cliques)


BACKEND = Backend(
    "sdp_dual", "conic", "the exact SDP in its dual form, through CVXPY", TAKES, _plan, ConicOptions,
    dual_cost,
)  # fmt: skip
