"""The linear loss with tr K^p: the kernel in closed form, from the positive eigenvalues of one matrix.

Source: Zhuang, Tsang & Hoi, JMLR 12, 2011, Props. 1 and 2.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from npkl_models.answer.solution import History, Iterate, Solution, Status, with_history, with_seconds
from npkl_models.model.problem import Problem
from npkl_models.proof.positive import positive_part
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.program import Options, Program, progress_log
from npkl_models.spectral.dual.concave import trace_power


@dataclass(frozen=True, kw_only=True)
class ClosedFormOptions(Options):
    """Options of closed_form: those of every backend.

    ``max_iter`` is a limit on the eigenpairs; past ``time_limit`` Lanczos asks for no more of them.
    """


def supports(problem: Problem) -> str | None:
    """None, or why there is no closed form."""
    R = problem.regularizer
    if R.spectral is None or not R.finite_support:
        got = R.name if R.spectral is None else f"{R.name}, whose penalty at p = 1 is linear"
        return f"needs tr K^p, bounded or (p > 1) penalised, got {got}"
    if problem.equalities:
        return "has no hard equalities"
    for term in problem.terms:
        if term.loss.curvature != 0:
            return f"needs the linear loss, got {term.loss.name}"
    return None


@dataclass(frozen=True, eq=False)
class ClosedFormProgram(Program):
    """One eigendecomposition."""

    options: ClosedFormOptions

    @classmethod
    def compile(cls, problem: Problem, options: ClosedFormOptions) -> ClosedFormProgram:
        """Nothing to set up."""
        return cls(problem, "closed_form", options)

    def solve(self) -> Solution:
        started = time.perf_counter()
        problem, R = self.problem, trace_power(self.problem)
        y = problem.derivatives(np.zeros((problem.n, 1)))
        A = -problem.restrict(problem.slack(y))
        m = problem.n_pairs
        guess = int((np.sqrt(8 * m + 1) - 1) // 2)  # Prop. 4
        deadline = started + (self.options.time_limit or np.inf)
        with progress_log(self.options.verbose):
            part = positive_part(A, guess if R.p > 1 else 1, most=self.options.max_iter, deadline=deadline)
        weights = R.maximiser(part.values) if part.values.size else np.zeros(0)
        kept = weights > 0
        W = part.vectors[:, kept] * np.sqrt(weights[kept])
        V = problem.lift(W) if W.shape[1] else np.zeros((problem.n, 1))
        words = f"{part.values.size} positive eigenvalues"
        if not part.complete:
            words += f"; others up to {part.tail:.2e} were not computed"
        late = self.options.time_limit is not None and time.perf_counter() > deadline
        status = Status.TIME_LIMIT if late and not part.complete else Status.OPTIMAL
        claim = Claim(V, y, status, iterations=1, message=words)
        solution = judge(problem, self.backend, claim, self.options.tol)
        seconds = time.perf_counter() - started
        if solution.V is None:
            return with_seconds(solution, seconds)
        found = solution.certificate
        row = Iterate(1, seconds, found.objective, found.bound, found.relative_gap, V.shape[1])
        return with_history(with_seconds(solution, seconds), History.of([row]))

    def describe(self) -> str:
        order = self.problem.order
        return f"one eigendecomposition of order {order}, about {8e-6 * 5 * order**2:.3g} MB"
