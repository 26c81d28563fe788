"""The backend interior: it follows the central path until a certificate confirms a factor and multipliers.

The kernel of an iterate has full rank. The factor keeps only its leading part, because the barrier leaves
small eigenvalues that are zero at an optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.certificates.certificate import Certificate, relative_gap
from npkl_models.certificates.repairs import NO_NEED
from npkl_models.errors import UnsupportedError
from npkl_models.files.machine import available_bytes
from npkl_models.interior.path import MET, Iterate
from npkl_models.interior.rescaling import BEGIN, EVERY, factor_of, rescalable, rescaled
from npkl_models.interior.schur import IN_NUMPY, USUAL
from npkl_models.interior.squares import squares_in
from npkl_models.interior.steps import RATE
from npkl_models.interior.values import blocks, general, values_of
from npkl_models.linalg import Array
from npkl_models.linalg.compile import WORTH
from npkl_models.model.conjugates import quadratic_conjugates
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.scale import FAINT
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.engine import Engine
from npkl_models.solve.engine_plan import ALWAYS, NEXT_LOOK, EnginePlan, Run
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import Options
from npkl_models.solve.takes import Powers, Takes

LOOK = 0.3  # the factor is certified when the gap of the iterate is below this multiple of tol
STALLED = 15  # a run ends after so many iterations without a better point
OPEN = 0.1  # above this gap, a smaller distance of objective and bound counts as progress
LEAST = 0.5  # the first iteration takes at least this share of the predicted seconds
FAR = 1e8  # if a value is this many times the size of the data, primal or dual may have no solution


@dataclass(frozen=True, kw_only=True)
class InteriorOptions(Options):
    """Options of interior.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of iterations, 100 by default.
    """


class InteriorEngine(Engine):
    """The iterates of one run; V and multipliers are those of the best one so far."""

    late = False  # whether no time is left to find the rank of the factor
    shown = None  # the objective of an iterate is that of a kernel of full rank, not of V
    center: Multipliers | None = None  # strictly feasible multipliers, far from the boundary

    first_look, patience = LOOK, STALLED

    def __init__(self, problem: Statement, options: InteriorOptions) -> None:
        self.problem, self.options = problem, options
        self.values = values_of(problem)
        self.general = general(problem)
        self.now = Iterate(self.values)
        self.count, self.rescaled_at = 0, 0
        self.rescalable = not self.general and rescalable(self.values)
        self.scaling: Array | None = None  # T, if the kernel is T K T' for the K of the iterate
        self.objective, self.distance = self.values.objective(self.now.X), np.inf
        self.residual = self.gap = self.least = np.inf
        self.size = problem.size(self.objective, problem.cost_unit * problem.kernel_unit)
        self._keep()

    @property
    def rank(self) -> int:
        return self.problem.order

    def iterate(self) -> None:
        self.count += 1
        self._rescale()
        try:
            self.now.advance()
        except np.linalg.LinAlgError as error:
            self.note, self.hopeless = f"stopped at iteration {self.count}: {error}", True
            self._diverges(-np.inf, np.sqrt(FAR))
            return
        now, problem = self.now, self.problem
        self.note = f"mu {now.mu:.1e}"
        self.objective, bound = now.program.objective(now.X), now.bound - self.values.constant
        self.bound = bound if now.met else np.nan
        distance, before = abs(self.objective - bound), self.distance
        self.distance = distance
        self.gap = relative_gap(self.objective, bound, problem.size(), distance)
        if now.met and (self.center is None or self.gap > np.sqrt(self.options.tol)):
            self.center = self.values.multipliers(now.y)
        nearer = self.gap > OPEN and distance < 0.5 * before
        self.moving = not self.general and (not now.met or now.amiss > MET or nearer)
        self.residual = self._merit()
        if self.residual < 0.9 * self.least or not (self.general or now.met):
            self._keep()
        self._diverges(bound, FAR)

    def _merit(self) -> float:
        """The gap, or the residual in units of the feasibility that is asked, in units of tol."""
        now, options = self.now, self.options
        if not self.general:
            return self.gap if now.met else max(self.gap, 1.0)
        b = self.values.box.b
        primal = float(np.max(np.abs(now.missed), initial=0.0)) / (1 + float(np.max(np.abs(b), initial=0.0)))
        size = self.problem.size(self.objective, now.bound) + FAINT * self.size
        gap = now.mu * self.values.degree / size
        return float(max(gap, max(primal, now.rho) * options.tol / options.feasibility))

    def _keep(self) -> None:
        """Remember the iterate as the best one so far."""
        now = self.now
        self.kept = now.X, now.L_X, now.y, self.scaling
        self.least = self.residual
        self.__dict__.pop("V", None)

    @cached_property
    def V(self) -> Array:  # type: ignore[override]
        """The factor of the best iterate, or of the last one where the objective falls without end."""
        X, L, _, scaling = self.kept
        if self.general:
            return self.values.factor(L)
        if self.late:
            return self.problem.lift(L[0] if scaling is None else scaling @ L[0])
        return factor_of(self.problem, X[0], self.multipliers(), self.options.tol, scaling)

    def multipliers(self) -> Multipliers:
        y = self.now.y if self.verdict is Status.INFEASIBLE else self.kept[2]
        return self.values.multipliers(y)

    def _diverges(self, bound: float, far: float) -> None:
        """Set the verdict if a value is far beyond the data; the last iterate is proposed as a ray."""
        if bound > far * self.size and self.gap > OPEN and self.now.met:
            self.verdict = Status.INFEASIBLE
        elif self.objective < -far * self.size:
            self.verdict = Status.UNBOUNDED
            self._keep()

    def _rescale(self) -> None:
        """Change the coordinates (`npkl_models.interior.rescaling`) if this saves digits and is due."""
        early = not self.now.met or not self.gap < BEGIN or self.count - self.rescaled_at < EVERY
        if early or not self.rescalable:
            return
        self.rescaled_at = self.count
        try:
            self.now, T = rescaled(self.now)
        except np.linalg.LinAlgError:  # K or S is singular to rounding: the coordinates stay
            return
        self.scaling = T if self.scaling is None else self.scaling @ T


class PathRun(Run):
    """The loop along the central path: no columns to add, and whole certificates from the first."""

    engine: InteriorEngine
    seen: object = None  # the iterate of the last look

    def _look(self, iteration: int, stuck: bool) -> tuple[Status | None, float]:
        found, self.seen = self._certificate(quick=False), self.engine.kept
        if found.certifies(self.tol):
            found = self._proof(found)
        self.last = found if self.last is None else min(self.last, found, key=self._order)
        self.threshold = min(self.threshold, NEXT_LOOK * self.engine.residual)
        status = Status.OPTIMAL if self.watch.suffices(found) else Status.INACCURATE if stuck else None
        return status, found.bound

    def _order(self, found: Certificate) -> tuple[bool, float, float]:
        return not self.watch.suffices(found), found.relative_gap, found.violation

    def _certificate(self, quick: bool, last: bool = False, method: str = "auto") -> Certificate:
        engine, watch, y = self.engine, self.watch, self.engine.multipliers()
        asked: dict[str, Any] = {"last": last, "method": method, "quick": quick}
        asked["restoring"] = not engine.general
        found = watch.certify(self.problem, engine.V, y, **asked)
        lost = not watch.suffices(found) and found.repair != NO_NEED
        if lost and engine.center is not None and watch.offer(self.problem, engine.center):
            found = watch.certify(self.problem, engine.V, y, **asked)
        return found

    def _proof(self, found: Certificate) -> Certificate:
        """A proof, which costs little beside an iteration."""
        if found.rigour == "proved":
            return found
        proof = self._certificate(quick=False, method="cholesky")
        return proof if proof.rigour == "proved" and self.watch.suffices(proof) else found

    def claim(self, status: Status) -> Claim:
        engine, known = self.engine, self.last
        if known is not None and self.seen is engine.kept and not (engine.verdict or status is Status.FAILED):
            count, y = len(self.watch.rows), known.multipliers
            return Claim(known.point, y, status, engine.objective, count, engine.note, certificate=known)
        one = iteration_seconds(self.problem)
        engine.late = status is Status.TIME_LIMIT and one > ALWAYS and not self.watch.affords(one)
        claim = super().claim(status)
        found = claim.certificate
        if known is None or found is None or self._order(found) <= self._order(known):
            return claim
        return replace(claim, V=known.point, multipliers=known.multipliers, certificate=known)


@dataclass(frozen=True)
class InteriorPlan(EnginePlan):
    """The plan of interior; its variables are made when the run begins."""

    options: InteriorOptions
    loop = PathRun
    iterations = 100

    def engine(self) -> InteriorEngine:
        return InteriorEngine(self.problem, self.options)

    def ahead(self) -> float:
        return LEAST * iteration_seconds(self.problem)

    def describe(self) -> str:
        values = values_of(self.problem)
        return (
            f"K and S of order {self.problem.order}, {values.box.b.size} multipliers with {values.box.count} "
            "bounds; a Schur complement of that order an iteration; about "
            f"{cost_of(self.problem).bytes / 1e6:.3g} MB"
        )


def cost_of(problem: Statement) -> Cost:
    """The predicted cost: dense algebra of the order, of the number of multipliers, and of H's entries.

    The rest takes 10 ms, and an iteration 1 ms at least (``regret.py --of formulations``, seed 31).
    """
    if general(problem):
        seconds, size = iteration_of(problem)
        return Cost(0.01 + USUAL * seconds, size, sure=True)
    (m, e), s, n = _counts(problem), float(problem.order), float(problem.n)
    inner = 2 * n**2 + sum(problem.sizes) * s**2 if problem.basis is not None else 0.0
    inner += (e if problem.basis is None else min(e, s**2)) ** 2
    return Cost(0.01 + USUAL * iteration_seconds(problem), 8.0 * (11 * s**2 + 3 * m**2 + inner), sure=True)


def iteration_seconds(problem: Statement) -> float:
    """The predicted seconds of one iteration."""
    if general(problem):
        return iteration_of(problem)[0]
    (m, e), s = _counts(problem), float(problem.order)
    rows = IN_NUMPY * e**2
    gathered = rows / USUAL if rows <= WORTH else 40 * e**2 / RATE
    return 1e-3 + (8 * s**3 + m**3 / 3) / RATE + gathered


def iteration_of(problem: Statement) -> tuple[float, float]:
    """Predicted seconds and bytes of an iteration on a problem with `blocks`."""
    parts, m = blocks(problem), float(sum(problem.sizes))
    dense = float(sum(part.C.size for part in parts))
    entries = sum(float(part.A.nnz) for part in parts)
    seconds = m**3 / 3 / RATE + sum(part.seconds for part in parts)
    return seconds, 8.0 * (12 * dense + 3 * m**2 + 4 * entries + 3 * float(problem.n) ** 2)


def _counts(problem: Statement) -> tuple[float, float]:
    """The numbers of multipliers, and of distances or different entries of K that all values need."""
    m, n, s = float(sum(problem.sizes)), float(problem.n), float(problem.order)
    if problem.basis is not None and problem.basis.shared is None:
        coordinates = s * (s + 1) / 2
        squares = float(sum(squares_in(part.box).sum() for part in problem.terms))
        if squares > coordinates:
            return m - squares + coordinates, coordinates
    every = (part.functional for part in problem.terms)
    needed = sum(float(f.size) * max(1, 3 * f.additions, 3 * (f.arity - 1) * (f.arity > 2)) for f in every)
    return m, min(needed, n * (n + 1) / 2)


def _plan(problem: Statement, options: InteriorOptions) -> InteriorPlan:
    """Check that the problem fits into memory."""
    need, have = cost_of(problem).bytes, available_bytes()
    if need > have:
        raise UnsupportedError(
            f"interior must fit into memory, got order {problem.order} and {problem.n_pairs} values that "
            f"need about {need / 1e9:.0f} GB of {have / 1e9:.0f} GB; use a low-rank backend, or fewer points"
        )
    return InteriorPlan(problem, options)


TAKES = Takes(
    losses=("any",), regularizers=("none", "trace power"), basis="yes", constraints="yes",
    powers=Powers("tr K", lambda face: face.p == 1),
    functionals=(
        "entries", "squared distances", "distance differences", "combinations of distances", "trace",
        "sparse matrices",
    ),
    beyond=lambda problem: quadratic_conjugates(problem.losses, entropy=True),
)  # fmt: skip
BACKEND = Backend(
    "interior", "interior", "the exact SDP by an interior-point method of our own", TAKES, _plan,
    InteriorOptions, cost_of,
)  # fmt: skip
