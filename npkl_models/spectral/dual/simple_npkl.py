"""SimpleNPKL: ascent on the dual, an eigendecomposition a step; every iterate carries its own gap.

Source: Zhuang, Tsang & Hoi, "A Family of Simple Non-Parametric Kernel Learning Algorithms", JMLR 12, 2011,
sections 4 and 5. Their rule is a projected gradient step; ours, the default, is bounded quasi-Newton.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from npkl_models.answer.solution import History, Iterate, Solution, Status, with_seconds
from npkl_models.certify.certificate import certify, relative_gap
from npkl_models.errors import UnsupportedError, unknown
from npkl_models.linalg import Array, norm_bound
from npkl_models.model.problem import Problem
from npkl_models.proof.positive import FULL
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.program import IterativeOptions, Program, logger, progress_log
from npkl_models.spectral.dual.concave import Dual, DualPoint
from npkl_models.spectral.dual.proximal import GROWTH, ProximalDual, inner_ascent

MAX_EVALUATIONS = 3_000
LOG_EVERY = 10
DIRECT = 50  # evaluations of the dual itself before proximal points take over
MEMORY = 30  # pairs of the quasi-Newton matrix


@dataclass(frozen=True, kw_only=True)
class SimpleNPKLOptions(IterativeOptions):
    """Options of simple_npkl; an iteration is an eigendecomposition.

    Parameters
    ----------
    rule : {"quasi_newton", "accelerated", "gradient"}
        Bounded L-BFGS; Nesterov's accelerated projected gradient with backtracking; or the source's projected
        gradient, with the step of its Prop. 6 for a penalty and p = 2, and 1/t otherwise.
    """

    rule: str = "quasi_newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in RULES:
            raise unknown("rule", self.rule, RULES)


def supports(problem: Problem) -> str | None:
    """None, or why simple_npkl cannot take this problem."""
    R = problem.regularizer.spectral
    if R is None:
        return f"needs tr K^p, bounded or penalised, got {problem.regularizer.name}"
    if R.p == 1:
        return "needs p > 1, or the dual has kinks; closed_form takes p = 1 with the linear loss"
    return None


class _Done(Exception):
    """The ascent has ended, with this status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


@dataclass
class Ascent:
    """Evaluations of the dual, recorded; the best bound and the best kernel among them."""

    dual: Dual
    options: SimpleNPKLOptions
    started: float
    rows: list[Iterate] = field(default_factory=list)
    best: DualPoint | None = None  # the highest bound
    kernel: DualPoint | None = None  # the lowest objective
    offered: bool = False  # the kernel came from `offer`

    @property
    def deadline(self) -> float:
        """In seconds of the clock, inf without a limit."""
        return self.started + (self.options.time_limit or np.inf)

    def offer(self, V: Array) -> None:
        """A feasible kernel from elsewhere, kept if it is the best."""
        objective = self.dual.problem.objective_of_factor(V)
        assert self.kernel is not None
        if self.dual.problem.equalities or objective < self.kernel.objective:
            violation = self.dual.violation(V)
            self.kernel = replace(self.kernel, V=V, objective=objective, violation=violation, rank=V.shape[1])
            self.offered = True

    def __call__(self, x: Array) -> DualPoint:
        """The dual at x; raises `_Done` at the target or a limit."""
        if not np.isfinite(x).all():
            raise _Done(Status.FAILED)
        point, options = self.dual.at(x), self.options
        if not (
            np.isfinite(point.bound) and np.isfinite(point.objective) and np.isfinite(point.gradient).all()
        ):
            raise _Done(Status.FAILED)
        if self.best is None or point.bound > self.best.bound:
            self.best = point
        free = not self.dual.problem.equalities
        if self.kernel is None or (free and point.objective < self.kernel.objective):
            self.kernel = point
        if not free and not self.offered:
            self.kernel = point  # the objective means something only as the equalities are met
        seconds = time.perf_counter() - self.started
        shown = self.kernel if self.offered else point
        row = Iterate(
            self.dual.evaluations, seconds, shown.objective, point.bound,
            relative_gap(shown.objective, point.bound), shown.rank,
        )  # fmt: skip
        self.rows.append(row)
        if len(self.rows) % LOG_EVERY == 0:
            logger.info(
                "eigendecomposition %d: objective %.10g, bound %.10g, rank %d", row.iteration, row.objective,
                row.bound, row.rank,
            )  # fmt: skip
        gap = self.kernel.objective - self.best.bound
        size = 1 + abs(self.kernel.objective) + abs(self.best.bound)
        if abs(gap) <= options.tol * size and self.kernel.violation <= options.tol:
            raise _Done(Status.OPTIMAL)
        if options.callback is not None and options.callback(row._replace(V=point.V)):
            raise _Done(Status.STOPPED)
        if options.time_limit is not None and seconds > options.time_limit:
            raise _Done(Status.TIME_LIMIT)
        if self.dual.evaluations >= (options.max_iter or MAX_EVALUATIONS):
            raise _Done(Status.ITERATION_LIMIT)
        return point


def quasi_newton(ascent: Ascent, x: Array) -> None:
    """L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995); proximal points once it has had its share of evaluations."""
    bounds = list(zip(ascent.dual.lower, ascent.dual.upper, strict=True))

    def downhill(x: Array) -> tuple[float, Array]:
        point = ascent(x)
        return -point.bound, -point.gradient

    options = {"maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0, "maxiter": DIRECT, "maxfun": DIRECT}
    minimize(downhill, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    assert ascent.best is not None
    proximal_points(ascent, ascent.best.x)


def proximal_points(ascent: Ascent, x: Array) -> None:
    """Proximal problems in turn; see `proximal`."""
    assert ascent.kernel is not None
    dual, problem = ascent.dual, ascent.dual.problem
    W, singular, _ = np.linalg.svd(problem.drop(ascent.kernel.V), full_matrices=False)
    mu = singular**2
    reach = dual.R.bound ** (1 / dual.R.p) if dual.R.bound else 1.0
    sigma = max(float(np.linalg.norm(mu)), 1e-3 * reach) / max(1.0, norm_bound(problem.cost))
    while True:
        step = ProximalDual(dual, W, mu, sigma)
        x = inner_ascent(step, x, ascent.deadline)
        W, mu, sigma = step.vectors, step.weights, GROWTH * sigma
        ascent.offer(step.factor())
        ascent(x)


def accelerated(ascent: Ascent, x: Array) -> None:
    """Nesterov's method with a backtracking step and restarts where the bound falls."""
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


def gradient(ascent: Ascent, x: Array) -> None:
    """The source's rule: step 1 / (m / G + 1 / C) (Prop. 6, penalty and p = 2), 1 / t otherwise."""
    problem = ascent.dual.problem
    R, point, t = ascent.dual.R, ascent(x), 0
    curvature = max(float(np.max(1 / (2 * term.weight))) for term in problem.terms)
    while True:
        t += 1
        step = 1.0 / t
        if R.penalty is not None and R.p == 2:
            step = 1 / (x.size / R.penalty + curvature)
        new = ascent(ascent.dual.project(point.x + step * point.gradient))
        if np.array_equal(new.x, point.x):
            return
        point = new


RULES: dict[str, Callable[[Ascent, Array], None]] = {
    "quasi_newton": quasi_newton,
    "accelerated": accelerated,
    "gradient": gradient,
}


@dataclass(frozen=True, eq=False)
class SimpleNPKLProgram(Program):
    """Dual ascent, ready to run."""

    options: SimpleNPKLOptions

    @classmethod
    def compile(cls, problem: Problem, options: SimpleNPKLOptions) -> SimpleNPKLProgram:
        """Check the start."""
        if isinstance(options.start, np.ndarray):
            raise UnsupportedError("simple_npkl starts from a Solution with multipliers, got an array")
        return cls(problem, "simple_npkl", options)

    def solve(self) -> Solution:
        dual, options = Dual(self.problem), self.options
        given = getattr(options.start, "multipliers", None)
        x = dual.first() if given is None else dual.join(given)
        ascent = Ascent(dual, options, time.perf_counter())
        status = Status.LOCALLY_SOLVED
        quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")
        with progress_log(options.verbose), quiet:
            try:
                RULES[options.rule](ascent, x)
            except _Done as done:
                status = done.status
            except KeyboardInterrupt:
                if ascent.kernel is None:  # not even one point to return
                    raise
                status = Status.STOPPED
            except (np.linalg.LinAlgError, ArithmeticError):
                status = Status.FAILED
            return self._answer(ascent, status)

    def _answer(self, ascent: Ascent, status: Status) -> Solution:
        if ascent.best is None or ascent.kernel is None:
            return judge(self.problem, self.backend, Claim(None, None, status), self.options.tol)
        problem, options = self.problem, self.options
        y = ascent.dual.split(ascent.best.x)
        V = ascent.kernel.V
        method = "cholesky" if options.rigour == "proved" and problem.order > FULL else "auto"
        certificate = None
        if np.isfinite(problem.objective_of_factor(V)) and np.isfinite(ascent.best.x).all():
            certificate = certify(problem, V, y, kind="factor", tol=options.tol, method=method)
        claim = Claim(
            V, y, status, ascent.kernel.objective, ascent.dual.evaluations, History.of(ascent.rows),
            f"{ascent.dual.evaluations} eigendecompositions", certificate=certificate,
        )  # fmt: skip
        solution = judge(
            problem, self.backend, claim, options.tol, rigour=options.rigour, build_time=self.build_time
        )
        return with_seconds(solution, time.perf_counter() - ascent.started)

    def describe(self) -> str:
        order = self.problem.order
        return (
            f"{Dual(self.problem).lower.size} dual variables; an eigendecomposition of order {order} an "
            f"iteration, about {8e-6 * 5 * order**2:.3g} MB"
        )
