"""BCD-NPKL, the baseline of BCDKL: sweeps over the points with pairs, after the other points are eliminated.

Source: Hu, Wang & Chen, BCDNPKL, ICML 2011, in the form of eqs. (35)-(37) of Hu & Kwok, IEEE TNNLS 26(9),
2015. The optimal rows of the points U without pairs are V_U = -C_UU^-1 C_UL V_L. With these rows, the cost of
the points L with pairs is the Schur complement C_LL - C_LU C_UU^-1 C_UL, which is formed as a dense matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.linalg import Array
from npkl_models.lowrank.factor.rank import starting_factor
from npkl_models.lowrank.structure import structure
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.printed.bcdkl import SWEEPS, BCDKLEngine, SweepOptions, beyond
from npkl_models.printed.rows import FreeRows
from npkl_models.solve.backend import PRINTED, Backend
from npkl_models.solve.engine import Engine
from npkl_models.solve.engine_plan import EnginePlan
from npkl_models.solve.takes import Takes


@dataclass(frozen=True, kw_only=True)
class BCDNPKLOptions(SweepOptions):
    """Options of printed_bcd_npkl."""


class BCDNPKLEngine(Engine):
    """Sweeps of algorithm 1 over the smaller problem; the rows of all points follow from its rows."""

    def __init__(self, problem: Statement, options: BCDNPKLOptions, V: Array) -> None:
        self.free = FreeRows(problem, structure(problem))
        inner = self.free.reduced(problem)
        self.inner = BCDKLEngine(inner, structure(inner), options, V[self.free.held])
        self._expand()

    def iterate(self) -> None:
        self.inner.iterate()
        self._expand()

    def _expand(self) -> None:
        """The rows of all points by eq. (37); the smaller problem has the same objective."""
        inner = self.inner
        self.V, self.objective, self.residual = self.free.expand(inner.V), inner.objective, inner.residual
        self.measured, self.met = inner.measured, inner.met

    def multipliers(self) -> Multipliers:
        return self.inner.multipliers()


@dataclass(frozen=True)
class BCDNPKLPlan(EnginePlan):
    """The plan of the elimination and the sweeps; `engine` sets them up."""

    options: BCDNPKLOptions
    iterations = SWEEPS

    def engine(self) -> BCDNPKLEngine:
        return BCDNPKLEngine(self.problem, self.options, starting_factor(self.problem, self.options))

    def describe(self) -> str:
        free = FreeRows(self.problem, structure(self.problem))
        r, n = starting_factor(self.problem, self.options).shape[1], free.held.size
        words = f"{free.free.size} points eliminated; V is {n} x {r}, a dense cost"
        return f"{words}; about {8e-6 * n * n:.3g} MB"


TAKES = Takes(
    losses=("any",), diagonal=("quadratic",), regularizers=("none",), functionals=("entries",), beyond=beyond
)
BACKEND = Backend(
    "printed_bcd_npkl", PRINTED, "BCD-NPKL, eqs. (35)-(37) of Hu & Kwok (2015)", TAKES, BCDNPKLPlan,
    BCDNPKLOptions,
)  # fmt: skip
