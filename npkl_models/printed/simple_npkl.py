"""SimpleNPKL as it is printed: projected gradient ascent on the dual.

Source: Zhuang, Tsang & Hoi, A Family of Simple Non-Parametric Kernel Learning Algorithms, JMLR 12, 2011. This
is their algorithm 1. The positive eigenpairs of A = -S(y) give the kernel K(y) in closed form (Props. 1 and
2), and a step along the gradient of eq. (25) follows. K(y) is feasible, so every iterate has a bound and an
objective. The source uses neither as a stopping rule, and stops after at most 51 iterations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import chosen
from npkl_models.linalg import Array, Matrix
from npkl_models.model.statement import Statement
from npkl_models.proof.positive import PositivePart, positive_part
from npkl_models.solve.backend import PRINTED, Backend
from npkl_models.solve.options import IterativeOptions
from npkl_models.spectral.concave import Dual, printed_rank
from npkl_models.spectral.simple_npkl import TAKES, Ascent, AscentPlan, refuse_array

EIGENPAIRS = ("all", "pataki")


@dataclass(frozen=True, kw_only=True)
class PrintedSimpleNPKLOptions(IterativeOptions):
    """Options of printed_simple_npkl; each iteration is an eigendecomposition.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of eigendecompositions, 51 by default.
    start : Solution, optional
        Solution whose multipliers are the first point.
    eigenpairs : {"all", "pataki"}
        Eigenpairs of the kernel. "all" takes all with a positive eigenvalue. "pataki" takes the positive ones
        among the r largest that Lanczos finds, where r is the rank of Prop. 4. If there are more positive
        eigenvalues, the gap stays open.
    """

    eigenpairs: str = "pataki"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen("eigenpairs", self.eigenpairs, EIGENPAIRS)


class TruncatedDual(Dual):
    """The dual with K(y) from at most the r largest eigenpairs, where r is the rank of Prop. 4.

    The bound counts every other eigenvalue as the smallest one found, so that it remains a bound.
    """

    def __init__(self, problem: Statement, deadline: float = np.inf) -> None:
        super().__init__(problem, deadline)
        self.most = printed_rank(problem)

    def positive_part(self, A: Matrix) -> PositivePart:
        return positive_part(A, self.most, self.begun_at, self.most, self.deadline, lanczos=True)


@dataclass(frozen=True)
class PrintedSimpleNPKLPlan(AscentPlan):
    """The plan of algorithm 1."""

    options: PrintedSimpleNPKLOptions
    evaluations = 51

    def dual(self, deadline: float) -> Dual:
        whole = self.options.eigenpairs == "all"
        return Dual(self.problem, deadline) if whole else TruncatedDual(self.problem, deadline)

    def ascend(self, ascent: Ascent, x: Array) -> None:
        """Steps of 1 / (m / G + 1 / C) for a penalty and p = 2 (Prop. 6), of 1 / t otherwise."""
        R, project = ascent.dual.R, ascent.dual.project
        curvatures = (float(np.max(1 / (2 * term.weight))) for term in self.problem.losses)
        curvature = max(curvatures, default=0.0)
        point, t = ascent(x), 0
        while True:
            t += 1
            step = 1.0 / t
            if R.penalty is not None and R.p == 2:
                step = 1 / (x.size / R.penalty + curvature)
            new = ascent(project(point.x + step * point.gradient))
            if np.array_equal(new.x, point.x):
                return
            point = new

    def counted(self, evaluations: int) -> str:
        words = super().counted(evaluations)
        if self.options.eigenpairs == "all":
            return words
        return f"{words} of {printed_rank(self.problem)} pairs at most (Prop. 4)"


def _plan(problem: Statement, options: PrintedSimpleNPKLOptions) -> PrintedSimpleNPKLPlan:
    """Check the start."""
    refuse_array(options.start)
    return PrintedSimpleNPKLPlan(problem, options)


BACKEND = Backend(
    "printed_simple_npkl", PRINTED, "SimpleNPKL as Zhuang, Tsang & Hoi (2011) print it, their algorithm 1",
    TAKES, _plan, PrintedSimpleNPKLOptions,
)  # fmt: skip
