"""Burer-Monteiro: minimisation over V with exact gradients and Hessian products; and the rank staircase.

Sources: Burer & Monteiro, Math. Program. 95 (2003), for the factorisation and the augmented Lagrangian; Laue,
ICML 2012, and Journee, Bach, Absil & Sepulchre, SIAM J. Optim. 20 (2010), for the staircase (`hybrid`).

Beside a heavy pair a small error of a row changes the slope of the loss much: the multiplier errs by the
weight times the error. So the slack S of the slopes has S V far from zero at a few points, and no proof
succeeds, although the objective has six correct digits. Multipliers may differ from the slopes (`sharpened`).
A change delta of them costs the dual bound sum delta_e^2 / (2 phi_e''), which is little for a heavy pair.
Here delta minimises that cost plus the cost of what remains of S V,

    sum_e delta_e^2 / (2 phi_e'') + || S V + sum_e delta_e M_e V ||^2 in the norm of diag(|S_ii|)^-1.

With delta_e = phi_e'' <M_e, V D' + D V'> this is the linear system of a Newton step in which the diagonal of
the slack replaces the slack: (2 diag(|S_ii|) + sum_e phi_e'' g_e g_e') D = -gradient. It is positive definite
at every point, and ten steps of conjugate gradients solve it well enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, frobenius
from npkl_models.lowrank.cost import factor_cost
from npkl_models.lowrank.descent import PATIENT, FactorEngine, FactorPlan
from npkl_models.lowrank.factor.centred_system import restorable
from npkl_models.lowrank.factor.minimisers import LBFGS, MINIMISERS, Minimiser, Newton, truncated_newton
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.lowrank.factor.preconditioners import HessianBlocks
from npkl_models.lowrank.factor.rank import drop_null_columns, starting_factor
from npkl_models.lowrank.factor.restored import RestoredNewton
from npkl_models.lowrank.options import BurerMonteiroOptions
from npkl_models.model.facts import constrained
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.takes import Powers, Takes

STAIRCASE_START = 2
IDLE = 2  # steps in a row that find no better point, also with other multipliers; further ones are vain
LENGTHS = 16  # a new column beside kinks or held rows has 1/4, 1/8, ... 2^-15 of the factor's length


class BurerMonteiroEngine(FactorEngine):
    """Newton or quasi-Newton steps; the multipliers move when the smooth problem is nearly solved."""

    def __init__(
        self, problem: Statement, options: BurerMonteiroOptions, V: Array, soft: bool = False,
        floor: float = 0.0,
    ) -> None:  # fmt: skip
        """Begin at V. With a ``floor``, the cost is L - floor I: the slack of L then ends above it."""
        self.problem, self.floor = problem, floor
        weights = [float(term.weight.max()) for term in problem.losses]
        if floor:
            problem = replace(problem, cost=problem.cost - floor * sp.eye_array(problem.n, format="csr"))
        self.f = FactorObjective(problem, max(weights, default=1.0), soft)
        self.method, self.options = options.method, options
        self.first_beta = self.f.beta
        self.point: Point
        self.minimiser: Minimiser = LBFGS()
        self.restart(V)

    def begin_with(self, y: Multipliers, beta: float) -> None:
        """Continue with given multipliers, and a penalty that fits the cost (`EdgeModel.softer`)."""
        self.f.begin_with(y, beta)
        self.first_beta, self.lag = beta, PATIENT
        self.point = self.f.at(self.point.W)
        self._measure()

    def restart(self, V: Array) -> None:
        W, self.idle = self.problem.drop(V), 0
        if self.problem.regularizer.spectral is not None:
            W = self.problem.regularizer.rescale(W)
        self.point = self.f.at(self._fit(W))
        first = "newton" if self.f.distances else "lbfgs"
        if self.method != "auto" or not restorable(self.problem):
            self.minimiser = MINIMISERS[first if self.method == "auto" else self.method]()
        elif isinstance(self.minimiser, RestoredNewton):
            self.minimiser.reset()
        else:
            self.minimiser = RestoredNewton()
        self.begin_again()
        self._measure()

    def grow(self, direction: Array) -> bool:
        kinks = isinstance(self.minimiser, RestoredNewton) and not self.f.smooth
        if not kinks and (self.f.held is None or not self.f.smooth):
            return super().grow(direction)
        if self.options.rank != "auto" or self.V.shape[1] >= self.problem.order:
            return False
        base = drop_null_columns(self.V)
        u = np.sqrt(float(np.sum(base**2))) * direction.reshape(-1, 1)
        lengths = 0.5 ** np.arange(2, LENGTHS)
        starts = [self._fit(self.problem.drop(np.hstack([base, t * u]))) for t in lengths]
        values = [self.f.at(W).value for W in starts]
        self.restart(self.problem.lift(starts[int(np.argmin(values))]))
        return True

    def _fit(self, W: Array) -> Array:
        """The factor with its held rows in their place, if there are any."""
        return W if self.f.held is None else self.f.held.fit(W)

    def step(self) -> None:
        before, self.point = self.point, self.minimiser.step(self.f, self.point)
        self.idle = self.idle + 1 if self.point is before else 0
        self._measure()
        if (self.slow() or self.idle) and self.method == "auto" and isinstance(self.minimiser, LBFGS):
            self.minimiser = Newton()
        if not self.f.smooth and (self.solved() or self._exhausted or self.idle):
            self._move_multipliers()
        self.hopeless |= self.idle > IDLE
        self.work = self.f.work

    def _move_multipliers(self) -> None:
        """Move the multipliers; if the last move gained too little, beta grows."""
        self.f.update_multipliers(self.point)
        beta = self.f.beta if self._exhausted else self.stiffer(self.f.beta, self.first_beta)
        self.f.spectral.beta *= beta / self.f.beta
        self.f.beta = beta
        self.point = self.f.at(self.point.W)
        self.minimiser.reset()
        self._measure()

    def dual_point(self) -> Multipliers:
        y = self.minimiser.multipliers
        if y is None and isinstance(self.minimiser, Newton) and sharpens(self.f, self.point):
            y = sharpened(self.f, self.point)
        return self.f.multipliers(self.point if y is None else replace(self.point, slope=y))

    @property
    def _exhausted(self) -> bool:
        """Whether no step lowers the smooth objective any further."""
        return isinstance(self.minimiser, RestoredNewton) and self.minimiser.exhausted

    def _measure(self) -> None:
        self.V = self.problem.lift(self.point.W)
        smooth = self.f.smooth
        self.objective = self.point.value + self.floor * float(np.sum(self.V**2))
        if not smooth:
            self.objective = self.problem.objective_of_factor(self.V)
        misfit = 0.0 if smooth else self.f.residual(self.point)
        self.settle(frobenius(self.point.gradient), frobenius(self.point.W), misfit)
        if smooth and self._exhausted:
            self.residual = 0.0  # the point is stationary to rounding


@dataclass(frozen=True)
class BurerMonteiroPlan(FactorPlan):
    """The plan of the factorised problem."""

    options: BurerMonteiroOptions
    first: BurerMonteiroOptions  # the options of the first factor
    iterations = 5_000

    def engine(self) -> BurerMonteiroEngine:
        start = starting_factor(self.problem, self.first)
        return BurerMonteiroEngine(self.problem, self.options, start)


def _plan(problem: Statement, options: BurerMonteiroOptions) -> BurerMonteiroPlan:
    return BurerMonteiroPlan(problem, options, options)


def _staircase(problem: Statement, options: BurerMonteiroOptions) -> BurerMonteiroPlan:
    """The plan of burer_monteiro from rank 2, but not with constraints or kinks of distances."""
    start = options
    kinks = restorable(problem) and not all(term.loss.smooth for term in problem.losses)
    if options.rank == "auto" and options.start is None and not constrained(problem) and not kinks:
        start = replace(options, rank=min(STAIRCASE_START, problem.n))
    return BurerMonteiroPlan(problem, options, start)


TAKES = Takes(
    losses=("any",),
    regularizers=("none", "trace power"),
    powers=Powers("tr K^p", lambda face: True),
    basis="yes",
    constraints="yes",
)
BACKENDS = (
    Backend(
        "burer_monteiro", "lowrank", "preconditioned Newton on the factor V, certified", TAKES, _plan,
        BurerMonteiroOptions, lambda problem: factor_cost(problem, 300),
    ),
    Backend(
        "hybrid", "lowrank", "the rank staircase: burer_monteiro from a small rank upwards", TAKES,
        _staircase, BurerMonteiroOptions, lambda problem: factor_cost(problem, 600),
    ),
)  # fmt: skip


STEPS, TOLERANCE = 10, 1e-3  # steps of conjugate gradients; share of the first residual that may remain


def sharpens(f: FactorObjective, point: Point) -> bool:
    """Whether `sharpened` supports the problem, and there are curved losses."""
    plain = f.Q is None and not f.problem.constraints and f.problem.regularizer.vacuous
    plain = plain and f.incidence.identity
    return plain and bool(np.any(point.bend))


def sharpened(f: FactorObjective, point: Point) -> Array:
    """Multipliers (m,) of all values near the slopes at a point, with S V closer to zero."""
    gradient, inverse, bends = point.gradient, f.row_preconditioner(point), f.curvature(point)
    own = 2 * HessianBlocks.raised(f.S(point.slope).diagonal())[:, None]
    size = np.sqrt(float(np.vdot(gradient, inverse(gradient))))

    def product(D: Array) -> Array:
        out = own * D
        bends(D, out)
        return out

    D = truncated_newton(product, inverse, gradient, TOLERANCE * size, STEPS)[0]
    found = point.slope + point.bend * f.incidence.along(point.V, D)
    return np.asarray(found if np.isfinite(found).all() else point.slope)
