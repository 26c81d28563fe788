"""The same problem for several values of a parameter, with warm starts from neighbouring values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Unpack

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError, SolverError, chosen, instance, optional
from npkl_models.linalg import Array
from npkl_models.linalg.owned import real_array
from npkl_models.model.regularizer import Regularizer
from npkl_models.problem import Problem
from npkl_models.routes import compatible, get_backend
from npkl_models.solve.backend import Backend
from npkl_models.solve.choice import choose_backend
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.task_cache import Failure, about, place_of, sweep
from npkl_models.workers import processors, spread

PARAMETERS = ("bound", "penalty", "p", "weight")
STRETCHES = 1  # pieces of the path for each process


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Solutions of a problem for several values of a parameter, in ascending order of the values.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> path = nm.regularization_path(problem, "weight", [0.1, 1.0, 10.0])
    >>> path
    Path(weight, 3 values from 0.1 to 10)
    >>> path.rank.shape
    (3,)
    """

    parameter: str
    values: Array
    solutions: tuple[Solution, ...]

    def __repr__(self) -> str:
        first, last = self.values[0], self.values[-1]
        return f"Path({self.parameter}, {self.values.size} values from {first:g} to {last:g})"

    @property
    def objective(self) -> Array:
        """The objective of each solution."""
        return np.array([solution.objective for solution in self.solutions])

    @property
    def relative_gap(self) -> Array:
        """The certified relative gap of each solution."""
        return np.array([solution.certificate.relative_gap for solution in self.solutions])

    @property
    def rank(self) -> Array:
        """The rank of each solution."""
        return np.array([solution.rank for solution in self.solutions])

    @property
    def iterations(self) -> Array:
        """The number of iterations of each solution."""
        return np.array([solution.iterations for solution in self.solutions])

    def to_frame(self) -> Any:
        """The path as a pandas DataFrame, with a row for each value (needs the extra ``frame``)."""
        pd = optional("pandas", "to_frame", "frame")
        columns = ("objective", "relative_gap", "rank", "iterations")
        return pd.DataFrame({name: getattr(self, name) for name in columns}, index=self.values).rename_axis(
            self.parameter
        )


def regularization_path(
    problem: Problem, parameter: str, values: Sequence[float], backend: str | Backend = "auto",
    n_jobs: int = 1, folder: str | FilePath | None = None, **options: Unpack[AnyKeywords],
) -> Path:  # fmt: skip
    """Solve a problem for several values of a parameter.

    Parameters
    ----------
    problem : Problem
        The problem.
    parameter : {"bound", "penalty", "p", "weight"}
        Parameter that varies: B, G or p of tr K^p, or a factor on the weights of all losses (C, gamma).
    values : sequence of float
        Values of the parameter.
    backend : str
        Solver. "auto" chooses once, for the problem as given. For "weight" and a loss with a kink, "auto"
        takes burer_monteiro instead of bcd, since its Newton steps gain more from a warm start (half the time
        on a1a).
    n_jobs : int
        Number of processes. Each process solves neighbouring values with warm starts. On a cluster, call
        inside ``joblib.parallel_config``.
    folder : path, optional
        Folder of a cache: solutions are stored there by problem and options, and stored solutions are not
        computed again.
    **options
        Options of the backend.

    Returns
    -------
    Path
        The solutions.

    Notes
    -----
    Weights are solved from the largest to the smallest, since a kernel of too high a rank is a better start
    than a kernel of too low a rank. Other parameters are solved from the value nearest to the problem's own
    value, upwards and downwards. If the backend supports it, each solve is a warm start from the neighbouring
    solution.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.simple_npkl(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs, bound=1.0)
    >>> path = nm.regularization_path(problem, "bound", [0.5, 1.0, 2.0])
    >>> bool((path.relative_gap <= 1e-6).all())
    True
    >>> bool(path.objective[0] >= path.objective[-1])
    True
    """
    instance(problem, Problem, "problem")
    grid = np.unique(real_array(values, "values"))
    if not grid.size or not np.isfinite(grid).all():
        raise ProblemError(f"values must be finite numbers, at least one, got {values!r}")
    own = _own(problem, parameter)
    name = _choose(problem, parameter, options) if backend == "auto" else backend
    job = _Stretch(
        problem, parameter, name, dict(options), place_of(folder, problem, backend=name, **options), own
    )
    if n_jobs == 1:
        return Path(parameter, grid, tuple(job(grid)))
    pieces = [piece for piece in np.array_split(grid, processors(n_jobs) * STRETCHES) if piece.size]
    found = dict(spread(_placed, [(job, k, piece) for k, piece in enumerate(pieces)], n_jobs))
    return Path(parameter, grid, tuple(solution for k in sorted(found) for solution in found[k]))


@dataclass(frozen=True)
class _Stretch:
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
            value = float(grid[k])
            key = f"{self.parameter}={value!r}"
            task = partial(_solve, self.problem, self.parameter, value, self.backend, options)
            result = sweep({key: task}, 1, self.folder, about=about(self.folder))[key]
            if isinstance(result, Failure):
                raise SolverError(f"{key}: {result.error}")
            found[k] = result
        return [found[k] for k in range(grid.size)]


def _placed(job: _Stretch, place: int, grid: Array) -> tuple[int, list[Solution]]:
    return place, job(grid)


def _solve(
    problem: Problem, parameter: str, value: float, backend: str | Backend, options: dict[str, Any]
) -> Solution:
    return with_parameter(problem, parameter, value).solve(backend, **options)


def _choose(problem: Problem, parameter: str, options: Any) -> str:
    name = choose_backend(problem, **options)[0]
    kinked = parameter == "weight" and not all(term.loss.smooth for term in problem.terms)
    other = "burer_monteiro"
    able = compatible(problem).get(other, "absent") is None and all(
        key in get_backend(other).option_names for key in options
    )
    return other if name == "bcd" and kinked and able else name


def with_parameter(problem: Problem, parameter: str, value: float) -> Problem:
    """The problem with another value of a parameter, as in `regularization_path`."""
    chosen("parameter", parameter, PARAMETERS)
    if parameter == "weight":
        if not problem.terms:
            raise ProblemError(
                f"weight must be for a problem with losses, got {problem.name or 'a problem'} without losses"
            )
        if value <= 0:
            raise ProblemError(f"weight must be positive, got {value}")
        return replace(problem, terms=tuple(replace(t, weight=value * t.weight) for t in problem.terms))
    return replace(problem, regularizer=replace(_trace_power(problem, parameter), **{parameter: value}))


def _own(problem: Problem, parameter: str) -> float:
    chosen("parameter", parameter, PARAMETERS)
    if parameter == "weight":
        with_parameter(problem, parameter, 1.0)
        return 1.0
    return float(getattr(_trace_power(problem, parameter), parameter))


def _trace_power(problem: Problem, parameter: str) -> Regularizer:
    R = problem.regularizer
    if R.spectral is None or getattr(R, parameter, None) is None:
        raise ProblemError(f"{parameter} must be a parameter of the problem's regulariser, got {R!r}")
    return R
