"""One problem on trial: certificates of many points, then every backend; what is claimed against what is true."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from unittest import mock

import mpmath
import numpy as np
import scipy.sparse as sp

import npkl_models as nm
from adversary import exact
from adversary.given import Exact
from adversary.strategies import handed_in, multipliers, points
from npkl_models.feasibility.faces import face_of
from npkl_models.linalg import cholesky
from npkl_models.lowrank.comparisons import compares
from npkl_models.lowrank.factor.centred_system import restorable

TIME_LIMIT = 2.0  # seconds that a backend is given
PATIENCE = 8.0  # and by which it may be late, on a busy machine: a hang is something else
FACTORISED = ("burer_monteiro", "hybrid")  # backends that factorise a matrix of sensors
AGREEMENT = 4e-6  # of two objectives that are both certified to 1e-6
MOST = 40  # kernels that are kept in exact arithmetic
WORSE = 3e-5  # relative to the size of the problem: an objective so much too high does not agree
ROUNDED = 1e-12  # shares of a bound or basis, which floats evaluate


class FalseClaim(AssertionError):
    """Something that was said is not true."""


@dataclass
class Tally:
    """What was tried, and what came of it."""

    counts: Counter = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        for name in ("false", "foreign", "hangs"):
            getattr(self, name).extend(getattr(other, name))
        self.slowest = max(self.slowest, other.slowest)

    def __str__(self) -> str:
        lines = [f"{name:<46}{count:>10,}" for name, count in sorted(self.counts.items())]
        bad = [("false claims", self.false), ("foreign exceptions", self.foreign), ("hangs", self.hangs)]
        lines += [f"{name:<46}{len(found):>10,}" for name, found in bad]
        lines.append(f"{'seconds of the slowest solve, limit ' + str(TIME_LIMIT):<46}{self.slowest:>10.2f}")
        return "\n".join(lines)


@dataclass
class Trial:
    """What is known of one problem: the highest bound that was claimed, and kernels in exact arithmetic."""

    problem: nm.Problem
    tally: Tally
    best: nm.Certificate | None = None
    said: str = ""
    kernels: list[tuple[str, Exact]] = field(default_factory=list)

    def certificates(self, rng: np.random.Generator, rounds: int = 1) -> None:
        """Certify points with multipliers of all kinds."""
        for _ in range(rounds):
            for name, point, kind in points(self.problem, rng):
                V = point if kind == "factor" else np.ones((self.problem.n, 1))
                for how, y in multipliers(self.problem, V, rng):
                    self._certify(f"{name} point, {how} multipliers", point, kind, y)

    def solves(self) -> None:
        """Every backend that takes the problem."""
        objectives: dict[str, nm.Solution] = {}
        for backend, reason in self.problem.compatible_backends().items():
            if reason is not None:
                continue
            self._solve(backend, objectives)
            if backend in FACTORISED and restorable(self.problem):
                with mock.patch.object(cholesky, "WORTH", 0):
                    self._solve(backend, objectives, " with CHOLMOD")
        if objectives:
            self.elsewhere(min(objectives.values(), key=lambda one: one.certificate.relative_gap))

    def _certify(self, name: str, point, kind: str, y) -> None:
        self.tally.counts["certificates"] += 1
        try:
            found = _quietly(lambda: nm.certify(self.problem, point, y, kind=kind))
        except nm.NPKLError:
            self.tally.counts["certificates refused"] += 1
            return
        except Exception as error:  # the adversary's very question
            self.tally.foreign.append(f"certify: {type(error).__name__}: {error}; {name}; {self._words()}")
            return
        self.judge(found, name, point if kind == "kernel" else None)

    def _solve(self, backend: str, objectives: dict[str, nm.Solution], how: str = "") -> None:
        self.tally.counts["solves"] += 1
        if how:
            self.tally.counts[f"solves{how}"] += 1
        if backend == "bcd" and compares(self.problem):
            self.tally.counts["solves of comparisons by bcd"] += 1
        started = time.perf_counter()
        try:
            solution = _quietly(lambda: self.problem.solve(backend, time_limit=TIME_LIMIT))
        except nm.NPKLError:
            self.tally.counts["solves refused"] += 1
            return
        except Exception as error:
            self.tally.foreign.append(f"{backend}{how}: {type(error).__name__}: {error}; {self._words()}")
            return
        seconds = time.perf_counter() - started
        self.tally.slowest = max(self.tally.slowest, seconds)
        if seconds > TIME_LIMIT + PATIENCE:
            self.tally.hangs.append(f"{backend}{how}: {seconds:.1f} s; {self._words()}")
        self.tally.counts[f"solves {solution.status}"] += 1
        met = next((name for name, one in self.kernels if one.feasible), None)
        if solution.status is nm.Status.INFEASIBLE and met is not None:
            self._false(f"{backend}{how} says INFEASIBLE, the {met} is feasible")
        if solution.status is nm.Status.UNBOUNDED and self.best is not None:
            self._false(f"{backend}{how} says UNBOUNDED, {self.best.bound} is a bound")
        if solution.V is None:
            return
        self.judge(solution.certificate, backend + how)
        if solution.status is nm.Status.OPTIMAL:
            for other, known in objectives.items():
                self._compare(backend + how, solution, other, known)
            objectives[backend + how] = solution

    def _compare(self, name: str, solution: nm.Solution, other: str, known: nm.Solution) -> None:
        """Two points that are both OPTIMAL, each for its own targets, which multipliers price."""
        doubt = AGREEMENT * self.problem.size(known.objective, solution.objective)
        for point in (solution, known):
            for part, *nu in zip(
                Exact(self.problem, point.V).residuals(Exact(self.problem, point.V).rows),
                *(one.certificate.multipliers.constraints for one in (solution, known)), strict=True,
            ):  # fmt: skip
                doubt += sum(float(np.abs(one) @ np.abs(np.array(part, dtype=float))) for one in nu)
        if abs(known.objective - solution.objective) > doubt:
            self._false(f"{name} and {other} are both OPTIMAL, {solution.objective} and {known.objective}")

    def elsewhere(self, best: nm.Solution) -> None:
        """Kernels near an optimal one, handed in: none may be said to be better than it is."""
        given = handed_in(best.V)
        try:
            table = _quietly(lambda: nm.crosscheck(self.problem, [], points={"best": best.V, **given}))
        except nm.NPKLError:
            self.tally.counts["points handed in refused"] += 1
            return
        except Exception as error:
            self.tally.foreign.append(f"crosscheck: {type(error).__name__}: {error}; {self._words()}")
            return
        verdicts = {row.backend: row.verdict for row in table.rows}
        for name, K in given.items():
            if name not in table.solutions:
                continue
            self.tally.counts["points handed in"] += 1
            solution = table.solutions[name]
            self.judge(solution.certificate, f"{name}, handed in", K)
            self.judge_status(solution, name, K, verdicts[name], best)

    def judge_status(self, solution: nm.Solution, name: str, K, verdict: str, best: nm.Solution) -> None:
        """What is said of a kernel from elsewhere, against what it misses and what it costs exactly."""
        said = [str(solution.status)] if solution.status is nm.Status.OPTIMAL else []
        said += [verdict] if verdict == "agrees" else []
        own, most = Exact(self.problem, K, kernel=True), 1e-7 * (1 + 1e-6) + ROUNDED
        if said and max(own.violation, own.indefinite) > most:
            what = f"misses a constraint by {own.violation}, PSD by {own.indefinite}"
            self._false(f"{name}, handed in, is {said}, but {what}")
        dearer = float(own.objective - exact.real(Exact(self.problem, best.V).objective))
        if self.problem.constraints or own.grown > 1 or own.off_basis > ROUNDED:
            return
        for words, worse in (("OPTIMAL", AGREEMENT), ("agrees", WORSE)):
            if words in said and dearer > worse * self.problem.size(best.objective):
                self._false(f"{name}, handed in, is {words}, but its objective is too high by {dearer}")

    def judge(self, found: nm.Certificate, name: str, kernel: np.ndarray | None = None) -> None:
        """The claims of a certificate of a point, or of a kernel that may not be PSD."""
        claimed = found.rigour in ("proved", "probable") and np.isfinite(found.bound)
        if np.isnan([found.bound, found.objective, found.gap, found.violation]).any() or found.gap < 0:
            self._false(f"{name}: bound {found.bound}, objective {found.objective}, gap {found.gap}")
        dual = None
        if claimed and self._rational():
            self.tally.counts["bounds checked in exact arithmetic"] += 1
            dual = exact.real(exact.dual_value(self.problem, found.multipliers))
            if not mpmath.mpf(found.bound) <= dual:
                self._false(
                    f"{name}: bound {found.bound!r} is above the exact {float(dual)!r}, repair {found.repair}"
                )
        own = Exact(self.problem, found.point)
        if kernel is not None and found.point_min_eigenvalue < 0:
            own = Exact(self.problem, np.asarray(kernel), kernel=True)
        self._judge_point(found, name, own)
        if dual is not None and np.isfinite(found.gap) and mpmath.isfinite(dual):
            self._judge_gap(found, name, own, dual)
        if claimed and (self.best is None or found.bound > self.best.bound):
            self.best, self.said = found, name
            for other, one in self.kernels:
                self._weak_duality(other, one)
        if not own.kernel and len(self.kernels) < MOST:
            self.kernels.append((name, own))
            self._weak_duality(name, own)

    def _judge_point(self, found: nm.Certificate, name: str, own: Exact) -> None:
        """What the point misses, and its objective where an upper bound is claimed."""
        counts = self.tally.counts
        counts["feasible points"] += found.feasible
        floats = 0.0 if own.grown == 1 and not own.off_basis else ROUNDED * (1 + own.violation)
        if not found.violation >= own.violation - floats:
            self._false(f"{name}: violation {found.violation!r}, exactly {own.violation!r}")
        if found.indefinite < min(own.indefinite, 1.0) * (1 - 1e-6) - ROUNDED:
            self._false(f"{name}: negative part {found.indefinite!r}, exactly {own.indefinite!r}")
        if np.isfinite(found.relative_gap) and not found.feasible:
            self._false(f"{name}: relative gap {found.relative_gap} of a point that is not feasible")
        if found.upper == np.inf:
            return
        counts["upper bounds checked in exact arithmetic"] += 1
        true = max(exact.real(own.objective), exact.real(own.objective_there))
        doubt = found.upper - found.objective
        if not true <= mpmath.mpf(found.upper) or float(own.objective) < found.objective - doubt:
            self._false(f"{name}: objective {found.objective!r} to {found.upper!r}, exactly {float(true)!r}")
        met = own.violation <= ROUNDED
        if self._rational():
            met = not any(r for part in own.residuals(own.there) for r in part)
        if not met or own.grown > 1 or own.kernel:
            self._false(f"{name}: an upper bound {found.upper!r} of a point that is not feasible")

    def _judge_gap(self, found: nm.Certificate, name: str, own: Exact, dual) -> None:
        """The gap against the exact objective and dual value for the targets that the point meets."""
        self.tally.counts["gaps checked in exact arithmetic"] += 1
        with mpmath.workdps(exact.DIGITS):
            true = exact.real(own.objective) - dual + own.owed(found.multipliers)
            true += own.below(found.multipliers)
        if not true <= mpmath.mpf(found.gap):
            self._false(f"{name}: gap {found.gap!r}, exactly {float(true)!r}, repair {found.repair}")

    def _weak_duality(self, name: str, own: Exact) -> None:
        """No kernel is below the best bound, once the multipliers price what it misses."""
        found = self.best
        moved = found is not None and self._rational() and own.grown == 1
        if found is None or not (moved or own.feasible):
            return
        self.tally.counts["kernels against the best bound"] += 1
        with mpmath.workdps(exact.DIGITS):
            least = mpmath.mpf(found.bound) - (own.owed(found.multipliers) if moved else 0)
        if least > exact.real(own.objective_there):
            self._false(
                f"bound {found.bound!r} of {self.said} is above {float(own.objective_there)!r} of {name}, "
                f"feasible: {own.feasible}"
            )
            self.best = None

    def _rational(self) -> bool:
        return face_of(self.problem).whole

    def _false(self, text: str) -> None:
        self.tally.false.append(f"{text}; {self._words()}")

    def _words(self) -> str:
        P = self.problem
        parts = [
            f"{type(t.functional).__name__}{_given(t.functional)} {t.loss.name} t={t.target.tolist()} w={t.weight.tolist()}"
            for t in P.losses
        ]
        hard = [
            f"{type(e.functional).__name__}{_given(e.functional)} in {e.lower.tolist()}, {e.upper.tolist()}"
            for e in P.constraints
        ]
        basis = None if P.basis is None else exact.as_numbers(P.basis.Q).tolist()
        return f"C={sp.csr_array(P.cost).toarray().tolist()}, terms={parts}, equalities={hard}, {P.regularizer}, basis={basis}"


def _quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def _given(functional) -> list:
    """What it was made of."""
    return [[i.tolist() for i in functional.indices], {k: a.tolist() for k, a in functional.numbers.items()}]
