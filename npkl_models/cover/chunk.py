"""Solve one problem at neighbouring values of a parameter, given or chosen, in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.cover.cover import Between, Cover, between
from npkl_models.cover.knots import Knot, knot
from npkl_models.cover.parameters import Axis, with_parameter
from npkl_models.errors import SolverError
from npkl_models.linalg import Array
from npkl_models.problem import Problem
from npkl_models.routes import get_backend
from npkl_models.solve.backend import Backend
from npkl_models.task_cache import Failure, about, sweep

Solve = Callable[[float, Solution | None], Solution]

EDGE = 0.02  # least share of an interval (in logarithms) that a new value leaves on either side
NARROW = 1e-6  # an interval whose ends are closer (in logarithms) is not split
GIVEN_UP = 0.05  # the same, if one of the ends is not certified to the tolerance


@dataclass(frozen=True)
class PathChunk:
    """A job that solves neighbouring values in one process."""

    problem: Problem
    parameter: str
    backend: str | Backend
    options: dict[str, Any]
    folder: FilePath | None
    own: float

    def __call__(self, grid: Array) -> list[Solution]:
        """Solve the largest weight, or the value nearest to the problem's own, first; then the neighbours."""
        falling = self.parameter == "weight"
        first = grid.size - 1 if falling else int(np.argmin(np.abs(grid - self.own)))
        found: dict[int, Solution] = {}
        start: Solution | None = None
        for k in (*range(first, grid.size), *range(first - 1, -1, -1)):
            beside = found.get(k - 1) or found.get(k + 1)
            start = start if beside is None or beside.V is None else beside
            found[k] = self.solved(float(grid[k]), start)
        return [found[k] for k in range(grid.size)]

    def solved(self, value: float, start: Solution | None) -> Solution:
        """The solution at one value, from a warm start or from the cache, if there is one."""
        takes_start = "start" in get_backend(self.backend).option_names
        warm = takes_start and start is not None and start.V is not None
        options = self.options | ({"start": start} if warm else {})
        key = f"{self.parameter}={value!r}"
        task = partial(_solve, self.problem, self.parameter, value, self.backend, options)
        result = sweep({key: task}, 1, self.folder, about=about(self.folder))[key]
        if isinstance(result, Failure):
            raise SolverError(f"{key}: {result.error}")
        solution: Solution = result
        return solution

    def covering(
        self, low: float, high: float, tol: float, known: Mapping[float, Solution] | None = None
    ) -> Cover:
        """Solve at values of an interval until the gap is at most ``tol`` everywhere."""

        def solve(value: float, start: Solution | None) -> Solution:
            return known[value] if known and value in known else self.solved(value, start)

        return search(Axis(self.problem, self.parameter, low, high), tol, solve)

    def covered(self, ends: dict[float, Solution], tol: float) -> list[tuple[float, Solution]]:
        """The values that one process chose between two solved ends, each with its solution."""
        cover = self.covering(min(ends), max(ends), tol, ends)
        return [(cover.axis.value(one.x), one.solution) for one in cover.knots]


def _solve(
    problem: Problem, parameter: str, value: float, backend: str | Backend, options: dict[str, Any]
) -> Solution:
    return with_parameter(problem, parameter, value).solve(backend, **options)


def search(axis: Axis, tol: float, solve: Solve) -> Cover:
    """Solve at both ends, and then where the gap is largest, until the gap is at most ``tol`` everywhere.

    ``solve(value, start)`` solves the problem at a value, with a warm start from a neighbour's solution.
    Intervals that more solutions cannot close are left as they are: `Cover.uncovered` names them.
    """
    if axis.low == axis.high:
        return Cover(axis, [knot(axis, axis.low, solve(axis.low, None))])
    falling = axis.parameter == "weight"  # a kernel of too high a rank is the better start
    last, first = (axis.high, axis.low) if falling else (axis.low, axis.high)
    one = knot(axis, last, solve(last, None))
    two = knot(axis, first, solve(first, one.solution))
    left, right = (two, one) if falling else (one, two)
    knots, done, waiting = [left, right], [], [between(axis, left, right)]
    while waiting:
        piece = waiting.pop()
        value = None if piece.gap <= tol else _next(axis, piece, tol, first=len(knots) == 2)
        if value is None:
            done.append(piece)
            continue
        beside = piece.right if falling else piece.left
        other = piece.left if falling else piece.right
        start = beside.solution if beside.solution.V is not None else other.solution
        new = knot(axis, value, solve(value, start))
        knots.append(new)
        waiting += [between(axis, piece.left, new), between(axis, new, piece.right)]
    return Cover(axis, knots, done)


def _next(axis: Axis, piece: Between, tol: float, first: bool) -> float | None:
    """The value that splits an interval, near the crossing of its lines; None if a split does not help."""
    a, b = axis.value(piece.left.x), axis.value(piece.right.x)
    width = float(np.log(b / a))
    certified = [_certified(one, tol) for one in (piece.left, piece.right)]
    least = NARROW if all(certified) else GIVEN_UP if any(certified) or first else np.inf
    if width <= least:
        return None
    share = float(np.log(axis.value(piece.x) / a)) / width if all(certified) else 0.5
    value = float(a * np.exp(width * np.clip(share, EDGE, 1 - EDGE)))
    return value if a < value < b else None


def _certified(one: Knot, tol: float) -> bool:
    """Whether both bounds of a knot serve: more knots between two such knots close the gap."""
    found = one.certificate
    finite = bool(np.isfinite([*one.line, one.point]).all())
    return finite and found is not None and found.certifies(tol)
