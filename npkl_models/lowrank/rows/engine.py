"""Block coordinate descent on the rows of V, one row after the other.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, algorithm 1. Four things go beyond the source: soft K_ii terms by a
secular equation, losses with kinks by the method of multipliers, extrapolation, and a certificate that ends
the run. The source's row programs stall at kinks (`npkl_models.printed.bcdkl`).
"""

from __future__ import annotations

import numpy as np

from npkl_models.certificates.repairs import definite
from npkl_models.feasibility.anchored import split
from npkl_models.feasibility.restoration import rescaled
from npkl_models.linalg import TINY, Array, LowRankUpdate, Matrix, aligned, frobenius
from npkl_models.linalg.threads import threaded
from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.cost import VAST, sweep_seconds
from npkl_models.lowrank.descent import FactorEngine
from npkl_models.lowrank.edges import first_model
from npkl_models.lowrank.factor.burer_monteiro import BurerMonteiroEngine
from npkl_models.lowrank.factor.preconditioners import FlatPreconditioner
from npkl_models.lowrank.factor.rank import drop_faint_columns, drop_null_columns, widened
from npkl_models.lowrank.options import BCDOptions, BurerMonteiroOptions
from npkl_models.lowrank.rows.compare_sweeps import CompareSweeper
from npkl_models.lowrank.rows.coupling import cost_of_rows
from npkl_models.lowrank.rows.extrapolation import Extrapolation
from npkl_models.lowrank.rows.handover import Handover
from npkl_models.lowrank.rows.sweeps import CoupledSweeper, Sweeper, radius_of
from npkl_models.lowrank.structure import Structure
from npkl_models.lowrank.tolerances import ROUNDING
from npkl_models.model.diagnosis import diagonal_weight
from npkl_models.model.incidence import Adjoint
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.proof.factorisation import least_margin
from npkl_models.solve.watch import logger

DEAD = 1e-9  # sweeps keep columns above this share of the top eigenvalue
NARROW_EVERY = 20  # sweeps from one search for columns to drop to the next
LATE = 0.03  # first look for distances, as a multiple of tol: a failed certificate is expensive there
RESERVE = 0.25  # share of the tolerance that a floor of the slack may cost


class BCDEngine(FactorEngine):
    """The engine of bcd: sweeps over all rows, and Newton steps when sweeps become slow."""

    def __init__(
        self, problem: Statement, pairs: Structure, options: BCDOptions, V: Array, cold: bool = False
    ) -> None:
        self.problem, self.pairs, self.options = problem, pairs, options
        self.model = first_model(problem, pairs, cold)
        self.first_beta, self.radius = self.model.beta, radius_of(problem)
        self.cost: Matrix | LowRankUpdate = threaded(problem.cost)
        self.sweeper = self.make_sweeper()
        self.adjoint = Adjoint(pairs.incidence)
        self.extrapolation = Extrapolation() if options.extrapolation else None
        self.row_multipliers: Array | None = None
        self.grown = False
        self.handover = Handover(problem, pairs, options.tol)
        self.first_look = LATE if pairs.distances else self.first_look
        zero = np.zeros((problem.n, 1))
        self.constant = problem.objective_of_factor(zero) - self.model.losses(pairs.pair_values(zero))
        self.restart(V)

    def make_sweeper(self) -> Sweeper | CompareSweeper:
        """The sweeper for the problem's values."""
        if isinstance(self.pairs, Comparisons):
            return CompareSweeper(self.problem, self.pairs, self.model)
        if self.pairs.apart is None:
            return Sweeper(self.problem, self.pairs, self.model)
        cost = cost_of_rows(self.problem)
        if not isinstance(cost, LowRankUpdate):
            return Sweeper(self.problem, self.pairs, self.model, cost)
        self.cost = cost
        return CoupledSweeper(self.problem, self.pairs, self.model, cost)

    def restart(self, V: Array) -> None:
        self.V = self.centred(aligned(V))
        self.begin_again()
        self.handover.begin_again()
        if self.extrapolation is not None:
            self.extrapolation.clear()
        self.merit = self._evaluate()

    def centred(self, V: Array) -> Array:
        """V with centred rows if the kernel must be centred; the values and the cost stay the same."""
        if self.problem.basis is not None:
            V -= V.mean(axis=0)
        return V

    def grow(self, direction: Array) -> bool:
        grows = super().grow(direction)
        if grows:
            self.restart(widened(self.problem, self.V))
        self.grown |= grows
        return grows

    def sweep_seconds(self) -> float:
        return sweep_seconds(self.problem, self.V.shape[1], self.pairs.apart is not None)

    def step(self) -> None:
        measured = self.sweeper.run(self.V)
        self.centred(self.V)
        self.work += self.sweep_seconds()
        self._from_sweep(*measured)
        if self.extrapolation is not None:
            trial = self.extrapolation.propose(self.V)
            if trial is not None:
                self._try(rescaled(self.problem, trial))
        if not self.model.smooth and self.misfit > ROUNDING and self.solved():
            self._move_multipliers()
        if self._due() and self.options.newton and self.model.exact:
            self._hand_over()
        elif self.options.rank == "auto" and self.count % NARROW_EVERY == 0:
            self._narrow()

    def _due(self) -> bool:
        """Whether sweeps have become slow, so that Newton steps are due."""
        slow = self.slow() and self.handover.reaches(self.residual)
        now = self.count, self.residual, self.objective, self.V.shape[1], self.sweep_seconds()
        return self.handover.shorter(*now) or slow

    def _hand_over(self) -> None:
        """Go on by Newton steps, from the multipliers so far."""
        logger.info("sweep %d: sweeps have become slow, Newton steps take over", self.count)
        y, V = self.multipliers(), self.V
        if self.options.rank == "auto":
            faint = self.handover.predicts and not self.grown
            V = drop_faint_columns(V) if faint else drop_null_columns(V, ROUNDING if self.grown else DEAD)
        options = BurerMonteiroOptions(method="newton", time_limit=self.options.time_limit)
        flat = FlatPreconditioner.worth(self.problem.cost)
        beta, soft = self.model.softer(self.pairs.pair_values(V), flat)
        floor = self._floor(V)
        finisher = self.finisher = BurerMonteiroEngine(self.problem, options, V, soft, floor)
        if not finisher.f.smooth:
            finisher.begin_with(y, beta)
        self.note = "sweeps became slow, so Newton steps finished the run"

    def _floor(self, V: Array) -> float:
        """What a proof pays for rounding, if nothing else raises the slack and a strict point may exist."""
        problem = self.problem
        plain = problem.basis is None and not problem.constraints and problem.regularizer.vacuous
        raised = definite(problem) or bool((diagonal_weight(problem) > 0).all())
        if not plain or raised or split(problem) is not None:
            return 0.0
        little = RESERVE * self.options.tol * problem.size(self.objective)
        return min(least_margin(problem.cost), little / max(float(np.sum(V**2)), TINY))

    def _narrow(self) -> None:
        """Drop columns that have become negligible: many columns help at the beginning, few remain."""
        V = drop_null_columns(self.V, ROUNDING if self.grown else DEAD)
        if V.shape[1] < self.V.shape[1]:
            self.V = aligned(V)
            self.merit = self._evaluate()

    def _from_sweep(self, fall: float, gradient: float) -> None:
        """Set objective and residual from the measurements of a sweep, without an evaluation."""
        self.merit -= fall
        self.objective, misfit = self.merit + self.constant, 0.0
        if not self.model.smooth:
            z = self.pairs.pair_values(self.V)
            value, y, _ = self.model.evaluate(z)
            self.objective += self.model.losses(z) - float(np.sum(value))
            misfit = self.model.primal_residual(y)
        self.settle(gradient, frobenius(self.V), misfit)
        self.evaluated = False

    def dual_point(self) -> Multipliers:
        if self.extrapolation is not None and self.V.size > VAST:
            self.extrapolation.release()
        if not self.evaluated:
            self.merit = self._evaluate()
        own = self.model.derivative(self.pairs.pair_values(self.V))
        return self.model.multipliers(self.problem, self.V, own, self.row_multipliers)

    def _try(self, V: Array) -> None:
        """Move to an extrapolated point if its merit is smaller."""
        names = ("V", "merit", "objective", "residual", "stationarity", "misfit", "evaluated")
        kept = {name: getattr(self, name) for name in names}
        self.V = aligned(V)
        self.merit = self._evaluate()
        if not self.merit < kept["merit"]:
            vars(self).update(kept)

    def _evaluate(self) -> float:
        """Set objective and residual at V; return the smooth merit that sweeps decrease."""
        V, pairs = self.V, self.pairs
        CV = self.cost @ V
        z = pairs.pair_values(V)
        value, y, _ = self.model.evaluate(z) if z.size else (z, z, z)
        merit = float(np.sum(V * CV)) + pairs.diagonal_value(V) + float(np.sum(value))
        self.objective = merit + self.constant if self.model.smooth else self.problem.objective_of_factor(V)
        s = np.einsum("ir,ir->i", V, V)
        SV = CV
        SV += (pairs.linear + 2 * pairs.quadratic * s)[:, None] * V
        if z.size:
            SV += self.adjoint(y) @ V
        self.row_multipliers = None
        if self.radius is not None:
            pull = -np.einsum("ir,ir->i", SV, V) / self.radius**2
            tight = s >= self.radius**2 * (1 - 1e-9)
            self.row_multipliers = np.where(tight, np.maximum(pull, 0.0), 0.0)
            SV = SV + self.row_multipliers[:, None] * V
        self.settle(2 * frobenius(SV), frobenius(V), self.model.primal_residual(y))
        self.evaluated = True
        return merit

    def _move_multipliers(self) -> None:
        self.model.update_multipliers(self.pairs.pair_values(self.V))
        self.model.beta = self.stiffer(self.model.beta, self.first_beta)
        if self.extrapolation is not None:
            self.extrapolation.clear()
        self.merit = self._evaluate()
