"""The linear loss with tr K^p: the kernel in closed form, from the positive eigenvalues of one matrix.

Source: Zhuang, Tsang & Hoi, JMLR 12, 2011, Props. 1 and 2.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.model.statement import Statement
from npkl_models.proof.positive import positive_part
from npkl_models.solve.backend import Backend
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import Options
from npkl_models.solve.takes import Takes
from npkl_models.solve.watch import RunMonitor
from npkl_models.spectral.concave import POWERS, printed_rank, spectral_cost, trace_power


@dataclass(frozen=True, kw_only=True)
class ClosedFormOptions(Options):
    """Options of closed_form, which are the options of every backend.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of eigenpairs of Lanczos, half of the order by default.
    time_limit : float, optional
        Time in seconds after which Lanczos computes no more eigenpairs.
    """


@dataclass(frozen=True)
class ClosedFormPlan:
    """The plan of closed_form: one eigendecomposition."""

    problem: Statement
    options: ClosedFormOptions

    def run(self, watch: RunMonitor) -> Claim:
        """Compute the kernel, and its certificate."""
        problem, R = self.problem, trace_power(self.problem)
        y = problem.derivatives(np.zeros((problem.n, 1)))
        A = -problem.restrict(problem.slack(y))
        deadline = watch.deadline
        part = positive_part(
            A, printed_rank(problem) if R.p > 1 else 1, most=self.options.max_iter, deadline=deadline
        )
        weights = R.maximiser(part.values) if part.values.size else np.zeros(0)
        kept = weights > 0
        W = part.vectors[:, kept] * np.sqrt(weights[kept])
        V = problem.lift(W) if W.shape[1] else np.zeros((problem.n, 1))
        words = f"{part.values.size} positive eigenvalues"
        if not part.complete:
            words += f"; others up to {part.tail:.2e} were not computed"
        found = None
        if np.isfinite(problem.objective_of_factor(V)):
            found = watch.certify(problem, V, y)
            watch.record(1, found.objective, found.bound, found.relative_gap, V.shape[1])
        late = time.perf_counter() > deadline and not part.complete
        stopped = watch.heed(V) if found is not None else None
        status = stopped if stopped is Status.STOPPED else Status.TIME_LIMIT if late else Status.OPTIMAL
        return Claim(V, y, status, iterations=1, message=words, certificate=found)

    def describe(self) -> str:
        """Describe the sizes and the memory."""
        order = self.problem.order
        return f"one eigendecomposition of order {order}, about {8e-6 * 5 * order**2:.3g} MB"


TAKES = Takes(losses=("linear",), regularizers=("trace power",), powers=POWERS, basis="yes")
BACKEND = Backend(
    "closed_form", "spectral", "the linear loss with tr K^p by one eigendecomposition", TAKES, ClosedFormPlan,
    ClosedFormOptions, lambda problem: spectral_cost(problem, 1),
)  # fmt: skip
