"""One solver step by step, each iterate with its certificate; and two in a race of processor time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from npkl_models.answer.history import Iterate
from npkl_models.answer.solution import Solution
from npkl_models.certificates.certificate import Certificate
from npkl_models.errors import ProblemError
from npkl_models.explore.jobs import Job
from npkl_models.formulations.known_distances import Anchors
from npkl_models.linalg import Array, numerical_rank
from npkl_models.linalg.compile import seconds_compiling
from npkl_models.model.statement import Statement
from npkl_models.problem import Problem
from npkl_models.routes import get_backend
from npkl_models.show.plots.style import POINTS, evenly
from npkl_models.solve.outside import certify

MOST_POINTS = 300  # the largest number of points whose iterates are judged
SHOWN = 60  # the largest number of iterates shown; of more, the first ones and then fewer and fewer
FIRST = 20
KEPT = 3_000  # the largest number of factors that are kept while the solver runs
MOST_RACING = 500  # the largest number of points of a race; up to it one thread computes
EQUAL = 1.2  # a smaller ratio of times counts as a draw


class Step(NamedTuple):
    """An iterate, its certificate, the slack's low eigenvector (n,), and places of the points (n x 2)."""

    row: Iterate
    proof: Certificate
    direction: Array
    places: Array


class Recorder:
    """A solver's callback that keeps the factors, so that they can be certified after the run."""

    def __init__(
        self, problem: Statement, ask: Callable[[Iterate], bool], anchors: Anchors | None = None
    ) -> None:
        if problem.n > MOST_POINTS:
            most = f"up to {MOST_POINTS} points"
            raise ProblemError(f"the steps of a solver are shown for {most}, got {problem.n}")
        self.problem, self._ask, self.anchors = problem, ask, anchors
        self.rows: list[Iterate] = []
        self.blind = 0  # number of iterates without a factor

    def __call__(self, row: Iterate) -> bool:
        """Keep a copy of the factor; return the result of the page's own callback."""
        if row.V is None or len(row.V) != self.problem.n:
            self.blind += 1
        elif len(self.rows) < KEPT:
            self.rows.append(row._replace(V=row.V.copy()))
        return self._ask(row)

    def judged(self, final: Array | None, progress: Callable[[int, int], None]) -> list[Step]:
        """The steps that are shown; the last step is the solution."""
        if not self.rows:
            raise ProblemError(
                "to be shown step by step, a solver must have a factor at each iteration, got "
                f"{self.blind} iterations without a factor; use bcd, burer_monteiro, hybrid or admm"
            )
        rows = [self.rows[k] for k in shown(len(self.rows))]
        if final is not None:
            rows.append(rows[-1]._replace(V=np.array(final)))
        found: list[Step] = []
        for k, row in enumerate(rows):
            progress(k + 1, len(rows))
            proof, places = (
                certify(self.problem, np.asarray(row.V), kind="factor", search=0),
                self._places(row.V),
            )
            direction = np.array(proof.direction)
            if found and direction @ found[-1].direction < 0:
                direction = -direction
            if found and self.anchors is None:
                u, _, w = np.linalg.svd(places.T @ found[-1].places)
                places = places @ (u @ w)
            found.append(Step(row, proof, direction, places))
        return found

    def _places(self, V: Any) -> Array:
        if self.anchors is None:
            u, s, _ = np.linalg.svd(V - V.mean(axis=0), full_matrices=False)
            along = u * s
        else:
            along = self.anchors.located(V)[0] - self.anchors.centre
        return np.pad(along[:, :2], ((0, 0), (0, max(0, 2 - along.shape[1]))))


def shown(count: int) -> list[int]:
    """The numbers of the iterates that are shown: the first ones, then fewer and fewer, and the last one."""
    if count <= SHOWN:
        return list(range(count))
    later = np.geomspace(FIRST, count - 1, SHOWN - FIRST).round().astype(int)
    return sorted({*range(FIRST), *later.tolist(), count - 1})


def numbers(steps: list[Step], labels: Any, anchors: Anchors | None = None) -> dict[str, Any]:
    """The steps for the page; the points are in the order of their classes, and anchors are marked."""
    known = np.zeros(len(steps[0].direction)) if labels is None else np.asarray(labels)
    order, proofs = np.argsort(known, kind="stable"), [one.proof for one in steps]
    size, marked = None, None
    if anchors is not None:
        size = float(np.abs([one.places for one in steps]).max())
        marked = np.isin(order, anchors.points)
    best = np.array([one.bound for one in proofs])
    best[~np.isfinite(best)] = -np.inf
    out: dict[str, Any] = {
        name: [getattr(proof, name) for proof in proofs]
        for name in ("objective", "bound", "min_eigenvalue", "rigour")
    }
    return out | {
        "iteration": [one.row.iteration for one in steps], "seconds": [one.row.seconds for one in steps],
        "best": np.fmax.accumulate(best),
        "rank": [numerical_rank(np.asarray(one.row.V)) for one in steps],
        "columns": [np.asarray(one.row.V).shape[1] for one in steps], "backend": steps[0].row.backend,
        "direction": [_short(one.direction[order]) for one in steps],
        "labels": None if labels is None else np.unique(known[order], return_inverse=True)[1],
        "places": [_short(one.places[order], size) for one in steps],
        "anchors": marked,
    }  # fmt: skip


def _short(values: Array, size: float | None = None) -> list[Any]:
    """Values over a size, the largest by default, to four digits: enough for a picture."""
    size = size or float(np.abs(values).max(initial=0.0)) or 1.0
    return np.round(values / size, 4).tolist()


@dataclass
class Lane:
    """The run of one backend: seconds of the processor, objective and bound of each iterate, and the end."""

    name: str
    rows: list[tuple[float, float, float]] = field(default_factory=list)
    solution: Solution | None = None
    seconds: float = 0.0

    def run(self, problem: Problem, options: Mapping[str, Any], job: Job) -> None:
        """Solve, and tell the job of iterates. Compilation does not count."""
        begun = time.process_time() - seconds_compiling(processor=True)

        def note(objective: float, bound: float) -> float:
            gone = time.process_time() - seconds_compiling(processor=True) - begun
            self.seconds = max(gone, self.seconds)
            self.rows.append((self.seconds, objective, bound))
            return self.seconds

        def watch(row: Iterate) -> bool:
            told = {"seconds": note(row.objective, row.bound), "iteration": row.iteration}
            if job.due():
                job.tell("lap", name=self.name, objective=row.objective, bound=row.bound, **told)
            return job.stopping

        known = {key: one for key, one in options.items() if key in get_backend(self.name).option_names}
        self.solution = found = problem.solve(self.name, callback=watch, **known)
        if found.V is not None:  # the certified numbers are the last point
            note(found.certificate.objective, found.certificate.bound)

    @property
    def gap(self) -> float:
        """The certified relative gap at the end."""
        found = self.solution
        return float("inf") if found is None or found.V is None else found.certificate.relative_gap

    def numbers(self) -> dict[str, Any]:
        """The curve and the result, for the page."""
        rows, found = np.array(self.rows).reshape(-1, 3), self.solution
        seconds, objective, bound = evenly(rows, POINTS).T
        return {
            "name": self.name, "seconds": seconds, "objective": objective, "bound": bound,
            "total": self.seconds, "status": "" if found is None else found.status.name, "gap": self.gap,
            "iterations": 0 if found is None else found.iterations,
        }  # fmt: skip


def winner(one: Lane, other: Lane, tol: float) -> str:
    """The result of the race in a sentence or two."""
    first, second = sorted((one, other), key=lambda lane: (lane.gap > tol and lane.gap, lane.seconds))
    words = f"{first.name} needs {first.seconds:.3g} s, {second.name} needs {second.seconds:.3g} s."
    if first.gap > tol:
        return f"Neither {one.name} nor {other.name} has a certified gap below {tol:g}."
    if second.gap > tol:
        return f"{first.name} wins: it alone is certified within {tol:g}. {words}"
    ratio = second.seconds / first.seconds
    if ratio <= EQUAL:
        return f"A draw: {words} One run does not tell such a small difference from chance."
    return f"{first.name} wins, {ratio:.2g} times as quick: {words} Both are certified within {tol:g}."
