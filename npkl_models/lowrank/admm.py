"""KL-ADMM: K = V U' with V = U; all rows of one side are solved for at once.

Source: Hu & Kwok, IJCAI 2013, algorithm 1, eqs. (7)-(15) and (25); their d_i must read T_ij v_j. The
square loss stays inside the row systems. The source leaves other losses to future work. Here such a loss is
split: zeta = v_i'u_j for both orders of a pair, half of the loss on each, and scaled multipliers on the
split. A proximal step then sets zeta. tr K^2 is tr(V U'U V') and adds to the matrix of every row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, frobenius, norm_bound
from npkl_models.lowrank.cost import factor_cost, iteration_seconds
from npkl_models.lowrank.descent import INEXACT, FactorEngine, FactorPlan
from npkl_models.lowrank.edges import EdgeModel, move_cost
from npkl_models.lowrank.factor.rank import starting_factor
from npkl_models.lowrank.factor.spectral_term import SpectralTerm
from npkl_models.lowrank.options import ADMMOptions
from npkl_models.lowrank.rows.layout import PairTables, Table
from npkl_models.lowrank.structure import Structure, structure
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.takes import Powers, Takes

PRODUCTS = 15.0  # predicted products in an iteration
ROW = 2.5e-6  # seconds per row, without the products
FLOOR_FACTOR = 1.5
DIVERGENCE = 1e3  # if the objective exceeds the size of the start's by this factor, rho is too small
DAMPING = 0.2  # damping of the weight of tr K^2 <= B
STANDSTILL = 200  # the method changes after so many iterations in which the residual has not halved
BALANCE = 10.0  # rho moves if the two residuals, or the residual and the lowest one, differ by this factor


class ADMMEngine(FactorEngine):
    """V, U and their multiplier Lambda; split values zeta with scaled multipliers mu, both orders."""

    def __init__(self, problem: Statement, pairs: Structure, options: ADMMOptions, V: Array) -> None:
        self.problem, self.pairs, self.options = problem, pairs, options
        self.model = EdgeModel(pairs)
        self.spectral = SpectralTerm(problem.regularizer)
        self.spectral_residual = np.inf if self.spectral.constrained else 0.0
        floor = FLOOR_FACTOR * norm_bound(problem.cost)
        self.floor = floor if options.rho_floor is None else options.rho_floor
        self.relaxation = options.relaxation
        self.rho = max(options.rho, self.floor)
        self.split = np.zeros(pairs.size, dtype=bool)
        self.halved = np.zeros(pairs.size)  # curvature of half of a quadratic loss
        self.pull = np.zeros(pairs.size)  # derivative of half of a quadratic loss at 0
        for block in pairs.blocks:
            part = block.part
            self.split[part] = not block.loss.quadratic
            if block.loss.quadratic:
                weight, target = pairs.weight[part], pairs.target[part]
                zero = np.zeros(block.stop - block.start)
                self.halved[part] = 0.5 * weight * block.loss.curvature
                self.pull[part] = 0.5 * weight * block.loss.derivative(zero, target)
        self.tables = PairTables(pairs).tables(np.arange(pairs.n))
        self.zeta = np.zeros((2, pairs.size))
        self.mu = np.zeros((2, pairs.size))
        self.begin(V, V)

    def restart(self, V: Array) -> None:
        self.begin(V, V)

    def begin(self, V: Array, U: Array) -> None:
        """Begin at V and U, with Lambda = 0."""
        self.start = V.copy(), U.copy()
        self.lowest, self.since = np.inf, 0
        self.weight = self.spectral.weight(V)
        self.zeta[:] = self.pairs.pair_values(V, U), self.pairs.pair_values(U, V)
        self.V, self.U = self.start
        self.Lambda = np.zeros_like(V)
        self.objective = self.start_objective = self.problem.objective_of_factor(V)
        self.residual = np.inf

    def step(self) -> None:
        self.count_work()
        before, alpha = self.V, self.relaxation
        target = self.spectral.weight(self.V)
        self.weight += (DAMPING if self.spectral.constrained else 1.0) * (target - self.weight)
        self.V = self.solve_rows(self.U, self.rho * self.U - self.Lambda, transposed=False)
        relaxed = alpha * self.V + (1 - alpha) * self.U
        self.U = self.solve_rows(self.V, self.rho * relaxed + self.Lambda, transposed=True)
        self.Lambda = self.Lambda + self.rho * (relaxed - self.U)
        primal = self._update_split()
        primal, dual = self.residuals(before)
        self.measure(primal)
        if self.begun_again():
            return
        self._watch_progress()
        self.balance(primal, dual)

    def count_work(self) -> None:
        """Count the work of an iteration."""
        self.work += iteration_seconds(self.problem, self.V.shape[1], PRODUCTS, ROW)

    def residuals(self, before: Array) -> tuple[float, float]:
        """The primal and the dual residual after a step from the factor ``before``, eq. (14)."""
        primal = frobenius(self.V - self.U)
        dual = self.rho * frobenius(self.V - before)
        self.measured = {"primal": primal, "dual": dual}
        return primal, dual

    def balance(self, primal: float, dual: float) -> None:
        """Change rho so that the two residuals become of the same size, eq. (15)."""
        if primal > BALANCE * dual:
            self.rho *= 2
        elif dual > BALANCE * primal:
            self.rho = max(self.rho / 2, self.floor)

    def begun_again(self) -> bool:
        """Whether the run diverges; if so, begin again at the start with twice the floor of rho."""
        if self.objective <= DIVERGENCE * self.problem.size(self.start_objective):
            return False
        self.floor *= 2
        self.rho = max(2 * self.rho, self.floor)
        self.mu[:] = 0.0
        self.begin(*self.start)
        return True

    def _watch_progress(self) -> None:
        """If the residual stops falling, end over-relaxation first, and later raise the floor of rho."""
        self.since += 1
        if self.residual <= 0.5 * self.lowest:
            self.lowest, self.since = self.residual, 0
        if self.since < STANDSTILL:
            return
        if self.relaxation > 1:
            self.relaxation = 1.0
        elif self.residual > BALANCE * self.lowest:
            self.floor *= 2
            self.rho = max(self.rho, self.floor)
        self.lowest, self.since = self.residual, 0

    def dual_point(self) -> Multipliers:
        z = self.pairs.pair_values(self.V)
        split = self.options.sigma * (self.mu[0] + self.mu[1])
        derivative = np.where(self.split, split, self.model.derivative(z))
        return self.model.multipliers(self.problem, self.V, derivative, None)

    def solve_rows(self, U: Array, center: Array, transposed: bool) -> Array:
        """Solve (M + sum h_j u_j u_j') v = c for all rows of one side, eqs. (11)-(13); M = rho I + G U'U."""
        pairs = self.pairs
        c = center - self.problem.cost @ U - pairs.linear[:, None] * U
        level, back = np.full(pairs.n, self.rho), None
        if self.weight > 0:
            R = np.linalg.cholesky(self.rho * np.eye(U.shape[1]) + self.weight * (U.T @ U))
            back = np.linalg.inv(R)
            U, c, level = U @ back.T, c @ back.T, np.ones(pairs.n)
        out = np.empty_like(U)
        for table in self.tables:
            P, h, pull = self._row_pairs(table, U, transposed)
            C = c[table.points] - self.pulled(P, pull, U[table.points], transposed)
            W = np.sqrt(h)[:, :, None] * P
            own = pairs.quadratic[table.points]
            if np.any(own > 0):
                self_row = np.sqrt(2 * own)[:, None] * U[table.points]
                W = np.concatenate([W, self_row[:, None, :]], axis=1)
            out[table.points] = shifted_solve(level[table.points], W, C)
        return out if back is None else out @ back

    def pulled(self, P: Array, pull: Array, own: Array, transposed: bool) -> Array:
        """The pairs' part of the right-hand sides; ``own`` (b x r) are the rows of the other side."""
        return np.einsum("bkr,bk->br", P, pull)

    def _row_pairs(self, table: Table, U: Array, transposed: bool) -> tuple[Array, Array, Array]:
        """The neighbours' rows of the pairs, their curvatures and their derivatives at 0."""
        e, sigma = table.pair, self.options.sigma
        order = (table.second ^ transposed).astype(np.intp)
        wanted = self.zeta[order, e] - self.mu[order, e]
        h = np.where(self.split[e], sigma, self.halved[e])
        pull = np.where(self.split[e], -sigma * wanted, self.pull[e])
        return U[table.neighbor], np.where(table.valid, h, 0.0), np.where(table.valid, pull, 0.0)

    def _update_split(self) -> float:
        """Do a proximal step on the split values; return the cost of the move of their multipliers."""
        if not self.split.any():
            return 0.0
        which = np.flatnonzero(self.split)
        step = np.full(which.size, 0.5 / self.options.sigma)
        total = 0.0
        for order in range(2):
            first, second = (self.V, self.U) if order == 0 else (self.U, self.V)
            z = self.pairs.pair_values(first, second)[which]
            self.zeta[order, which] = self.model.prox(z + self.mu[order, which], step, which)
            miss = z - self.zeta[order, which]
            self.mu[order, which] += miss
            y = self.options.sigma * self.mu[order, which]
            total += move_cost(miss, y, self.pairs.weight[which])
        return 0.5 * total

    def measure(self, primal: float) -> None:
        """Set objective and residual at V; ``primal`` is the residual of the split values."""
        V = self.V
        self.objective = self.problem.objective_of_factor(V)
        if not np.isfinite(self.objective):  # the multipliers are not finite either
            self.residual = np.inf
            return
        SV = self.problem.slack(self.multipliers()) @ V + self.spectral.value_and_gradient(V)[1]
        self.settle(2 * frobenius(SV), frobenius(V), primal)
        if not self.spectral.constrained:
            return
        size = self.problem.size(2 * self.objective)
        if self.residual <= INEXACT * min(self.spectral_residual, 1e-2):
            self.spectral_residual = self.spectral.residual(V) / size
            self.spectral.update_multiplier(V)
        self.residual += self.spectral_residual


def shifted_solve(mu: Array, W: Array, c: Array) -> Array:
    """(mu I + W'W)^-1 c for each row, through the smaller Gram matrix (mu > 0)."""
    _, k, r = W.shape
    if not k:
        return c / mu[:, None]
    if k >= r:
        A = np.einsum("bkr,bks->brs", W, W) + mu[:, None, None] * np.eye(r)
        return np.linalg.solve(A, c[:, :, None])[:, :, 0]
    A = np.einsum("bkr,blr->bkl", W, W) + mu[:, None, None] * np.eye(k)
    inner = np.linalg.solve(A, np.einsum("bkr,br->bk", W, c)[:, :, None])[:, :, 0]
    return (c - np.einsum("bkr,bk->br", W, inner)) / mu[:, None]


@dataclass(frozen=True)
class ADMMPlan(FactorPlan):
    """The plan of KL-ADMM."""

    options: ADMMOptions
    iterations = 20_000

    def engine(self) -> ADMMEngine:
        start = starting_factor(self.problem, self.options)
        return ADMMEngine(self.problem, structure(self.problem), self.options, start)


def _cost(problem: Statement) -> Cost:
    return factor_cost(problem, 1000, products=PRODUCTS, row=ROW)


TAKES = Takes(
    losses=("any",),
    diagonal=("quadratic",),
    regularizers=("none", "trace power"),
    powers=Powers("tr K^2", lambda face: face.p == 2),
    functionals=("entries",),
)
BACKEND = Backend(
    "admm", "lowrank", "KL-ADMM, K = V U' with V = U, certified", TAKES, ADMMPlan, ADMMOptions, _cost
)  # fmt: skip
