"""Block coordinate descent on the rows of V, one colour class at a time.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, algorithm 1. Points of one colour do not interact, so a common
update gives the same rows as one update after the other. Four things go beyond the source: soft K_ii terms by
a secular equation, losses with kinks by the method of multipliers, extrapolation, and a certificate that ends
the run. The source's row programs stall at kinks (`npkl_models.printed.bcdkl`).
"""

from __future__ import annotations

import numpy as np

from npkl_models.feasibility.restoration import rescaled
from npkl_models.linalg import Array, LowRankUpdate, Matrix, aligned, frobenius
from npkl_models.linalg.threads import threaded
from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.cost import ROW_COMPILED, ROW_NUMPY, apart_seconds, iteration_seconds
from npkl_models.lowrank.factor.burer_monteiro import BurerMonteiroEngine
from npkl_models.lowrank.factor.rank import FactorEngine, drop_faint_columns, drop_null_columns, widened
from npkl_models.lowrank.options import BCDOptions, BurerMonteiroOptions
from npkl_models.lowrank.rows.apart_sweeps import ApartSweeper
from npkl_models.lowrank.rows.compare_sweeps import CompareSweeper
from npkl_models.lowrank.rows.extrapolation import Extrapolation
from npkl_models.lowrank.rows.first_model import first_model
from npkl_models.lowrank.rows.handover import Handover
from npkl_models.lowrank.rows.sweeps import (
    USUAL_SWEEPS,
    VAST,
    Sweeper,
    choose_kernel,
    numpy_seconds,
    radius_of,
)
from npkl_models.lowrank.structure import Structure
from npkl_models.model.incidence import Adjoint
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.watch import logger

# Multipliers move once the residual of the smooth model is below this multiple of their own residual.
# Sweeps are slow to lower it, so this is earlier than with Newton steps (`INEXACT`).
EARLY = 1.5
BETA_GROWTH = 2.0
BETA_MAX = 1e4
ROW_LEFT = 3e-3  # seconds of a row that compiled code leaves to numpy
PRODUCTS = 3.0  # products in a sweep and in the evaluation after it
DEAD = 1e-9  # sweeps keep columns above this share of the top eigenvalue
SMALL = 1e-14  # the same share after a column was added, because a new column starts small
FADING = 1e-4  # the same share before Newton steps but for entries: vanishing columns are a null space
NARROW_EVERY = 20  # sweeps from one search for columns to drop to the next
LATE = 0.03  # first look for distances, as a multiple of tol: a failed certificate is expensive there
SETTLED = 1e-13  # a smaller primal residual counts as rounding
PROGRESS = 0.5  # beta grows unless the multipliers reduce the primal residual to this share


class BCDEngine(FactorEngine):
    """The engine of bcd: sweeps over all rows, and Newton steps when sweeps become slow."""

    def __init__(
        self, problem: Statement, pairs: Structure, options: BCDOptions, V: Array, cold: bool = False
    ) -> None:
        self.problem, self.pairs, self.options = problem, pairs, options
        self.model = first_model(problem, pairs, cold)
        self.radius, self.swept = radius_of(problem), 0
        self.sweeper = self.make_sweeper()
        self.cost: Matrix | LowRankUpdate = threaded(problem.cost)
        if isinstance(self.sweeper, ApartSweeper) and isinstance(self.sweeper.cost, LowRankUpdate):
            self.cost = self.sweeper.cost
        self.row_seconds = ROW_COMPILED if self.sweeper.compiled else ROW_NUMPY
        self.adjoint = Adjoint(pairs.incidence)
        self.extrapolation = Extrapolation() if options.extrapolation else None
        self.primal_then = np.inf  # the primal residual at the last step of the multipliers
        self.row_multipliers: Array | None = None
        self.grown = False
        self.handover = Handover(problem, pairs, options.tol)
        self.first_look = LATE if pairs.distances else self.first_look
        zero = np.zeros((problem.n, 1))
        self.constant = problem.objective_of_factor(zero) - self.model.losses(pairs.pair_values(zero))
        self.restart(V)

    def make_sweeper(self) -> Sweeper:
        """The sweeper for the problem's values, compiled once numpy has done much counted work."""
        own, spent = self.options, self.swept * numpy_seconds(self.problem) / USUAL_SWEEPS
        compiled = choose_kernel(self.problem, own.kernel, spent)
        if isinstance(self.pairs, Comparisons):
            return CompareSweeper(self.problem, self.pairs, self.model, compiled, own.random_state)
        passes = Sweeper if self.pairs.apart is None else ApartSweeper
        return passes(self.problem, self.pairs, self.model, compiled, own.random_state)

    def restart(self, V: Array) -> None:
        self.V = self.centred(aligned(V))
        self.handover.restart()
        self.finisher, self.note = None, ""
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

    def iterate(self) -> None:
        if self.finisher is not None:
            self.run_finisher(self.finisher)
        else:
            self._sweep()

    def sweep_seconds(self) -> float:
        """The predicted seconds of a sweep, and of the rows that the last sweep has left to numpy."""
        left = ROW_LEFT * self.sweeper.left
        if self.pairs.apart is not None:
            return apart_seconds(self.problem.n, self.row_seconds) + left
        return iteration_seconds(self.problem, self.V.shape[1], PRODUCTS, self.row_seconds) + left

    def _sweep(self) -> None:
        measured = self.sweeper.run(self.V)
        self.swept += 1
        if not self.sweeper.compiled and self.swept % USUAL_SWEEPS == 0:
            self.sweeper = self.make_sweeper()
        self.centred(self.V)
        self.work += self.sweep_seconds()
        self._from_sweep(*measured)
        if self.extrapolation is not None:
            trial = self.extrapolation.propose(self.V)
            if trial is not None:
                self._try(rescaled(self.problem, trial))
        if not self.model.smooth:
            self._update_multipliers()
        slow = self.handover.due(self.residual, self.V.shape[1], self.sweep_seconds())
        if slow and self.options.newton and self.model.exact:
            self._hand_over()
        elif self.options.rank == "auto" and self.handover.sweeps % NARROW_EVERY == 0:
            self._narrow()

    def _hand_over(self) -> None:
        """Go on by Newton steps, from the multipliers so far."""
        logger.info("sweep %d: sweeps have become slow, Newton steps take over", self.handover.sweeps)
        y, V = self.multipliers(), self.V
        if self.options.rank == "auto":
            faint = self.handover.predicts and not self.grown
            V = drop_faint_columns(V) if faint else drop_null_columns(V, SMALL if self.grown else FADING)
        method = "auto" if self.pairs.distances and self.problem.basis is not None else "newton"
        options = BurerMonteiroOptions(method=method, time_limit=self.options.time_limit)
        finisher = self.finisher = BurerMonteiroEngine(self.problem, options, V)
        if not finisher.f.smooth:
            finisher.begin_with(y, self.model.beta)
        self.note = "sweeps became slow, so Newton steps finished the run"

    def _narrow(self) -> None:
        """Drop columns that have become negligible: many columns help at the beginning, few remain."""
        V = drop_null_columns(self.V, SMALL if self.grown else DEAD)
        if V.shape[1] < self.V.shape[1]:
            self.V = aligned(V)
            self.merit = self._evaluate()

    def _from_sweep(self, fall: float, gradient: float) -> None:
        """Set objective and residual from the measurements of a sweep, without an evaluation."""
        self.merit -= fall
        self.objective, primal = self.merit + self.constant, 0.0
        if not self.model.smooth:
            z = self.pairs.pair_values(self.V)
            value, y, _ = self.model.evaluate(z)
            self.objective += self.model.losses(z) - float(np.sum(value))
            primal = self.model.primal_residual(y)
        size = self.problem.size(2 * self.objective)
        self.smooth_residual = 0.5 * gradient * frobenius(self.V) / size
        self.primal_residual = primal / size
        self.residual = self.smooth_residual + self.primal_residual
        self.evaluated = False

    def multipliers(self) -> Multipliers:
        if self.finisher is not None:
            return self.finisher.multipliers()
        if self.extrapolation is not None and self.V.size > VAST:
            self.extrapolation.release()
        if not self.evaluated:
            self.merit = self._evaluate()
        own = self.model.derivative(self.pairs.pair_values(self.V))
        return self.model.multipliers(self.problem, self.V, own, self.row_multipliers)

    def _try(self, V: Array) -> None:
        """Move to an extrapolated point if its merit is smaller."""
        kept, merit = (self.V, self.objective, self.residual, self.evaluated), self.merit
        self.V = aligned(V)
        self.merit = self._evaluate()
        if not self.merit < merit:
            self.V, self.objective, self.residual, self.evaluated = kept
            self.merit = merit

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
        size = self.problem.size(2 * self.objective)
        self.smooth_residual = frobenius(SV) * frobenius(V) / size
        self.primal_residual = self.model.primal_residual(y) / size
        self.residual = self.smooth_residual + self.primal_residual
        self.evaluated = True
        return merit

    def _update_multipliers(self) -> None:
        """Move the multipliers once the smooth model is nearly stationary; beta grows if they gain little."""
        primal = self.primal_residual
        if primal <= SETTLED or self.smooth_residual > max(1e-10, EARLY * min(primal, 1.0)):
            return
        self.model.update_multipliers(self.pairs.pair_values(self.V))
        if primal > PROGRESS * self.primal_then and self.model.beta < BETA_MAX:
            self.model.beta *= BETA_GROWTH
        self.primal_then = primal
        if self.extrapolation is not None:
            self.extrapolation.clear()
        self.merit = self._evaluate()
