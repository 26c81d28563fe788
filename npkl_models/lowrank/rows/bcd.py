"""bcd: block coordinate descent on the rows of V, as a backend.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, algorithm 1. Their conclusions name squared distances and centred
kernels (coloured MVU, minimum volume embedding). `compiled` has the row problems, and `compiled_compare` has
steps for comparisons of distances, which the source does not name.

Centred kernels need no basis here if every value is a squared distance. Squared distances are the same at V
and at V - 1m'. So is tr(HCHK) with H = I - 11'/n, as H1 = 0. For a centred K, tr(HCHK) equals tr(CK). With
HCH in place of C, the objective f of free rows has f(V) = f(HV), and f(HV) is the problem's objective at the
centred kernel HV(HV)'. Thus the infimum over free rows is the infimum over centred kernels, and a centred
minimiser is a minimiser over centred kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.lowrank.comparisons import compares, comparisons, refused
from npkl_models.lowrank.cost import sweeping_cost
from npkl_models.lowrank.descent import FactorPlan
from npkl_models.lowrank.factor.rank import starting_factor
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.engine import BCDEngine
from npkl_models.lowrank.structure import structure, unbounded_rows
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.takes import Takes


@dataclass(frozen=True)
class BCDPlan(FactorPlan):
    """The plan of block coordinate descent."""

    options: BCDOptions
    iterations = 20_000

    def engine(self) -> BCDEngine:
        problem, cold = self.problem, self.options.start is None
        pairs = comparisons(problem) if compares(problem) else structure(problem)
        return BCDEngine(problem, pairs, self.options, starting_factor(problem, self.options), cold)


def _beyond(problem: Statement) -> str | None:
    return refused(problem) if compares(problem) else unbounded_rows(problem)


TAKES = Takes(
    losses=("any",),
    diagonal=("quadratic",),
    constraints="row norms",
    regularizers=("none",),
    basis="centred",
    functionals=("entries", "squared distances", "distance differences"),
    beyond=_beyond,
)
BACKEND = Backend(
    "bcd", "lowrank", "block coordinate descent on the rows of V, certified", TAKES, BCDPlan, BCDOptions,
    sweeping_cost,
)  # fmt: skip
