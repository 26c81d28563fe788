"""SimpleNPKL: ascent on the dual with one eigendecomposition per step; every iterate has its own gap.

Source: Zhuang, Tsang & Hoi, "A Family of Simple Non-Parametric Kernel Learning Algorithms", JMLR 12, 2011,
sections 4 and 5. Their rule is a projected gradient step (`npkl_models.printed.simple_npkl`). The rule here
is a quasi-Newton step within the bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.certificates.certificate import relative_gap
from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array, norm_bound
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.proof.positive import FULL
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.takes import Takes
from npkl_models.solve.watch import Ended, RunMonitor
from npkl_models.spectral.concave import POWERS, Dual, DualPoint, spectral_cost
from npkl_models.spectral.proximal import GROWTH, LARGEST, VAST, ProximalDual, inner_ascent

MAX_EVALUATIONS = 3_000
USUAL, KINKED = 20, 600  # predicted eigendecompositions for a bound that holds, and for p near 1
NEARLY_ONE = 1.05  # below this p, the dual nearly has kinks
LARGEST_PROGRAM = 400  # the largest number of multipliers for dense quadratic programs
DIRECT = 50  # evaluations of the dual before proximal points take over
MEMORY = 30  # pairs of vectors in the quasi-Newton matrix


@dataclass(frozen=True, kw_only=True)
class SimpleNPKLOptions(IterativeOptions):
    """Options of simple_npkl; each iteration is an eigendecomposition.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of eigendecompositions, 3,000 by default.
    start : Solution, optional
        Solution whose multipliers are the first point.
    """


class Ascent:
    """The evaluations of the dual in one run, with the best bound and the best kernel."""

    def __init__(self, dual: Dual, options: IterativeOptions, watch: RunMonitor, most: int) -> None:
        self.dual, self.options, self.watch = dual, options, watch
        self.most = options.max_iter or most
        self.best = self.kernel = dual.nothing()  # the highest bound, the lowest objective
        self.offered = False  # the kernel came from `offer`
        self.one = spectral_cost(dual.problem, 1).seconds

    def offer(self, V: Array) -> None:
        """Offer a kernel from a proximal problem; it is kept if it is better or if there are constraints."""
        objective = self.dual.problem.objective_of_factor(V)
        if self.dual.problem.constraints or objective < self.kernel.objective:
            violation = self.dual.violation(V)
            self.kernel = replace(self.kernel, V=V, objective=objective, violation=violation, rank=V.shape[1])
            self.offered = True

    def __call__(self, x: Array) -> DualPoint:
        """Evaluate the dual at x; raise `Ended` if the tolerance or a limit is reached."""
        if not np.isfinite(x).all():
            raise Ended(Status.FAILED)
        point = self.dual.at(x)
        if not point.finite:
            raise Ended(Status.FAILED)
        self._keep(point)
        best, kernel = self.best, self.kernel
        shown = kernel if self.offered else point
        gap = relative_gap(shown.objective, point.bound, self.dual.problem.size())
        self.watch.record(self.dual.evaluations, shown.objective, point.bound, gap, shown.rank)
        reached = (
            abs(relative_gap(kernel.objective, best.bound, self.dual.problem.size())) <= self.options.tol
        )
        status = Status.OPTIMAL if reached and kernel.violation <= self.options.tol else None
        status = status or self.watch.heed(point.V, self.dual.evaluations * self.one)
        if status is None and self.dual.evaluations >= self.most:
            status = Status.ITERATION_LIMIT
        if status is not None:
            raise Ended(status)
        return point

    def downhill(self, x: Array) -> tuple[float, Array]:
        """Minus the bound at the point of the domain nearest to x, and minus its gradient."""
        point = self(self.dual.project(x))
        return -point.bound, -point.gradient

    def _keep(self, point: DualPoint) -> None:
        if point.bound > self.best.bound:
            self.best = point
        better = point.objective < self.kernel.objective
        if self.dual.problem.constraints:  # violated constraints make the objective meaningless
            better = not self.offered
        if better:
            self.kernel = point


def quasi_newton(ascent: Ascent, x: Array) -> None:
    """L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995) for `DIRECT` evaluations, then proximal points.

    At p = 1, where the dual has kinks, proximal points run at once. If multipliers share a weight, it is
    `within_simplices`.
    """
    from scipy.optimize import minimize

    if ascent.dual.R.p == 1:
        ascent(x)
        proximal_points(ascent, x)
        return
    if ascent.dual.tied:
        within_simplices(ascent, x)
        return
    bounds = list(zip(ascent.dual.lower, ascent.dual.upper, strict=True))
    options = {"maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0, "maxiter": DIRECT, "maxfun": DIRECT}
    minimize(ascent.downhill, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    proximal_points(ascent, ascent.best.x)


def within_simplices(ascent: Ascent, x: Array) -> None:
    """Sequential quadratic programming (Kraft 1988) on the simplices, then Nesterov's method.

    Rounding may move the points of the first method off the simplices, so they are projected. With many
    multipliers, only Nesterov's method runs.
    """
    from scipy.optimize import minimize

    dual = ascent.dual
    rows = np.zeros((len(dual.tied), x.size))
    for row, (part, _) in zip(rows, dual.tied, strict=True):
        row[part] = -1.0
    totals = np.array([total for _, total in dual.tied])
    if x.size <= LARGEST_PROGRAM:
        minimize(
            ascent.downhill, x, jac=True, method="SLSQP", options={"ftol": 0.0, "maxiter": DIRECT},
            bounds=list(zip(dual.lower, dual.upper, strict=True)),
            constraints={"type": "ineq", "fun": lambda x: totals + rows @ x, "jac": lambda x: rows},
        )  # fmt: skip
    accelerated(ascent, ascent.best.x if np.isfinite(ascent.best.bound) else x)


def proximal_points(ascent: Ascent, x: Array) -> None:
    """Solve proximal problems in turn, until `Ended` is raised; see `npkl_models.spectral.proximal`."""
    dual, problem = ascent.dual, ascent.dual.problem
    W, singular, _ = np.linalg.svd(problem.drop(ascent.kernel.V), full_matrices=False)
    mu = singular**2
    reach = dual.R.bound ** (1 / dual.R.p) if dual.R.bound else 1.0
    sigma = max(float(np.linalg.norm(mu)), 1e-3 * reach) / max(1.0, norm_bound(problem.cost))
    most = min(LARGEST * sigma, VAST)
    while True:
        step = ProximalDual(dual, W, mu, sigma)
        x = inner_ascent(step, x)
        W, mu = step.vectors, step.weights
        ascent.offer(step.factor())
        ascent(x)
        sigma = min(GROWTH * sigma, most)


def accelerated(ascent: Ascent, x: Array) -> None:
    """Nesterov's method with a backtracking step; it restarts when the bound falls."""
    step, momentum = 1.0, 1.0
    here = ahead = ascent(x)
    while True:
        while True:
            new = ascent(ascent.dual.project(ahead.x + step * ahead.gradient))
            move = new.x - ahead.x
            model = ahead.bound + float(ahead.gradient @ move) - float(move @ move) / (2 * step)
            if new.bound >= model - 1e-14 * abs(model) or step < 1e-14:
                break
            step *= 0.5
        if new.bound < here.bound:
            if ahead is here:
                return
            ahead, momentum = here, 1.0
            continue
        following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        trial = ascent.dual.project(new.x + (momentum - 1) / following * (new.x - here.x))
        here, momentum, step = new, following, 1.2 * step
        ahead = new if np.array_equal(trial, new.x) else ascent(trial)


@dataclass(frozen=True)
class AscentPlan(ABC):
    """Base class of plans of dual ascent."""

    problem: Statement
    options: IterativeOptions
    evaluations: ClassVar[int]  # limit on the evaluations if max_iter is None

    @abstractmethod
    def ascend(self, ascent: Ascent, x: Array) -> None:
        """Ascend from x, until `Ended` is raised or the rule gains nothing more."""

    def dual(self, deadline: float) -> Dual:
        """The dual of the problem."""
        return Dual(self.problem, deadline)

    def run(self, watch: RunMonitor) -> Claim:
        """Ascend until the gap is at most the tolerance, or a limit is reached."""
        options = self.options
        dual = self.dual(watch.deadline)
        given = getattr(options.start, "multipliers", None)
        x = dual.joined(given) if isinstance(given, Multipliers) else None
        x = dual.first() if x is None else x
        ascent = Ascent(dual, options, watch, self.evaluations)

        def work() -> Status:
            self.ascend(ascent, x)
            return Status.LOCALLY_SOLVED

        return self._claim(ascent, watch.attempt(work), watch)

    def _claim(self, ascent: Ascent, status: Status, watch: RunMonitor) -> Claim:
        if not np.isfinite(ascent.best.bound):
            return Claim(None, None, status)
        problem, V, x = self.problem, ascent.kernel.V, ascent.best.x
        y = ascent.dual.split(x)
        certificate = None
        if np.isfinite(problem.objective_of_factor(V)) and np.isfinite(x).all():
            proof = watch.rigour == "proved" and problem.order > FULL
            certificate = watch.certify(problem, V, y, method="cholesky" if proof else "auto")
        objective, count = ascent.kernel.objective, ascent.dual.evaluations
        return Claim(V, y, status, objective, count, self.counted(count), certificate=certificate)

    def counted(self, evaluations: int) -> str:
        """The work in words."""
        return f"{evaluations} eigendecompositions"

    def describe(self) -> str:
        """Describe the sizes and the memory."""
        order = self.problem.order
        return (
            f"{Dual(self.problem).lower.size} dual variables; an eigendecomposition of order {order} an "
            f"iteration, about {8e-6 * 5 * order**2:.3g} MB"
        )


@dataclass(frozen=True)
class SimpleNPKLPlan(AscentPlan):
    """The plan of simple_npkl."""

    evaluations = MAX_EVALUATIONS

    def ascend(self, ascent: Ascent, x: Array) -> None:
        quasi_newton(ascent, x)


def refuse_array(start: object) -> None:
    """Refuse a start without multipliers."""
    if isinstance(start, np.ndarray):
        raise UnsupportedError("simple_npkl starts from a Solution with multipliers, got an array")


def _plan(problem: Statement, options: SimpleNPKLOptions) -> SimpleNPKLPlan:
    """Check the start."""
    refuse_array(options.start)
    return SimpleNPKLPlan(problem, options)


def _tied(problem: Statement) -> str | None:
    """The reason against losses that tie values to each other at p = 1, or None.

    Such a loss makes the domain a simplex, which proximal points do not support.
    """
    R = problem.regularizer.spectral
    if R is not None and R.p == 1 and not all(term.loss.separable for term in problem.losses):
        return "needs p > 1 for a loss that ties its values to each other"
    return None


def _cost(problem: Statement) -> Cost:
    R = problem.regularizer.spectral
    return spectral_cost(problem, KINKED if R is not None and R.p < NEARLY_ONE else USUAL)


TAKES = Takes(
    losses=("any", "shared"), diagonal=("any", "shared"), regularizers=("trace power",), powers=POWERS,
    basis="yes", constraints="yes", beyond=_tied,
)  # fmt: skip
BACKEND = Backend(
    "simple_npkl", "spectral", "dual ascent, an eigendecomposition a step, certified", TAKES, _plan,
    SimpleNPKLOptions, _cost,
)  # fmt: skip
