"""Newton steps that take over from sweeps, with sweeps between them.

A sweep minimises over each row alone. It is quick, and a row that only weak edges hold goes all the way round
a curved valley in one sweep. But heavy pairs let a row move only as far as its partners allow, so that sweeps
are slow where many rows must move together. Newton steps move them together, and fail where one row must turn
far. So both are used in turn.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from npkl_models.linalg import Array, aligned
from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.cost import dense_step, iteration_seconds
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.factor.burer_monteiro import BurerMonteiroEngine
from npkl_models.lowrank.factor.minimisers import Newton
from npkl_models.lowrank.factor.rank import drop_faint_columns, drop_null_columns, principal_axes
from npkl_models.lowrank.options import BurerMonteiroOptions
from npkl_models.lowrank.rows.sweeps import Sweeper
from npkl_models.lowrank.structure import Structure
from npkl_models.lowrank.tolerances import PATIENCE, SLOW
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.engine import Engine
from npkl_models.solve.looks import FALLING
from npkl_models.solve.watch import logger

DEAD = 1e-9  # sweeps keep columns above this share of the top eigenvalue
SMALL = 1e-14  # the same share after a column was added, because a new column starts small
FADING = 1e-4  # the same share before Newton steps alone: for them, vanishing columns are a null space
NEAR = 1e-3  # Newton steps alone may take over below this residual
TRIAL, GAINED = 20, 0.5  # sweeps go on if, after so many Newton steps, more than this share is left
AGAIN = 2  # after a trial in vain, the next one comes when there have been so many times as many sweeps
TRIAL_APART = 200  # the same number of Newton steps for distances, where gains come later
CHEAP = 0.05  # if a factorisation for distances takes fewer seconds, Newton steps may take over earlier
CHECK = 10  # sweeps from one prediction of the rest to the next
STEPS, PRODUCTS, OVERHEAD = 20, 25.0, 4e-3  # Newton steps that may be needed; products, and seconds beside
INNER, MORE = 15, 1.2  # steps of conjugate gradients in a Newton step between sweeps; their factor if slow
BETWEEN, LINES = 5, 2  # sweeps after each Newton step, if there are more columns than LINES
CLOSER, ENDURED = 0.03, 200  # residual below which Newton steps between sweeps may begin; or so many sweeps
CLOSE, RISE = 1e-2, 0.03  # residual below which the least column may go; what it may cost, as a share of tol


class Swept(Protocol):
    """An engine of sweeps, as a `Handover` sees it; `BCDEngine` says what the parts are."""

    problem: Statement
    pairs: Structure
    options: Any
    model: EdgeModel
    sweeper: Sweeper
    radius: float | None
    V: Array
    objective: float
    residual: float
    work: float
    note: str
    grown: bool

    def multipliers(self) -> Multipliers: ...
    def sweep_seconds(self) -> float: ...
    def set_factor(self, V: Array) -> None: ...
    def run_finisher(self, finisher: Engine) -> None: ...


class Handover:
    """The Newton steps of an engine of sweeps.

    Attributes
    ----------
    finisher : BurerMonteiroEngine or None
        The engine that makes Newton steps; None while sweeps go on.
    """

    def __init__(self, engine: Swept) -> None:
        self.engine = engine
        problem, pairs = engine.problem, engine.pairs
        entries = pairs.apart is None and not isinstance(pairs, Comparisons)
        self.mixed = entries and problem.basis is None and engine.radius is None
        self.far = pairs.distances and dense_step(problem) < CHEAP  # Newton steps may take over far away
        self.total, self.begin_after = 0, 0 if engine.options.newton else np.inf  # in sweeps
        self.restart()

    def restart(self) -> None:
        """Begin with sweeps again, which leave a saddle sooner than Newton steps."""
        self.engine.note = ""
        self.finisher: BurerMonteiroEngine | None = None
        self.before: tuple[Array, float, float, int] | None = None  # V, objective, residual; steps
        self.sweeps, self.then, self.checked = 0, np.inf, np.inf  # residuals at the last two sorts of check

    def after_sweep(self) -> None:
        """Count a sweep, and begin Newton steps if the sweeps have become slow."""
        self.sweeps += 1
        self.total += 1
        residual = self.engine.residual
        slow = self.mixed and self.sweeps % CHECK == 0 and self._long(residual)
        slow &= residual < CLOSER or self.sweeps >= ENDURED
        if self.sweeps % PATIENCE == 0:
            slow |= residual > SLOW * self.then and (residual < NEAR or self.far)
            self.then = residual
        if slow and self.total >= self.begin_after and self.engine.model.exact:
            self._begin()

    def step(self) -> None:
        """A Newton step, and sweeps after it; return to sweeps if Newton steps gain too little."""
        engine, finisher = self.engine, self.finisher
        assert finisher is not None
        engine.run_finisher(finisher)
        if self.mixed:
            self._sweep_between(finisher)
        self._return_if_worse()

    def _long(self, residual: float) -> bool:
        """Whether sweeps would take longer than Newton steps, if they go on as since the last check."""
        engine, before, self.checked = self.engine, self.checked, residual
        if not (0 < before < np.inf and residual > 0):
            return False
        rate = np.log(before / residual) / CHECK
        left = np.log(max(residual / engine.options.tol, 1.0)) / rate if rate > 0 else np.inf
        rank = engine.V.shape[1]
        newton = OVERHEAD + iteration_seconds(engine.problem, rank, PRODUCTS)
        return bool(left * engine.sweep_seconds() > STEPS * newton)

    def _begin(self) -> None:
        engine = self.engine
        logger.info("sweep %d: sweeps have become slow, Newton steps take over", self.sweeps)
        self.before = engine.V.copy(), engine.objective, engine.residual, 0
        y, V = engine.multipliers(), engine.V
        if engine.options.rank == "auto" and not self.mixed:
            V = drop_null_columns(V, SMALL if engine.grown else FADING)
        method = "auto" if engine.pairs.distances and engine.problem.basis is not None else "newton"
        options = BurerMonteiroOptions(method=method, time_limit=engine.options.time_limit)
        self.finisher = BurerMonteiroEngine(engine.problem, options, V)
        if self.mixed:
            self.finisher.step_by(Newton(INNER, MORE))
        if not self.finisher.f.smooth:
            self.finisher.begin_with(y, engine.model.beta)
        engine.note = "sweeps became slow, so Newton steps finished the run"

    def _sweep_between(self, finisher: BurerMonteiroEngine) -> None:
        """Drop faint columns; then sweep a few times with the multipliers of the Newton steps."""
        engine = self.engine
        V = aligned(self._narrowed(finisher) if engine.options.rank == "auto" else engine.V.copy())
        f = finisher.f
        engine.model.begin_with([f.y[channel.part] for channel in f.channels], f.beta)
        for _ in range(BETWEEN if V.shape[1] > LINES else 0):  # rows of few numbers hardly turn
            engine.sweeper.run(V)
            engine.work += engine.sweep_seconds()
        finisher.set_factor(V)
        engine.V, engine.objective, engine.residual = finisher.V, finisher.objective, finisher.residual

    def _narrowed(self, finisher: BurerMonteiroEngine) -> Array:
        """The factor without faint columns, and without its least column if that hardly raises the objective.

        A column that fades slowly keeps the point from being stationary. If it was needed, the certificate
        brings it back, and then no column is dropped for the sake of speed.
        """
        engine = self.engine
        if engine.grown:  # a new column starts small
            return drop_null_columns(engine.V, SMALL)
        V = drop_faint_columns(engine.V)
        if V.shape[1] == 1 or engine.residual > CLOSE or not finisher.f.smooth:
            return V
        least = principal_axes(V)[:, :-1]
        rise = finisher.f.at(least).value - engine.objective
        return least if rise <= RISE * engine.options.tol * engine.problem.size(engine.objective) else V

    def _return_if_worse(self) -> None:
        """Return to sweeps if the last Newton steps have reduced neither residual nor objective enough.

        The Hessian may be nearly singular along many directions (many cannot-links, few must-links). Then a
        Newton step takes hundreds of products and gains little or nothing. The point with the smaller
        objective is kept. Newton steps may begin again once there have been twice as many sweeps.
        """
        engine = self.engine
        if self.before is None:
            return
        V, objective, residual, steps = self.before
        self.before = V, objective, residual, steps + 1
        if steps + 1 < (TRIAL_APART if engine.pairs.distances else TRIAL):
            return
        lower = engine.objective < objective
        falls = engine.objective < objective - FALLING * engine.options.tol * engine.problem.size(objective)
        self.before = engine.V.copy(), engine.objective, engine.residual, 0
        if engine.residual > GAINED * residual and not falls:
            logger.info("sweep %d: Newton steps gain nothing, sweeps go on", self.sweeps)
            self.restart()
            self.begin_after = AGAIN * self.total
            engine.set_factor(engine.V if lower else V)
