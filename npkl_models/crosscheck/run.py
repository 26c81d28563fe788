"""One problem, every backend, one table: whether the solutions agree, and the certificate of each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Unpack

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.certificates.certificate import CERTIFIED, Certificate
from npkl_models.crosscheck.table import CrossCheck, Row
from npkl_models.errors import NPKLError, ProblemError, UnsupportedError, chosen, instance, unknown
from npkl_models.linalg import Array
from npkl_models.model.misses import constraints_missed
from npkl_models.problem import Problem
from npkl_models.routes import backends as known_backends
from npkl_models.routes import get_backend
from npkl_models.solve.backend import Backend
from npkl_models.solve.judge import judge_point
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.task_cache import about, place_of, sweep

AGREEMENT = 1e-5
REFERENCE = "interior"  # exact at every size that fits into memory


def crosscheck(
    problem: Problem, backends: str | Backend | Sequence[str | Backend] | None = None,
    points: Mapping[str, Any] | None = None, reference: str | None = None, n_jobs: int = 1, *,
    agreement: float = AGREEMENT, progress: Callable[[str], None] | None = None,
    folder: str | FilePath | None = None, **options: Unpack[AnyKeywords],
) -> CrossCheck:  # fmt: skip
    """Solve a problem with several backends, and compare the solutions.

    Parameters
    ----------
    problem : Problem
        The problem.
    backends : str, Backend or sequence of them, optional
        The backends; all registered backends by default. ``"sdp[SCS]"`` selects the solver of a conic
        backend. A backend that does not support the problem gets a row with the reason.
    points : mapping of str to Solution or ndarray, optional
        Further points by label, in any form that `certify` accepts. They are judged in the same table as they
        are given: with their own objective, violation and smallest eigenvalue.
    reference : str, optional
        Label of the solution whose kernel all others are compared with. By default "interior" if it is
        optimal, else the label with the smallest certified gap.
    n_jobs : int
        Number of processes; -1 is one for each core. On a cluster, call inside ``joblib.parallel_config``.
    agreement : float
        Largest relative difference from the best objective that still counts as agreement.
    progress : callable, optional
        Function that is called with each label before its solve (only with ``n_jobs=1``).
    folder : path, optional
        Folder of a cache: solutions are stored there by problem and options, and stored solutions are not
        computed again; see `npkl_models.task_cache.sweep`.
    **options
        Options that are passed to every backend that knows them.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> solution = problem.solve()
    >>> table = nm.crosscheck(problem, ["bcd", "interior"], points={"mine": 1.1 * solution.K})
    >>> [row.verdict == "agrees" for row in table.rows]
    [True, True, False]
    """
    instance(problem, Problem, "problem")
    if points is not None and not isinstance(points, Mapping):
        raise ProblemError(f"points must be a mapping of labels to points, got {type(points).__name__}")
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or not -64 <= n_jobs <= 1024 or n_jobs == 0:
        raise ProblemError(f"n_jobs must be an integer, -1 for all cores, got {n_jobs!r}")
    given = dict(points or {})
    runs = _runs(known_backends() if backends is None else backends, dict(options))
    if not runs and not given:
        raise ProblemError("backends must name at least one backend, got none")
    if both := sorted(set(runs) & set(given)):
        raise ProblemError(f"points must have labels of their own, got names of backends: {both}")
    labels = [*runs, *given]
    if reference is not None:
        chosen("reference", reference, labels)
    outcomes = _outcomes(problem, runs, n_jobs, progress, folder)
    outcomes |= _judged(problem, given, outcomes, options)
    return _table(problem, outcomes, reference, agreement)


def _table(
    problem: Problem, outcomes: dict[str, Outcome], reference: str | None, agreement: float
) -> CrossCheck:
    """The table that compares the solutions."""
    solved = _solved(outcomes)
    sharpest = _sharpest(solved)
    bound = float("-inf") if sharpest is None else sharpest.bound
    nu = () if sharpest is None else sharpest.multipliers.constraints
    values = {label: _value(found, nu) for label, found in solved.items()}
    feasible = {label: x for label, x in values.items() if solved[label].certificate.feasible}
    objective = min(feasible.values(), default=math.inf)
    if reference is None or reference not in solved:
        exact = {k: x for k, x in solved.items() if k == REFERENCE and x.status is Status.OPTIMAL}
        reference = min(exact or solved, key=lambda k: solved[k].certificate.relative_gap, default="")
    kernel = solved[reference].V if reference else None
    rows = tuple(
        _row(label, found, values.get(label, math.nan), (bound, objective), agreement, kernel)
        for label, found in outcomes.items()
    )
    return CrossCheck(problem, rows, solved, reference, bound, objective)


def _solved(outcomes: Mapping[str, Outcome]) -> dict[str, Solution]:
    return {k: x for k, x in outcomes.items() if isinstance(x, Solution) and x.V is not None}


def _sharpest(solved: Mapping[str, Solution]) -> Certificate | None:
    """The certificate with the largest proved or probable bound."""
    every = [x.certificate for x in solved.values() if x.certificate.rigour in CERTIFIED]
    return max(every, key=lambda one: one.bound, default=None)


def _value(found: Solution, nu: tuple[Array, ...]) -> float:
    """The objective of a point, moved from the targets that it meets to those of the problem.

    The best multipliers of constraints price the difference, so that a point which misses the constraints a
    little is compared with its own optimum.
    """
    problem, certificate = found.problem, found.certificate
    missed = constraints_missed(problem.constraints, certificate.point)
    return certificate.objective + sum(float(own @ m.residual) for own, m in zip(nu, missed, strict=False))


def _judged(
    problem: Problem, points: Mapping[str, Any], outcomes: Mapping[str, Outcome], options: Mapping[str, Any]
) -> dict[str, Outcome]:
    """The solutions of points from elsewhere; the sharpest multipliers of the backends may bound them."""
    asked = {name: options[name] for name in ("tol", "feasibility") if options.get(name) is not None}
    known, found = _sharpest(_solved(outcomes)), dict[str, Outcome]()
    for label, point in points.items():
        try:
            y = () if known is None else (known.multipliers,)
            found[label] = judge_point(problem, label, point, y, **asked)
        except NPKLError as error:
            found[label] = f"failed: {error}"
    return found


Run = tuple[Backend, dict[str, Any]]


def _runs(wanted: Any, options: dict[str, Any]) -> dict[str, Run]:
    """Backend and options of each label; a wrong name or value raises an error."""
    parsed: dict[str, Run] = {}
    if not isinstance(wanted, (str, Backend, Iterable)):
        raise ProblemError(f"backends must be names or Backends, got {wanted!r}")
    for one in [wanted] if isinstance(wanted, (str, Backend)) else wanted:
        backend, own = (one, {}) if isinstance(one, Backend) else _parse(one)
        label = one.name if isinstance(one, Backend) else one
        if parsed.get(label, (backend,))[0] is not backend:
            raise ProblemError(f"backends must have different names, got {label!r} twice; rename one of them")
        parsed[label] = backend, own
    names = {key for backend, _ in parsed.values() for key in backend.option_names}
    for key in options:
        if key not in names and parsed:
            raise unknown("option", key, names)
    for label, (backend, own) in parsed.items():
        parsed[label] = backend, {k: v for k, v in options.items() if k in backend.option_names} | own
        backend.options(**parsed[label][1])
    return parsed


def _parse(label: str) -> Run:
    """Backend and options of a label such as "sdp[SCS]"."""
    match = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", label) if isinstance(label, str) else None
    name, solver = match.groups() if match else (label, None)
    backend = get_backend(name)
    if solver is None:
        return backend, {}
    if "solver" not in backend.option_names:
        raise ProblemError(f"{name} accepts no solver in brackets, got {label!r}")
    return backend, {"solver": solver}


Outcome = Solution | str


def _outcomes(
    problem: Problem, runs: dict[str, Run], n_jobs: int, progress: Callable[[str], None] | None,
    folder: str | FilePath | None,
) -> dict[str, Outcome]:  # fmt: skip
    tasks = {label: partial(_solve, problem, *run) for label, run in runs.items()}
    if progress is not None and n_jobs == 1:
        tasks = {label: partial(_told, progress, label, task) for label, task in tasks.items()}
    options = {label: own for label, (_, own) in runs.items()}
    place = place_of(folder, problem, runs=options)
    return sweep(tasks, n_jobs, place, about=about(place))


def _told(progress: Callable[[str], None], label: str, task: Callable[[], Outcome]) -> Outcome:
    progress(label)
    return task()


def _solve(problem: Problem, backend: Backend, options: dict[str, Any]) -> Outcome:
    """The solution, or the reason why there is none."""
    reason = backend.reason(problem)
    if reason is not None:
        return f"not run: {reason}"
    try:
        return backend.compile(problem, **options).solve()
    except UnsupportedError as error:  # such as a size that does not fit into memory
        return f"not run: {error}"
    except NPKLError as error:
        return f"failed: {error}"
    except Exception as error:  # a user's backend has failed; the table keeps the rows of the others
        return f"failed: {type(error).__name__}: {error}"


def _verdict(found: Solution, value: float, difference: float, bound: float, agreement: float) -> str:
    """Whether the point agrees with the best one; never if a number is missing."""
    certificate = found.certificate
    if not certificate.indefinite <= certificate.feasibility:
        return f"not PSD: the smallest eigenvalue is -{certificate.indefinite:.1e} of the largest"
    if not certificate.violation <= certificate.feasibility:
        return f"violates the constraint {certificate.missed} by {certificate.violation:.1e}"
    if found.status is Status.FAILED:
        return f"failed: {found.message}"
    if not all(map(math.isfinite, (value, difference, bound))):
        return "no backend proved a bound to compare it with"
    if value < bound - agreement * (abs(value) + abs(bound) + certificate.faint):
        return "the objective is below the proved bound, so it solves another problem"
    return "agrees" if difference <= agreement else f"worse by {difference:.1e}"


def _row(
    label: str, found: Outcome, value: float, best: tuple[float, float], agreement: float,
    kernel: Array | None,
) -> Row:  # fmt: skip
    """The row of an outcome beside the ``best`` bound and objective."""
    if isinstance(found, str):
        return Row(label, "", found)
    if found.V is None:
        return Row(label, str(found.status), f"failed: {found.message}")
    certificate = found.certificate
    bound, objective = best
    size = abs(value) + abs(objective) + certificate.faint
    difference = (value - objective) / size if size > 0 else value - objective
    return Row(
        label, str(found.status), _verdict(found, value, difference, bound, agreement), certificate.objective,
        certificate.bound, difference, certificate.relative_gap, certificate.rigour, certificate.violation,
        found.kernel_min_eigenvalue, found.rank, found.iterations, found.build_time + found.solve_time,
        _distance(found.V, kernel),
    )  # fmt: skip


def _distance(V: Array, W: Array | None) -> float:
    """The relative distance ||VV' - WW'|| / ||WW'||; neither kernel is formed."""
    if W is None:
        return math.nan
    own, other = float(np.sum((V.T @ V) ** 2)), float(np.sum((W.T @ W) ** 2))
    cross = float(np.sum((V.T @ W) ** 2))
    return math.sqrt(max(own - 2 * cross + other, 0.0) / max(other, 1e-300))
