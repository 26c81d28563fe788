"""The backend interior: it follows the central path until a certificate confirms a factor and multipliers.

The kernel of an iterate has full rank. The factor keeps only its leading part, because the barrier leaves
small eigenvalues that are zero at an optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.answer.solution import Status
from npkl_models.certificates.certificate import Certificate, relative_gap
from npkl_models.certificates.repairs import NO_NEED
from npkl_models.errors import UnsupportedError
from npkl_models.files.machine import available_bytes
from npkl_models.interior.cone import RATE
from npkl_models.interior.path import MET, Iterate
from npkl_models.interior.program import iteration_of, takes
from npkl_models.interior.program_run import AGAIN, ITERATIONS, STALLED, ProgramRun
from npkl_models.interior.rescaling import BEGIN, EVERY, factor_of, rescalable, rescaled
from npkl_models.interior.schur import IN_NUMPY, USUAL
from npkl_models.interior.squares import squares_in
from npkl_models.interior.values import values_of
from npkl_models.linalg import Array
from npkl_models.linalg.compile import WORTH
from npkl_models.model.conjugates import quadratic_conjugates
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import Options
from npkl_models.solve.takes import Powers, Takes
from npkl_models.solve.watch import RunMonitor

LOOK = 0.3  # the factor is certified when the gap of the iterate is below this multiple of tol
OPEN = 0.1  # above this gap, a smaller distance of objective and bound counts as progress
FAR = 1e9  # if the objective is this many times its first size, primal or dual has no solution
ALWAYS = 0.02  # an iteration that takes fewer seconds begins whatever the limit
LEAST = 0.5  # the first iteration takes at least this share of the predicted seconds


@dataclass(frozen=True, kw_only=True)
class InteriorOptions(Options):
    """Options of interior.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of iterations, 100 by default.
    """


@dataclass(frozen=True)
class InteriorPlan:
    """The plan of interior; its variables are made when the run begins."""

    problem: Statement
    options: InteriorOptions

    def run(self, watch: RunMonitor) -> Claim:
        """Follow the central path until the point is certified, or a limit is reached."""
        kind = ProgramRun if takes(self.problem) else _Run
        run = kind(self.problem, self.options, watch)
        status = watch.attempt(run.until)
        return run.claim(status)

    def describe(self) -> str:
        """Describe the sizes and the memory."""
        values = values_of(self.problem)
        return (
            f"K and S of order {values.order}, {values.size} multipliers with {values.box.count} bounds; a "
            f"Schur complement of that order an iteration; about {cost_of(self.problem).bytes / 1e6:.3g} MB"
        )


class _Run:
    """The state of one run."""

    scaling: Array | None = None  # T, if the kernel is T K T' for the K of the iterate
    gap = np.inf  # relative gap of the last iterate
    distance = np.inf  # distance of objective and bound of the last iterate

    def __init__(self, problem: Statement, options: InteriorOptions, watch: RunMonitor) -> None:
        self.problem, self.options, self.watch = problem, options, watch
        self.iterate = Iterate(values_of(problem))
        self.rescaled_at = 0 if rescalable(self.iterate.values) else ITERATIONS * ITERATIONS
        self.certificates: list[Certificate] = []
        self.center: Multipliers | None = None  # of the last dual feasible iterate far from the boundary
        self.threshold = LOOK * options.tol
        self.smallest, self.at = np.inf, 0
        self.size = problem.size(self.iterate.objective(), problem.cost_unit * problem.kernel_unit)
        self.one = LEAST * iteration_seconds(problem)
        watch.expect(self.one)

    def until(self) -> Status:
        """Iterate until the point is certified, or iterations gain nothing; the status at the end."""
        for iteration in range(1, (self.options.max_iter or ITERATIONS) + 1):
            if self.one > ALWAYS and not self.watch.affords(self.one):
                return Status.TIME_LIMIT
            began = self.watch.seconds
            self._rescale(iteration)
            try:
                self.iterate.advance()
            except np.linalg.LinAlgError as error:
                self.watch.trouble = f"stopped at iteration {iteration}: {error}"
                return self._finally(Status.INACCURATE)
            self.one = self.watch.seconds - began
            status = self._after(iteration)
            if status is not None:
                return status
        return self._finally(Status.ITERATION_LIMIT)

    def _rescale(self, iteration: int) -> None:
        """Change the coordinates (`npkl_models.interior.rescaling`) if this saves digits and is due."""
        if self.iterate.rho or not self.gap < BEGIN or iteration - self.rescaled_at < EVERY:
            return
        self.rescaled_at = iteration
        try:
            self.iterate, T = rescaled(self.iterate)
        except np.linalg.LinAlgError:  # K or S is singular to rounding: the coordinates stay
            return
        self.scaling = T if self.scaling is None else self.scaling @ T

    def _after(self, iteration: int) -> Status | None:
        now = self.iterate
        objective, bound = now.objective(), now.bound()
        if not np.isfinite([objective, bound]).all():
            return Status.FAILED
        if now.rho == 0.0 and (self.center is None or self.gap > np.sqrt(self.options.tol)):
            self.center = now.values.multipliers(now.y)
        gap = self.gap = relative_gap(objective, bound, self.problem.size(), abs(objective - bound))
        self.watch.record(iteration, objective, np.nan if now.rho else bound, gap, now.values.order)
        stalled = self._stalled(iteration, gap, abs(objective - bound))
        if now.rho == 0.0 and gap <= self.threshold:
            found = self._look()
            if self.watch.suffices(found):
                return Status.OPTIMAL
            self.threshold = AGAIN * gap
        if bound > FAR * self.size and gap > 0.1:
            return Status.INFEASIBLE
        if objective < -FAR * self.size:
            return Status.UNBOUNDED
        if stalled:
            return self._finally(Status.INACCURATE)
        return self.watch.heed(None)

    def _stalled(self, iteration: int, gap: float, distance: float) -> bool:
        """Whether too many iterations have made no progress."""
        nearer, self.distance = gap > OPEN and distance < 0.5 * self.distance, distance
        if self.iterate.rho or self.iterate.amiss > MET:  # objective and bound may cross
            self.smallest, self.at = np.inf, iteration
        elif nearer or gap < 0.9 * self.smallest:
            self.smallest, self.at = min(gap, self.smallest), iteration
        return iteration - self.at >= STALLED

    def _finally(self, status: Status) -> Status:
        """Certify the last point; OPTIMAL if the certificate suffices, else the given status."""
        return Status.OPTIMAL if self.watch.suffices(self._look()) else status

    def _look(self) -> Certificate:
        values = self.iterate.values
        y = values.multipliers(self.iterate.y)
        V = factor_of(self.problem, self.iterate.K, y, self.options.tol, self.scaling)
        found = self.watch.certify(self.problem, V, y)
        lost = not self.watch.suffices(found) and found.repair != NO_NEED
        if lost and self.center is not None and self.watch.offer(self.problem, self.center):
            found = self.watch.certify(self.problem, V, y)
        if found.rigour == "probable" and self.watch.suffices(found):
            proof = self.watch.certify(self.problem, V, y, method="cholesky")
            found = proof if self.watch.suffices(proof) and proof.rigour == "proved" else found
        self.certificates.append(found)
        return found

    def claim(self, status: Status) -> Claim:
        """The claim with the best certified point, or with the last one."""
        if not self.certificates and status is not Status.FAILED and self.watch.rows:
            self._look()
        found = min(self.certificates, key=lambda one: (one.relative_gap, one.violation), default=None)
        now, count = self.iterate, len(self.watch.rows)
        V = None if found is None else found.point
        y = None if found is None else found.multipliers
        words = f"mu {now.mu:.1e}"
        if not self.watch.rows:
            words = (
                "the time limit allows no iteration: the first one and its certificate take about "
                f"{self.one:.2g} s each; raise time_limit"
            )
        return Claim(V, y, status, now.objective(), count, words, certificate=found)


def cost_of(problem: Statement) -> Cost:
    """The predicted cost: dense algebra of the order, of the number of multipliers, and of H's entries.

    The rest takes 10 ms, and an iteration 1 ms at least (``regret.py --of formulations``, seed 31).
    """
    if takes(problem):
        seconds, size = iteration_of(problem)
        return Cost(0.01 + USUAL * seconds, size, sure=True)
    (m, e), s, n = _counts(problem), float(problem.order), float(problem.n)
    inner = 2 * n**2 + sum(problem.sizes) * s**2 if problem.basis is not None else 0.0
    inner += (e if problem.basis is None else min(e, s**2)) ** 2
    return Cost(0.01 + USUAL * iteration_seconds(problem), 8.0 * (11 * s**2 + 3 * m**2 + inner), sure=True)


def iteration_seconds(problem: Statement) -> float:
    """The predicted seconds of one iteration."""
    if takes(problem):
        return iteration_of(problem)[0]
    (m, e), s = _counts(problem), float(problem.order)
    rows = IN_NUMPY * e**2
    gathered = rows / USUAL if rows <= WORTH else 40 * e**2 / RATE
    return 1e-3 + (8 * s**3 + m**3 / 3) / RATE + gathered


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
