"""A race of two backends on one problem: they run one after the other, and processor time is compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from npkl_models.answer.history import Iterate
from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg.compile import seconds_compiling
from npkl_models.model.statement import Statement
from npkl_models.problem import Problem
from npkl_models.routes import get_backend

MOST_POINTS = 500  # the largest number of points; up to it one thread computes, so processor time is the work
EQUAL = 1.2  # a smaller ratio of times counts as a draw
POINTS = 400  # the largest number of points of a curve


@dataclass
class Lane:
    """The run of one backend, with its clock and its iterates."""

    name: str
    rows: list[tuple[float, float, float]] = field(default_factory=list)
    solution: Solution | None = None
    seconds: float = 0.0

    def begin(self) -> None:
        """Set the clock to zero."""
        self._begun, self._compiled = time.process_time(), seconds_compiling()

    @property
    def clock(self) -> float:
        """Seconds of processor time since the start, without compilation."""
        gone = time.process_time() - self._begun - (seconds_compiling() - self._compiled)
        return max(gone, self.rows[-1][0] if self.rows else 0.0)

    def note(self, row: Iterate) -> None:
        """Store an iterate with the time of the clock."""
        self.rows.append((self.clock, row.objective, row.bound))

    def finish(self, solution: Solution) -> None:
        """End the run; the certified numbers are its last point."""
        self.solution = solution
        if solution.V is not None:
            found = solution.certificate
            self.rows.append((self.clock, found.objective, found.bound))
        self.seconds = self.clock

    def numbers(self) -> dict[str, Any]:
        """The curve and the result, for the page."""
        rows = self.rows
        if len(rows) > POINTS:
            kept = np.unique(np.linspace(0, len(rows) - 1, POINTS).astype(int))
            rows = [rows[k] for k in kept]
        found = self.solution
        return {
            "name": self.name, "seconds": [row[0] for row in rows], "objective": [row[1] for row in rows],
            "bound": [row[2] for row in rows], "total": self.seconds,
            "status": "" if found is None else found.status.name, "gap": gap(self),
            "iterations": 0 if found is None else found.iterations,
        }  # fmt: skip


def run(
    problem: Problem, lane: Lane, options: Mapping[str, Any], ask: Callable[[Iterate, float], bool]
) -> None:
    """Solve with the backend of a lane; ``ask`` is called with each iterate and the seconds of the lane."""

    def watch(row: Iterate) -> bool:
        lane.note(row)
        return ask(row, lane.rows[-1][0])

    known = {key: one for key, one in options.items() if key in get_backend(lane.name).option_names}
    lane.begin()
    lane.finish(problem.solve(lane.name, callback=watch, **known))


def refuse(problem: Statement, names: list[str]) -> None:
    """Raise a `ProblemError` unless there are two backends and few enough points."""
    if len(names) != 2 or names[0] == names[1]:
        raise ProblemError(f"a race must be of two backends, got {', '.join(names) or 'none'}")
    if problem.n > MOST_POINTS:
        raise ProblemError(f"a race must be on at most {MOST_POINTS} points, got {problem.n}")


def gap(lane: Lane) -> float:
    """The certified relative gap at the end."""
    found = lane.solution
    return float("inf") if found is None or found.V is None else found.certificate.relative_gap


def winner(one: Lane, other: Lane, tol: float) -> str:
    """The result of the race in a sentence or two."""
    done = [lane for lane in (one, other) if gap(lane) <= tol]
    if not done:
        first, second = sorted((one, other), key=gap)
        if gap(first) == gap(second):
            return f"Neither {one.name} nor {other.name} has a certified gap below {tol:g}."
        return (
            f"Neither backend reaches the gap of {tol:g}. {first.name} ends nearer to it, with a gap of "
            f"{gap(first):.1e}; {second.name} ends with {gap(second):.1e}."
        )
    if len(done) == 1:
        (first,) = done
        second = other if first is one else one
        return (
            f"{first.name} wins: it is certified within {tol:g} after {first.seconds:.3g} s. "
            f"{second.name} ends after {second.seconds:.3g} s with a gap of {gap(second):.1e}."
        )
    first, second = sorted((one, other), key=lambda lane: lane.seconds)
    ratio = second.seconds / max(first.seconds, 1e-9)
    words = f"{first.name} needs {first.seconds:.3g} s, {second.name} needs {second.seconds:.3g} s."
    if ratio <= EQUAL:
        return f"A draw: {words} One run does not tell such a small difference from chance."
    return f"{first.name} wins, {ratio:.2g} times as quick: {words} Both are certified within {tol:g}."
