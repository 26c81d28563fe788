"""Solve one problem at neighbouring values of a parameter, in one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.cover.cover import Cover
from npkl_models.cover.parameters import Axis, with_parameter
from npkl_models.cover.search import search
from npkl_models.errors import SolverError
from npkl_models.linalg import Array
from npkl_models.problem import Problem
from npkl_models.routes import get_backend
from npkl_models.solve.backend import Backend
from npkl_models.task_cache import Failure, about, sweep


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
        takes_start = "start" in get_backend(self.backend).option_names
        falling = self.parameter == "weight"
        first = grid.size - 1 if falling else int(np.argmin(np.abs(grid - self.own)))
        found: dict[int, Solution] = {}
        options = dict(self.options)
        for k in (*range(first, grid.size), *range(first - 1, -1, -1)):
            beside = found.get(k - 1) or found.get(k + 1)
            if takes_start and beside is not None and beside.V is not None:
                options["start"] = beside
            found[k] = self.solved(float(grid[k]), options)
        return [found[k] for k in range(grid.size)]

    def solved(self, value: float, options: dict[str, Any]) -> Solution:
        """The solution at one value, from the cache if there is one."""
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
        takes_start = "start" in get_backend(self.backend).option_names

        def solve(value: float, start: Solution | None) -> Solution:
            if known and value in known:
                return known[value]
            warm = takes_start and start is not None and start.V is not None
            return self.solved(value, self.options | ({"start": start} if warm else {}))

        return search(Axis(self.problem, self.parameter, low, high), tol, solve)

    def covered(self, ends: dict[float, Solution], tol: float) -> list[tuple[float, Solution]]:
        """The values that one process chose between two solved ends, each with its solution."""
        cover = self.covering(min(ends), max(ends), tol, ends)
        return [(cover.axis.value(one.x), one.solution) for one in cover.knots]


def _solve(
    problem: Problem, parameter: str, value: float, backend: str | Backend, options: dict[str, Any]
) -> Solution:
    return with_parameter(problem, parameter, value).solve(backend, **options)
