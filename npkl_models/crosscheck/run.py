"""One problem, every backend, one table: whether the answers agree, and what is proved of each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.crosscheck.table import CrossCheck, Row
from npkl_models.errors import NPKLError, ProblemError, UnsupportedError, unknown
from npkl_models.linalg import Array
from npkl_models.model.problem import Problem
from npkl_models.solve.choice import REGISTRY, get_backend

AGREEMENT = 1e-5


def crosscheck(
    problem: Problem,
    backends: Sequence[str] | None = None,
    reference: str | None = None,
    n_jobs: int = 1,
    *,
    agreement: float = AGREEMENT,
    progress: Callable[[str], None] | None = None,
    without_basis: Solution | bool | None = None,
    **options: Any,
) -> CrossCheck:
    """Solve a problem by several backends and compare the answers.

    Parameters
    ----------
    problem : Problem
    backends : sequence of str, optional
        Names; ``"sdp[SCS]"`` fixes a conic backend's solver. All by default; one that cannot take the
        problem gets a row with its reason.
    reference : str, optional
        Label whose kernel the others are compared with; the smallest certified gap by default.
    n_jobs : int
        Processes.
    agreement : float
        Largest relative difference from the best objective that still counts as agreement.
    progress : callable, optional
        Called with each label before it is solved (with ``n_jobs=1``).
    without_basis : Solution or bool, optional
        For a problem in a basis: a solution of the same problem without it, or True to have it solved by
        "auto". The table then says what the basis costs.
    **options
        Handed to every backend that knows them.

    Returns
    -------
    CrossCheck
    """
    labels = list(REGISTRY) if backends is None else list(dict.fromkeys(backends))
    if not labels:
        raise ProblemError("backends must name at least one backend, got none")
    parsed = {label: _parse(label) for label in labels}
    _check_options(parsed, options)
    if reference is not None and reference not in labels:
        raise unknown("reference", reference, labels)
    tasks = [partial(_solve, problem, *parsed[label], options) for label in labels]
    if n_jobs == 1:
        outcomes = []
        for label, task in zip(labels, tasks, strict=True):
            if progress is not None:
                progress(label)
            outcomes.append(task())
    else:
        from joblib import Parallel, delayed

        outcomes = Parallel(n_jobs=n_jobs)(delayed(task)() for task in tasks)
    solved = {
        label: found
        for label, found in zip(labels, outcomes, strict=True)
        if isinstance(found, Solution) and found.V is not None
    }
    bound, objective = _bracket(solved)
    if reference is None or reference not in solved:
        reference = min(solved, key=lambda k: solved[k].certificate.relative_gap, default="")
    kernel = solved[reference].V if reference else None
    rows = tuple(
        _row(label, found, bound, objective, kernel, agreement)
        for label, found in zip(labels, outcomes, strict=True)
    )
    restriction = _restriction(problem, without_basis, objective)
    return CrossCheck(problem, rows, solved, reference, bound, objective, restriction)


def _restriction(problem: Problem, without_basis: Solution | bool | None, objective: float) -> float:
    """The optimum in the basis less the proved bound without it, nan where that was not asked for."""
    if without_basis is None or without_basis is False:
        return math.nan
    if problem.basis is None:
        raise ProblemError("without_basis is for a problem in a basis, got one without")
    free = replace(problem, basis=None).solve() if without_basis is True else without_basis
    if free.problem.basis is not None or free.problem.n != problem.n:
        raise ProblemError("without_basis must be a solution of the same problem without its basis")
    return objective - free.certificate.bound


def _parse(label: str) -> tuple[str, dict[str, Any]]:
    """Backend and options of a label such as "sdp[SCS]"."""
    match = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", label)
    name, solver = match.groups() if match else (label, None)
    backend = get_backend(name)
    if solver is None:
        return name, {}
    if "solver" not in backend.option_names:
        raise ProblemError(f"{name} takes no solver in brackets, got {label!r}")
    return name, {"solver": solver}


def _check_options(parsed: dict[str, tuple[str, dict[str, Any]]], options: dict[str, Any]) -> None:
    known = {key for name, _ in parsed.values() for key in REGISTRY[name].option_names}
    for key in options:
        if key not in known:
            raise unknown("option", key, known)
    for name, own in parsed.values():  # a bad value is an error at once, not a row
        backend = REGISTRY[name]
        backend.options(**_known(name, options) | own)


def _known(name: str, options: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k in REGISTRY[name].option_names}


def _solve(problem: Problem, name: str, own: dict[str, Any], options: dict[str, Any]) -> Solution | str:
    """The solution, or why there is none."""
    backend = REGISTRY[name]
    reason = backend.reason(problem)
    if reason is not None:
        return f"not run: {reason}"
    try:
        return backend.compile(problem, **_known(name, options) | own).solve()
    except UnsupportedError as error:  # such as a size that memory cannot hold
        return f"not run: {error}"
    except NPKLError as error:
        return f"failed: {error}"


def _bracket(solved: dict[str, Solution]) -> tuple[float, float]:
    bounds = [-math.inf]
    objectives = [math.inf]
    for solution in solved.values():
        if solution.certificate.rigour in ("proved", "probable"):
            bounds.append(solution.certificate.bound)
        if solution.certificate.feasible:
            objectives.append(solution.certificate.objective)
    return max(bounds), min(objectives)


def _row(
    label: str,
    found: Solution | str,
    bound: float,
    objective: float,
    kernel: Array | None,
    agreement: float,
) -> Row:
    if isinstance(found, str):
        return Row(label, "", found)
    if found.V is None:
        return Row(label, str(found.status), f"failed: {found.message}")
    certificate = found.certificate
    scale = 1 + abs(objective)
    difference = (certificate.objective - objective) / scale
    if certificate.objective < bound - agreement * scale or certificate.bound > objective + agreement * scale:
        verdict = "outside the proved bracket"
    elif difference > agreement or found.status is Status.FAILED:
        verdict = f"worse by {difference:.1e}"
    else:
        verdict = "agrees"
    return Row(
        label, str(found.status), verdict, certificate.objective, certificate.bound, difference,
        certificate.relative_gap, certificate.rigour, found.kernel_min_eigenvalue, found.rank,
        found.iterations, found.build_time + found.solve_time, _distance(found.V, kernel),
    )  # fmt: skip


def _distance(V: Array, W: Array | None) -> float:
    """||VV' - WW'|| / ||WW'|| without forming either."""
    if W is None:
        return math.nan
    own, other = float(np.sum((V.T @ V) ** 2)), float(np.sum((W.T @ W) ** 2))
    cross = float(np.sum((V.T @ W) ** 2))
    return math.sqrt(max(own - 2 * cross + other, 0.0) / max(other, 1e-300))
