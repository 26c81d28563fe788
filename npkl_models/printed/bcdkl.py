"""BCDKL as it is printed, sweeps over the rows of V, each in a new order; and BCD-NPKL, its baseline.

Source: Hu & Kwok, Scalable Nonparametric Low-Rank Kernel Learning Using Block Coordinate Descent, IEEE TNNLS
26(9), 2015. This is their algorithm 1 on the rows v_i of V (the paper writes columns). Each sweep has a new
order. First the rows of points with pairs are minimised one by one. Then the other rows follow, one by one by
eq. (13) or all at once by eq. (17). Smooth losses use the row minimisers of `npkl_models.lowrank.rows`. The
hinge uses the row program (21)-(22). Its fixed points need not be minima, since theorem 1 of the source
requires differentiable losses.

BCD-NPKL sweeps over the points with pairs, after the other points are eliminated: Hu, Wang & Chen, BCDNPKL,
ICML 2011, in the form of eqs. (35)-(37). The optimal rows of the points U without pairs are
V_U = -C_UU^-1 C_UL V_L. With these rows, the cost of the points L with pairs is the Schur complement
C_LL - C_LU C_UU^-1 C_UL, which is formed as a dense matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from npkl_models.certificates.recover import recover_multipliers
from npkl_models.errors import UnsupportedError, chosen
from npkl_models.linalg import Array, frobenius
from npkl_models.lowrank.factor.rank import starting_factor
from npkl_models.lowrank.options import BCDOptions, positive
from npkl_models.lowrank.rows import bcd
from npkl_models.lowrank.rows.engine import BCDEngine
from npkl_models.lowrank.structure import Structure, structure
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.printed import PrintedFactorOptions
from npkl_models.printed.rows import FreeRows, ShuffledSweeper
from npkl_models.solve.backend import PRINTED, Backend
from npkl_models.solve.engine import Engine
from npkl_models.solve.engine_plan import EnginePlan
from npkl_models.solve.takes import Takes

UPDATES = ("rows", "step", "block")
SWEEPS = 1000  # itermax of the source


@dataclass(frozen=True, kw_only=True)
class SweepOptions(PrintedFactorOptions):
    """Options of the printed sweeps.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of sweeps, 1,000 by default.
    epsilon : float
        Tolerance: the run ends once a sweep changes V by at most this share of its norm.
    """

    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("epsilon", self.epsilon)


@dataclass(frozen=True, kw_only=True)
class BCDKLOptions(SweepOptions):
    """Options of printed_bcdkl.

    Parameters
    ----------
    unlabelled : {"rows", "step", "block"}
        Update of the rows of points without pairs. "rows" updates one by one, eq. (13). "step" takes one step
        of eq. (17) for all. "block" takes the fixed point of eq. (17), a sparse linear system. "step" and
        "block" do not support row norms.
    """

    unlabelled: str = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen("unlabelled", self.unlabelled, UPDATES)


class BCDKLEngine(BCDEngine):
    """Algorithm 1; one iteration is one sweep."""

    patience = np.inf  # the printed criterion alone ends it

    def __init__(
        self, problem: Statement, pairs: Structure, options: SweepOptions, V: Array, unlabelled: str = "rows"
    ) -> None:
        self.epsilon, self.unlabelled = options.epsilon, unlabelled
        self.others = FreeRows(problem, pairs)
        seed = options.random_state
        plain = BCDOptions(rank=options.rank, random_state=seed, extrapolation=False, newton=False)
        super().__init__(problem, pairs, plain, V)

    def make_sweeper(self) -> ShuffledSweeper:
        seed, alone = self.options.random_state, self.unlabelled != "rows"
        return ShuffledSweeper(self.problem, self.pairs, self.model, seed, alone)

    def step(self) -> None:
        """Lines 5 to 14 of algorithm 1."""
        before = self.V.copy()
        measured = self.sweeper.run(self.V)
        if self.unlabelled == "step":
            self.others.step(self.V)
        elif self.unlabelled == "block":
            self.others.block(self.V)
        own = self.unlabelled == "rows" and self.model.smooth
        self.work += self.sweep_seconds()
        if own:
            self._from_sweep(*measured)
        else:
            self.merit = self._evaluate()
        change = float(frobenius(self.V - before) / max(frobenius(self.V), 1e-300))
        if not self.model.smooth:
            self.residual = change
        self.measured, self.met = {"change": change}, change <= self.epsilon

    def dual_point(self) -> Multipliers:
        return super().dual_point() if self.model.smooth else recover_multipliers(self.problem, self.V)


@dataclass(frozen=True)
class BCDKLPlan(EnginePlan):
    """The plan of algorithm 1; `engine` sets it up."""

    options: BCDKLOptions
    iterations = SWEEPS

    def engine(self) -> BCDKLEngine:
        start, pairs = starting_factor(self.problem, self.options), structure(self.problem)
        return BCDKLEngine(self.problem, pairs, self.options, start, self.options.unlabelled)

    def describe(self) -> str:
        engine = self.engine()
        n, r = engine.V.shape
        count = engine.others.free.size
        return f"V is {n} x {r}, {engine.sweeper}; {count} points without pairs, by {self.options.unlabelled}"


def _plan(problem: Statement, options: BCDKLOptions) -> BCDKLPlan:
    """Check that the options fit the problem."""
    if problem.constraints and options.unlabelled != "rows":
        raise UnsupportedError(
            f"unlabelled must be 'rows' for a problem with row norms, got {options.unlabelled!r}"
        )
    return BCDKLPlan(problem, options)


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


def _beyond(problem: Statement) -> str | None:
    """The reason why bcd refuses a problem, or why a row has no program; or None.

    A row has no program if there is a kink beside a quartic loss or a bound on the row.
    """
    reason = bcd.TAKES.beyond(problem)
    if reason is not None or all(term.loss.smooth for term in problem.losses):
        return reason
    if problem.constraints or bool(np.any(structure(problem).quadratic > 0)):
        return "has row programs with neither a loss on the diagonal nor a row-norm bound"
    return None


REDUCED = Takes(
    losses=("any",), diagonal=("quadratic",), regularizers=("none",), functionals=("entries",), beyond=_beyond
)
BACKENDS = (
    Backend(
        "printed_bcdkl", PRINTED, "BCDKL as Hu & Kwok (2015) print it, their algorithm 1",
        replace(REDUCED, constraints="row norms"), _plan, BCDKLOptions,
    ),
    Backend(
        "printed_bcd_npkl", PRINTED, "BCD-NPKL, eqs. (35)-(37) of Hu & Kwok (2015)", REDUCED, BCDNPKLPlan,
        BCDNPKLOptions,
    ),
)  # fmt: skip
