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
from adversary.strategies import multipliers, points
from npkl_models.linalg import cholesky
from npkl_models.lowrank.comparisons import compares
from npkl_models.lowrank.factor.centred_system import restorable
from npkl_models.presolve.faces import face_of

TIME_LIMIT = 2.0  # seconds that a backend is given
PATIENCE = 8.0  # and by which it may be late, on a busy machine: a hang is something else
FACTORISED = ("burer_monteiro", "hybrid")  # backends that factorise a matrix of sensors
AGREEMENT = 4e-6  # of two objectives that are both certified to 1e-6


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
    """What is known of one problem: the highest bound and the lowest objective that were claimed."""

    problem: nm.Problem
    tally: Tally
    bound: float = -np.inf
    upper: float = np.inf
    said: str = ""

    def certificates(self, rng: np.random.Generator, rounds: int = 1) -> None:
        """Certify points with multipliers of all kinds."""
        for _ in range(rounds):
            for name, point, kind in points(self.problem, rng):
                V = point if kind == "factor" else np.ones((self.problem.n, 1))
                for how, y in multipliers(self.problem, V, rng):
                    self._certify(f"{name} point, {how} multipliers", point, kind, y)

    def solves(self) -> None:
        """Every backend that takes the problem."""
        objectives: dict[str, float] = {}
        for backend, reason in self.problem.compatible_backends().items():
            if reason is not None:
                continue
            self._solve(backend, objectives)
            if backend in FACTORISED and restorable(self.problem):
                with mock.patch.object(cholesky, "WORTH", 0):
                    self._solve(backend, objectives, " with CHOLMOD")

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
        self.judge(found, name)

    def _solve(self, backend: str, objectives: dict[str, float], how: str = "") -> None:
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
        if solution.status is nm.Status.INFEASIBLE and np.isfinite(self.upper):
            self._false(f"{backend}{how} says INFEASIBLE, a kernel of objective {self.upper} is feasible")
        if solution.status is nm.Status.UNBOUNDED and np.isfinite(self.bound):
            self._false(f"{backend}{how} says UNBOUNDED, {self.bound} is a bound")
        if solution.V is None:
            return
        self.judge(solution.certificate, backend + how)
        if solution.status is nm.Status.OPTIMAL:
            objectives[backend + how] = solution.objective
            for other, value in objectives.items():
                if abs(value - solution.objective) > AGREEMENT * self.problem.size(value, solution.objective):
                    self._false(
                        f"{backend}{how} and {other} are both OPTIMAL, {solution.objective} and {value}"
                    )

    def judge(self, found: nm.Certificate, name: str) -> None:
        """The claims of a certificate, against exact arithmetic and against all other claims."""
        claim = found.bound if found.rigour in ("proved", "probable") else -np.inf
        if np.isnan(found.bound) or np.isnan(found.objective):
            self._false(f"{name}: bound {found.bound}, objective {found.objective}")
        if np.isfinite(claim) and found.repair != "trace bound" and self._rational():
            self.tally.counts["bounds checked in exact arithmetic"] += 1
            true = exact.dual_value(*self._plain(found))
            if not mpmath.mpf(claim) <= exact.real(true):
                self._false(
                    f"{name}: bound {claim!r} is above the exact {float(true)!r}, repair {found.repair}"
                )
        if found.feasible:
            self.tally.counts["feasible points"] += 1
            true = exact.objective(self.problem, found.point)
            doubt = found.upper - found.objective
            if not exact.real(true) <= mpmath.mpf(found.upper) or float(true) < found.objective - doubt:
                self._false(
                    f"{name}: objective {found.objective!r} to {found.upper!r}, exactly {float(true)!r}"
                )
            self.upper = min(self.upper, found.upper)
        if claim > self.bound:
            self.bound, self.said = claim, name
        if self.bound > self.upper and not (self.bound - self.upper <= 1e-13 * abs(self.upper)):
            self._false(f"bound {self.bound!r} of {self.said} is above {self.upper!r}, feasible by {name}")
            self.bound = -np.inf

    def _rational(self) -> bool:
        return face_of(self.problem).whole

    def _plain(self, found: nm.Certificate):
        return self.problem, found.multipliers

    def _false(self, text: str) -> None:
        self.tally.false.append(f"{text}; {self._words()}")

    def _words(self) -> str:
        P = self.problem
        parts = [
            f"{type(t.functional).__name__}{_given(t.functional)} {t.loss.name} t={t.target.tolist()} w={t.weight.tolist()}"
            for t in P.terms
        ]
        hard = [
            f"{type(e.functional).__name__}{_given(e.functional)} = {e.value.tolist()}" for e in P.equalities
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
