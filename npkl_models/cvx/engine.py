"""The iterates of our method on a program of CVXPY, and when they are good enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.cvx.forms import Form
from npkl_models.cvx.sizes import relative_gap, violation
from npkl_models.cvx.translation import largest_share
from npkl_models.interior.path import Iterate
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.solve.engine import Engine
from npkl_models.solve.loop import Loop
from npkl_models.solve.options import Options
from npkl_models.solve.watch import RunMonitor, quiet

LOOK = 3.0  # a point is measured when gap and residuals are below this multiple of what is asked
ITERATIONS = 100
STALLED = 10  # a run ends after so many iterations without a better point


class ConicEngine(Engine):
    """The iterates of one run; the answer is that of the best one so far."""

    patience = STALLED
    shown = None  # no kernel is sought

    def __init__(self, form: Form, options: Options, unit: float = 1.0) -> None:
        self.form, self.options, self.unit = form, options, unit  # unit: of the objective
        self.now = Iterate(form.own)
        self.objective, self.residual, self.least, self.met = np.nan, np.inf, np.inf, False
        self.kept = self.now.X, self.now.y
        self.first = self.now.mu * form.own.degree
        self.sizes = form.sizes(self.now.X)  # of the summands of residuals at the start
        x = form.x_of(self.now.X, self.now.y)
        self.largest = (
            _largest(x),
            _largest(form.z_of(*self.kept, x)),
        )  # numbers of x so far, of z at the start

    @property
    def rank(self) -> int:
        return self.form.own.degree

    @property
    def V(self) -> Array:  # type: ignore[override]
        """The variables as a column."""
        return self.form.x_of(*self.kept)[:, None]

    def multipliers(self) -> Multipliers:
        return Multipliers((), (self.now.y,))

    def iterate(self) -> None:
        try:
            self.now.advance()
        except np.linalg.LinAlgError as error:
            self.note, self.hopeless = str(error), True
            return
        now, own, options = self.now, self.form.own, self.options
        x = self.form.x_of(now.X, now.y)
        self.largest = max(self.largest[0], _largest(x)), self.largest[1]
        value = self.form.whole.objective(x)
        square = 0.0 if own.P is None else 0.5 * float(now.y @ (own.P @ now.y))
        gap = abs(own.cost(now.X) + square + own.conjugate(now.y))
        size = abs(value) + abs(value - gap) + options.tol * self.first  # both may be zero
        sizes = self.form.sizes(now.X) + self.form.costs + options.tol * self.sizes
        missed = largest_share(np.abs(now.missed), sizes)
        self.objective = value / self.unit
        self.bound = (value - gap) / self.unit if missed <= options.feasibility else np.nan
        self.residual = max(
            gap / size if size else 0.0, max(missed, now.rho) * options.tol / options.feasibility
        )
        if self.residual < self.least:
            self.least = self.residual
            self.kept = now.X, now.y
        if self.residual <= LOOK * options.tol:
            point = self.point()
            self.met = point.gap <= options.tol and point.missed <= options.feasibility

    def point(self) -> Point:
        """Variables and dual variables of the best iterate, and what they miss.

        Numbers that are dust beside the first ones are zeros: an optimum of zero is reached.
        """
        X, y = self.kept
        form, program = self.form, self.form.whole
        x = form.x_of(X, y)
        dust = self.options.tol**2
        x = np.where(np.abs(x) <= dust * self.largest[0], 0.0, x)
        z = form.z_of(X, y, x)
        z = np.where(np.abs(z) <= dust * self.largest[1], 0.0, z)
        slope = program.slope(x)
        square = 0.0 if program.P is None else 0.5 * float(x @ (program.P @ x))
        value, bound = program.objective(x), program.offset - square - float(program.b @ z)
        dual = largest_share(np.abs(program.A.T @ z + slope), abs(program.A).T @ np.abs(z) + np.abs(slope))
        missed = max(violation(program, x), dual)
        return Point(x, z, value, relative_gap(program, x, z, value, bound), missed)


@dataclass(frozen=True, eq=False)
class Point:
    """Variables and dual variables, the objective, the relative gap and the largest residual."""

    x: Array
    z: Array
    value: float
    gap: float
    missed: float


def _largest(v: Array) -> float:
    return float(np.max(np.abs(v), initial=0.0))


def followed(form: Form, tol: float, time_limit: float) -> tuple[bool, Point]:
    """Whether a run of the method reaches a gap and residuals of tol, and its best point."""
    options = Options(tol=tol, feasibility=tol, time_limit=time_limit)
    watch = RunMonitor(options, "InteriorSolver")
    engine = ConicEngine(form, options)
    with quiet():
        watch.attempt(lambda: Loop(engine, watch).until(ITERATIONS))
    return bool(engine.met), engine.point()
