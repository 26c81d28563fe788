"""The same problem for several values of a parameter, with warm starts from neighbouring values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path as FilePath
from typing import Any, Unpack

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.cover.chunk import PathChunk
from npkl_models.cover.cover import Cover, Covered
from npkl_models.cover.parameters import PARAMETERS as PARAMETERS
from npkl_models.cover.parameters import Axis, own_value
from npkl_models.cover.parameters import with_parameter as with_parameter
from npkl_models.errors import ProblemError, SolverError, instance
from npkl_models.linalg import Array
from npkl_models.linalg.owned import real_array, real_number
from npkl_models.problem import Problem
from npkl_models.solve.backend import Backend
from npkl_models.solve.choice import choose_backend
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.task_cache import place_of
from npkl_models.workers import here, processors, spread

SHARE = 0.2  # share of a path's tolerance to which each kernel is solved


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Solutions of a problem for several values of a parameter, in ascending order of the values."""

    parameter: str
    values: Array
    solutions: tuple[Solution, ...]
    problem: Problem
    tol: float | None = None
    found: Cover | None = None

    def __repr__(self) -> str:
        first, last = self.values[0], self.values[-1]
        proved = ""
        if self.tol is not None:  # 1.005: the number shown is never below the proved one
            proved = f", within {1.005 * self.guarantee:.3g} everywhere, {self.rigour}"
            if where := ", ".join(f"{a:g} to {b:g}" for a, b in self.uncovered):
                proved = f", not within {self.tol:g} from {where}"
        return f"Path({self.parameter}, {self.values.size} values from {first:g} to {last:g}{proved})"

    @property
    def objective(self) -> Array:
        """The objective of each solution."""
        return np.array([solution.objective for solution in self.solutions])

    @property
    def relative_gap(self) -> Array:
        """The certified relative gap of each solution; inf without a kernel."""
        return np.array([s.certificate.relative_gap if s.V is not None else np.inf for s in self.solutions])

    @property
    def rank(self) -> Array:
        """The rank of each solution."""
        return np.array([solution.rank for solution in self.solutions])

    @property
    def iterations(self) -> Array:
        """The number of iterations of each solution."""
        return np.array([solution.iterations for solution in self.solutions])

    @property
    def kernels(self) -> int:
        """The number of stored kernels."""
        return sum(solution.V is not None for solution in self.solutions)

    @cached_property
    def cover(self) -> Cover:
        """Bounds on the optimum at every value from the first to the last; not for p."""
        if self.found is not None:
            return self.found
        return Cover.of(self.problem, self.parameter, self.values, self.solutions)

    @property
    def guarantee(self) -> float:
        """The largest proved relative gap over all values from the first to the last; inf if one has none."""
        return self.cover.guarantee

    @property
    def uncovered(self) -> tuple[tuple[float, float], ...]:
        """The intervals in which a gap up to the path's ``tol`` is not proved; without ``tol``, any gap."""
        return self.cover.uncovered(1.0 if self.tol is None else self.tol)  # finite bounds have no larger gap

    @property
    def rigour(self) -> str:
        """How the bounds are known: "proved" if all are, "probable" if some may fail."""
        known = {s.certificate.rigour for s in self.solutions if s.V is not None}
        return next((word for word in ("none", "estimated", "probable") if word in known), "proved")

    @property
    def failure_probability(self) -> float:
        """Probability that any of the bounds fails, at most; 0 if all are proved."""
        return min(1.0, sum(s.certificate.failure_probability for s in self.solutions if s.V is not None))

    def at(self, value: float) -> Covered:
        """The best stored kernel at a value between the first and the last, with its proved gap there."""
        return self.cover.at(value)

    def to_frame(self) -> Any:
        """The path as a pandas DataFrame, with a row for each value."""
        import pandas as pd

        columns = ("objective", "relative_gap", "rank", "iterations")
        return pd.DataFrame({name: getattr(self, name) for name in columns}, index=self.values).rename_axis(
            self.parameter
        )


def regularization_path(
    problem: Problem, parameter: str, values: Sequence[float] | Array, backend: str | Backend = "auto",
    n_jobs: int = 1, folder: str | FilePath | None = None, **options: Unpack[AnyKeywords],
) -> Path:  # fmt: skip
    """Solve a problem for several values of a parameter.

    Parameters
    ----------
    problem : Problem
        The problem.
    parameter : {"bound", "penalty", "p", "weight"}
        Parameter that varies: B, G or p of tr K^p, or a factor on the weights of all losses (C, gamma). The
        penalty of `ordinal` and `distances`, which is not 0, is one too: any cost that is a multiple of a
        diagonal of zeros and ones.
    values : sequence of float, or tuple (low, high) together with ``tol``
        Values of the parameter. With a tuple of two values and ``tol``, the path chooses its own values: at
        every value from ``low`` to ``high``, a stored kernel is proved to be within the relative gap ``tol``
        of the optimum (not along p).
    backend : str
        Solver. "auto" chooses once, for the problem as given.
    n_jobs : int
        Number of processes. Each process solves neighbouring values with warm starts. On a cluster, call
        inside ``joblib.parallel_config``.
    folder : path, optional
        Folder of a cache: solutions are stored there by problem and options, and stored solutions are not
        computed again.
    **options
        Options of the backend. In an interval, ``tol`` is the tolerance of the path, and each kernel is
        solved to a fifth of it.

    Returns
    -------
    Path
        The solutions.

    Raises
    ------
    ProblemError
        If the problem has no such parameter, or if values, interval or tolerance are not as described.
    SolverError
        If a solve fails, or if no solve along an interval returns a kernel.

    Notes
    -----
    Weights are solved from the largest to the smallest, since a kernel of too high a rank is a better start
    than a kernel of too low a rank. Other parameters are solved from the value nearest to the problem's own
    value, upwards and downwards. If the backend supports it, each solve is a warm start from the neighbouring
    solution.

    Stored kernels and their multipliers bound the optimum at all values, and an interval is split where these
    bounds are furthest apart. Their number grows like 1 / tol at worst, and like 1 / sqrt(tol) if the optimum
    is smooth. Source: Giesen, Jaggi & Laue, "Regularization paths with guarantees for convex semidefinite
    optimization", AISTATS 2012.

    Examples
    --------
    >>> import npkl_models as nm
    >>> pairs = nm.Pairs(2, [(0, 1)], None)
    >>> problem = nm.simple_npkl([[1.0, -0.9], [-0.9, 1.0]], pairs, trace_bound=1.0)
    >>> path = nm.regularization_path(problem, "bound", (0.5, 2.0), tol=1e-3)
    >>> path.guarantee <= 1e-3, path.at(0.7).relative_gap <= 1e-3
    (True, True)
    """
    instance(problem, Problem, "problem")
    grid = np.unique(real_array(values, "values"))
    if not grid.size or not np.isfinite(grid).all():
        raise ProblemError(f"values must be finite numbers, at least one, got {values!r}")
    interval = isinstance(values, tuple) and len(values) == 2 and options.get("tol") is not None
    tol = _tolerance(problem, parameter, values, options) if interval else None
    own = own_value(problem, parameter)
    if parameter == "penalty":
        for end in (grid[0], grid[-1]):
            with_parameter(problem, parameter, float(end))
    name = choose_backend(problem, **options)[0] if backend == "auto" else backend
    job = PathChunk(
        problem, parameter, name, dict(options), place_of(folder, problem, backend=name, **options), own
    )
    if tol is not None:
        return _covering(job, grid, tol, n_jobs)
    if here(n_jobs):
        return Path(parameter, grid, tuple(job(grid)), problem)
    pieces = [(piece,) for piece in np.array_split(grid, processors(n_jobs)) if piece.size]
    return Path(parameter, grid, tuple(chain.from_iterable(spread(job, pieces, n_jobs))), problem)


def _tolerance(problem: Problem, parameter: str, values: Any, options: Any) -> float:
    """The tolerance of a path over an interval; each kernel is solved to a share of it."""
    tol, (low, high) = real_number(options["tol"], "tol"), values
    if not 0 < tol < 1:
        raise ProblemError(f"tol of a path must be between 0 and 1, got {tol!r}")
    if not 0 < low < high:
        raise ProblemError(f"an interval must be (low, high) with 0 < low < high, got {values!r}")
    Axis(problem, parameter, float(low), float(high))
    options["tol"] = SHARE * tol
    return tol


def _covering(job: PathChunk, grid: Array, tol: float, n_jobs: int) -> Path:
    """The path over an interval; each process covers a part of the interval."""
    if here(n_jobs):
        cover = job.covering(float(grid[0]), float(grid[-1]), tol)
    else:
        inner = np.geomspace(grid[0], grid[-1], processors(n_jobs) + 1)[1:-1]
        ends = [float(grid[0]), *inner.tolist(), float(grid[-1])]
        solved = spread(job.solved, [(value, job.options) for value in ends], n_jobs)
        parts = [(dict(two), tol) for two in pairwise(zip(ends, solved, strict=True))]
        every = dict(chain.from_iterable(spread(job.covered, parts, n_jobs)))
        cover = Cover.of(job.problem, job.parameter, np.array(list(every)), every.values())
    solutions = tuple(one.solution for one in cover.knots)
    if all(solution.V is None for solution in solutions):
        worst = solutions[0]
        raise SolverError(f"no kernel from {grid[0]:g} to {grid[1]:g}: {worst.status}: {worst.message}")
    values = np.array([cover.axis.value(one.x) for one in cover.knots])
    return Path(job.parameter, values, solutions, job.problem, tol, cover)
