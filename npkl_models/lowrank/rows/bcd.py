"""bcd: block coordinate descent on the rows of V, as a backend.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, algorithm 1; squared distances and centred kernels, which their
conclusions name (coloured MVU, minimum volume embedding), by the rows of `apart`.

Centred kernels need no basis here. Squared distances are the same at V and at V - 1m', and so is tr(HCHK)
with H = I - 11'/n, as H1 = 0; it is tr(CK) where K is centred. So with HCH for C the objective f of free
rows has f(V) = f(HV), which is the problem's own at the centred kernel HV(HV)': the infimum over free rows is
that over centred kernels, and centring a minimiser gives one. It needs every value to be a distance.
"""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.linalg.compile import installed
from npkl_models.lowrank.cost import ROW_COMPILED, ROW_NUMPY
from npkl_models.lowrank.factor.rank import starting_factor
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.engine import ROW_LEFT, BCDEngine
from npkl_models.lowrank.rows.sweeps import check_kernel, compilable, sweeping
from npkl_models.lowrank.structure import structure, unbounded_rows
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.engine import EnginePlan
from npkl_models.solve.takes import Takes


@dataclass(frozen=True)
class BCDPlan(EnginePlan):
    """Block coordinate descent, which is coloured and laid out when it begins."""

    options: BCDOptions
    iterations = 20_000

    def engine(self) -> BCDEngine:
        start = starting_factor(self.problem, self.options)
        return BCDEngine(self.problem, structure(self.problem), self.options, start)

    def describe(self) -> str:
        engine = self.engine()
        V = engine.V
        return (
            f"V is {V.shape[0]} x {V.shape[1]}, {engine.sweeper}, "
            f"{engine.pairs.size} pairs, {self.problem.cost.nnz} cost entries; about "
            f"{8e-6 * (6 * V.size + 4 * self.problem.cost.nnz):.3g} MB"
        )


def _plan(problem: Statement, options: BCDOptions) -> BCDPlan:
    """Check that the kernel takes the problem."""
    check_kernel(options.kernel, compilable(problem))
    return BCDPlan(problem, options)


def _cost(problem: Statement) -> Cost:
    fast = installed() and compilable(problem)
    held = problem.cost.data.any()  # else losses alone hold a row, and its own program is ill-conditioned
    return sweeping(problem, (ROW_COMPILED if fast else ROW_NUMPY) if held else ROW_LEFT)


TAKES = Takes(
    losses=("any",),
    diagonal=("quadratic",),
    regularizers=("none", "row norm"),
    basis="centred",
    functionals=("entries", "squared distances"),
    beyond=unbounded_rows,
)
BACKEND = Backend(
    "bcd", "lowrank", "block coordinate descent on the rows of V, certified", TAKES, _plan, BCDOptions, _cost
)  # fmt: skip
