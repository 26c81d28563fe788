"""Modified fixed-point continuation in a basis: gradient steps on U that also shrink its eigenvalues.

The basis is scaled first, K = (QD) U (QD)', so that the curvature along each of its vectors is one. The
sources do not scale U, and stall on a Laplacian's basis, whose scales differ by powers of ten.

Sources: Shang, Jiao & Wang, KDD 2012, as described by Hu & Kwok, IJCAI 2013; Ma,
Goldfarb & Chen, Math. Program. 128, 2011, for the continuation; Barzilai & Borwein 1988 for the steps, and
Birgin, Martinez & Raydan, SIAM J. Optim. 10, 2000, for the line search that makes them safe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.certificates.points import as_factor
from npkl_models.linalg import Array, dense, frobenius, symmetrize
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.shared_slack import onto_simplex
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import CALL, Cost
from npkl_models.solve.engine import Engine
from npkl_models.solve.engine_plan import EnginePlan
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.takes import Powers, Takes

CONTINUE = 0.25  # the factor of the shrinkage from one stage to the next
STAGES = 12  # number of stages; the last stage has no shrinkage
STAGE_RESIDUAL = 1e-2  # a stage ends at this residual, or after STAGE_STEPS
STAGE_STEPS = 30
MEMORY = 8  # the line search compares with the largest of the last MEMORY objectives
ARMIJO = 1e-4
STEP_MIN, STEP_MAX = 1e-12, 1e12


@dataclass(frozen=True, kw_only=True)
class MFPCOptions(IterativeOptions):
    """Options of mfpc.

    Parameters
    ----------
    continuation : bool
        Whether to begin with a strong shrinkage of the eigenvalues and weaken it in stages. False begins
        without shrinkage.
    """

    continuation: bool = True


class MFPCEngine(Engine):
    """The engine of mfpc, with steps U <- shrink(U - tau grad f(U), tau mu)."""

    def __init__(self, problem: Statement, options: MFPCOptions) -> None:
        self.problem = problem
        R = problem.regularizer
        self.limit = None if R.spectral is None else R.spectral.bound
        s = problem.order
        self.C = dense(problem.restrict(problem.cost)) + R.shift * np.eye(s)
        self.D = np.ones(s) if self.limit is not None else _scaling(problem)
        W: Array = np.zeros((s, 1))
        if options.start is not None:
            W = problem.drop(as_factor(problem, getattr(options.start, "V", options.start)))
        W = W / self.D[:, None]
        self.U: Array = W @ W.T
        self.value, self.gradient = self._evaluate(self.U)
        steepest = float(-np.linalg.eigvalsh(self.gradient)[0])
        self.stages: list[float] = []
        self.recent: list[float] = []
        if options.continuation and options.start is None and steepest > 0:
            self.stages = [steepest * CONTINUE**k for k in range(1, STAGES)]
        self.stages.append(0.0)
        self.residual = np.inf
        self.step_seconds = _step_seconds(problem)
        self.tau = 1.0 / max(frobenius(self.gradient), 1e-300)
        self._enter(self.stages.pop(0))
        self._set_factor(*np.linalg.eigh(self.U))

    def iterate(self) -> None:
        tau, mu = self.tau, self.mu
        reference = max(self.recent)
        for _ in range(60):
            self.work += self.step_seconds
            U, values, vectors = self._shrink(self.U - tau * self.gradient, tau * mu)
            change = U - self.U
            size = float(np.sum(change**2))
            value, gradient = self._evaluate(U)
            merit = value + mu * float(values.sum())
            if merit <= reference - ARMIJO / tau * size + 1e-15 * abs(reference):
                break
            tau *= 0.5
        moved = frobenius(change) / tau
        curvature = float(np.sum(change * (gradient - self.gradient)))
        self.tau = float(np.clip(size / curvature, STEP_MIN, STEP_MAX)) if curvature > 0 else 2 * tau
        self.U, self.value, self.gradient = U, value, gradient
        self.recent = [*self.recent[-MEMORY + 1 :], merit]
        self._set_factor(values, vectors)
        own = moved * frobenius(U) / self.problem.size(2 * self.objective)
        self.steps += 1
        self.residual = np.inf if self.stages else own
        if self.stages and (own <= STAGE_RESIDUAL or self.steps >= STAGE_STEPS):
            self._enter(self.stages.pop(0))

    def multipliers(self) -> Multipliers:
        return self.problem.derivatives(self.V)

    def _enter(self, mu: float) -> None:
        self.mu, self.steps = mu, 0
        self.recent = [self.value + mu * float(np.trace(self.U))]

    def _set_factor(self, values: Array, vectors: Array) -> None:
        kept = values > 1e-14 * max(float(values[-1]), 1e-300)
        kept[-1] = True
        W = self.D[:, None] * vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
        self.V = self.problem.Q @ W
        self.objective = self.value

    def _shrink(self, Y: Array, by: float) -> tuple[Array, Array, Array]:
        """Shrink the eigenvalues of Y by ``by``, but not below zero; shrink them further if tr K <= B."""
        values, vectors = np.linalg.eigh(symmetrize(Y))
        values = np.maximum(values - by, 0.0)
        if self.limit is not None and values.sum() > self.limit:
            values = onto_simplex(values, self.limit)
        return (vectors * values) @ vectors.T, values, vectors

    def _evaluate(self, U: Array) -> tuple[float, Array]:
        """F = <Q'CQ, DUD> + G tr(DUD) + losses at D U D, and its gradient D Q'S Q D."""
        problem, U = self.problem, self.D[:, None] * U * self.D
        value, y = float(np.sum(self.C * U)), []
        for term, z in zip(problem.losses, problem.values_in_basis(U), strict=True):
            value += term.value(z)
            y.append(term.derivative(z))
        slope = dense(problem.restrict(problem.slack(y))) + problem.regularizer.shift * np.eye(problem.order)
        return value, self.D[:, None] * slope * self.D


def _scaling(problem: Statement) -> Array:
    """The scaling D, where D_a^-4 is the curvature of the losses along the kernel q_a q_a'."""
    total = np.zeros(problem.order)
    for a, q in enumerate(problem.Q.T):
        for term, z in zip(problem.losses, problem.values(q[:, None]), strict=True):
            total[a] += 0.5 * term.loss.curvature * float(term.weight @ z**2)
    return np.where(total > 0, np.maximum(total, 1e-300), max(float(total.max()), 1.0)) ** -0.25


@dataclass(frozen=True)
class MFPCPlan(EnginePlan):
    """The plan of mfpc; its engine is made when the run begins."""

    options: MFPCOptions
    iterations = 20_000

    def engine(self) -> MFPCEngine:
        return MFPCEngine(self.problem, self.options)

    def describe(self) -> str:
        s, n = self.problem.order, self.problem.n
        return (
            f"U is {s} x {s} over {n} points, {self.problem.n_pairs} loss values; an eigendecomposition of "
            f"order {s} and two products with Q per iteration; about {8e-6 * (4 * n * s + 8 * s * s):.3g} MB"
        )


def _cost(problem: Statement) -> Cost:
    n, s = problem.n, problem.order
    return Cost(500 * _step_seconds(problem), 8.0 * (4 * n * s + 8 * s**2))


def _step_seconds(problem: Statement) -> float:
    return PRODUCT * problem.n * problem.order**2 + EIGH * problem.order**3 + CALL


PRODUCT, EIGH = 8e-10, 1e-8  # seconds of a step, times n s^2 and s^3
TAKES = Takes(
    losses=("smooth",), regularizers=("none", "trace power"), basis="required",
    powers=Powers("tr K", lambda face: face.p == 1),
)  # fmt: skip
BACKEND = Backend(
    "mfpc", "spectral", "fixed-point continuation on U in a basis, certified", TAKES, MFPCPlan,
    MFPCOptions, _cost,
)  # fmt: skip
