"""The exact SDP over K, with explicit links z = A(K) whose duals are minus the multipliers y."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from npkl_models.answer.solution import Status
from npkl_models.conic.chunks import ALWAYS
from npkl_models.conic.cost import dense_cost
from npkl_models.conic.runner import ConicRun, Reader
from npkl_models.conic.solvers import ConicOptions, choose_solver, predicted_bytes, tries_scs
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.model.constraint import Constraint
from npkl_models.model.loss import Loss
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.trace_cones import needs_majorisation
from npkl_models.solve.backend import Backend
from npkl_models.solve.judge import Claim
from npkl_models.solve.takes import Takes
from npkl_models.solve.watch import RunMonitor

if TYPE_CHECKING:
    import cvxpy as cp

MAJORISATION_ORDER = 40  # beyond this order, one semidefinite pair for each eigenvalue is hopeless


@dataclass(frozen=True)
class Model:
    """The CVXPY problem, and for each term the constraint whose dual becomes its multipliers."""

    problem: cp.Problem
    unknown: cp.Variable
    links: list[Any]


def too_many_cones(problem: Statement) -> str | None:
    """The reason why a trace power without a form of fixed size is too large; None if it is not."""
    R = problem.regularizer.spectral
    if R is not None and problem.order > MAJORISATION_ORDER:
        powers = {R.p, R.conjugate_exponent} if needs_majorisation(R.p) else set()
        if any(map(needs_majorisation, powers)):
            return (
                f"tr K^{R.p:g} needs majorisation, which is limited to order {MAJORISATION_ORDER} "
                f"(got {problem.order}); p = 1, 1.5, 2, 3 and 4 have a form of fixed size"
            )
    return None


def build(problem: Statement) -> Model:
    """Write the problem in CVXPY; the parameter gamma is the largest weight and scales all weights."""
    import cvxpy as cp

    Q = None if problem.basis is None else problem.basis.Q
    K = cp.Variable((problem.order, problem.order), symmetric=True, name="K" if Q is None else "U")
    vector = cp.vec(K, order="C")
    cost = sp.csr_array(problem.restrict(problem.cost)).reshape((1, -1))
    objective = cost @ vector
    top = max((float(term.weight.max()) for term in problem.losses), default=1.0)
    gamma = cp.Parameter(nonneg=True, name="gamma", value=top)
    links: list[Any] = []
    losses: list[Any] = []
    names = _names(problem)
    for term in problem.losses:
        z = cp.Variable(term.functional.size, name=f"z of {names[len(links)]}")
        links.append((z == term.functional.operator(Q) @ vector).set_label(names[len(links)]))
        stated = term.loss.cvxpy_value(z, term.target)
        if getattr(stated, "shape", None) != z.shape:
            raise not_stated(term.loss, "cvxpy_value", f"an expression of shape {z.shape}", stated)
        losses.append((term.weight / top) @ stated)
    if losses:
        objective = objective + gamma * cp.sum(cp.hstack(losses))
    for part, name in zip(problem.constraints, names[len(links) :], strict=True):
        links.append(relation(part, part.functional.operator(Q) @ vector, part.value).set_label(name))
    penalty, bounds = problem.regularizer.cvxpy_primal(K)
    return Model(cp.Problem(cp.Minimize(objective + penalty), [K >> 0, *links, *bounds]), K, links)


def not_stated(loss: Loss, method: str, wanted: str, got: Any) -> ProblemError:
    """The error about a method of a user's loss that returns something else in CVXPY."""
    shape = f" of shape {got.shape}" if hasattr(got, "shape") else ""
    return ProblemError(
        f"{method} of the loss {loss.name!r} must return {wanted}, got {type(got).__name__}{shape}"
    )


def relation(part: Constraint, value: Any, bound: Array) -> Any:
    """``value`` = bound, <= bound or >= bound, as the kind of the constraint says."""
    if part.equal:
        return value == bound
    return value <= bound if np.isfinite(part.upper).all() else value >= bound


def signed(part: Constraint, dual: Any) -> Array:
    """The multipliers y of S = C + sum y_e M_e, from the dual values that CVXPY gives a `relation`."""
    y = np.atleast_1d(dual)
    return y if part.equal or np.isfinite(part.upper).all() else -y


def _names(problem: Statement) -> list[str]:
    """A name for each term: its own, with a number if another one has it, too."""
    names = [term.name for term in problem.terms]
    told = [name if names.count(name) == 1 else f"{name} {k}" for k, name in enumerate(names)]
    return told if len({*told}) == len(told) else [f"{name} {k}" for k, name in enumerate(names)]


def read_cvxpy(problem: Statement, program: Any) -> tuple[Array, Multipliers]:
    """What a solver has left in the CVXPY problem; see `Problem.read_cvxpy`."""
    named = {constraint.label: constraint for constraint in program.constraints}
    names = _names(problem)
    unknown = program.var_dict.get("K" if problem.basis is None else "U")
    if unknown is None or any(name not in named for name in names):
        raise ProblemError("program must be what to_cvxpy() of this problem returned, got another one")
    read = [named[name].dual_value for name in names]
    if unknown.value is None or any(value is None for value in read):
        raise ProblemError(f"program must be solved, with dual values, got the status {program.status}")
    U = np.asarray(unknown.value)
    K = U if problem.basis is None else np.asarray(problem.lift(problem.lift(U).T))
    return K, _multipliers(problem, read)


def _multipliers(problem: Statement, read: list[Any]) -> Multipliers:
    """The multipliers, from the dual values of links and constraints; the dual of a link is -y."""
    y = tuple(-np.atleast_1d(value) for value in read[: len(problem.losses)])
    hard = zip(problem.constraints, read[len(problem.losses) :], strict=True)
    return Multipliers(y, tuple(part.project(signed(part, value)) for part, value in hard))


@dataclass(frozen=True, eq=False)
class SDPPlan:
    """Exact SDP; see `build`."""

    problem: Statement
    options: ConicOptions
    model: Model

    def run(self, watch: RunMonitor) -> Claim:
        """Solve the problem, by SCS alone if its point is certified soon."""
        order, options = self.problem.order, self.options
        reader = Reader(lambda: self.model.unknown.value, self._multipliers)
        tries = tries_scs(order, options)
        if not tries:
            return ConicRun(self.problem, self.model.problem, options, reader, watch).claim(order)
        some = replace(options, max_iter=tries)
        quick = ConicRun(self.problem, self.model.problem, some, reader, watch).claim(order, "SCS")
        found = quick.certificate
        certified = found is not None and found.certifies(options.tol)
        if certified or quick.status in (Status.STOPPED, Status.TIME_LIMIT):
            return quick
        watch.trouble = ""
        rest = replace(options, time_limit=None if options.time_limit is None else max(watch.left, ALWAYS))
        sure = ConicRun(self.problem, self.model.problem, rest, reader, watch, quick.iterations).claim(order)
        better = found is None or (sure.certificate is not None and sure.certificate.gap <= found.gap)
        ended = sure.status in (Status.STOPPED, Status.TIME_LIMIT)  # whichever point is kept
        status = sure.status if better or ended else quick.status
        message = f"{quick.message}; {sure.message}"
        return replace(sure if better else quick, status=status, iterations=sure.iterations, message=message)

    def _multipliers(self) -> Multipliers | None:
        read = [link.dual_value for link in self.model.links]
        return None if any(value is None for value in read) else _multipliers(self.problem, read)

    def describe(self) -> str:
        """Sizes and memory."""
        return describe_cones(self.problem, self.options, "primal SDP over K")


def describe_cones(problem: Statement, options: ConicOptions, what: str, cliques: float | None = None) -> str:
    """Sizes of the conic program, and the memory that its solver needs."""
    solver = choose_solver(options.solver, problem.order, cliques)
    size = problem.order * (problem.order + 1) // 2
    megabytes = predicted_bytes(solver, problem.order, cliques) / 1e6
    return (
        f"{what}: one PSD cone of order {problem.order} ({size} unknowns), {problem.n_pairs} loss "
        f"values, {sum(e.functional.size for e in problem.constraints)} constraints, regulariser "
        f"{problem.regularizer.name}; {solver}, about {megabytes:.3g} MB"
    )


def _plan(problem: Statement, options: ConicOptions) -> SDPPlan:
    """Check the solver and its memory, then write the CVXPY problem."""
    choose_solver(options.solver, problem.order)
    return SDPPlan(problem, options, build(problem))


TAKES = Takes(
    losses=("any", "shared"), diagonal=("any", "shared"), regularizers=("any",), basis="yes",
    constraints="yes", beyond=too_many_cones,
)  # fmt: skip
BACKEND = Backend(
    "sdp", "conic", "the exact SDP over K, through CVXPY", TAKES, _plan, ConicOptions, dense_cost
)  # fmt: skip
