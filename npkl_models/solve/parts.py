"""Solutions of parts of a problem, put together to a solution of the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from npkl_models.answer.history import Iterate
from npkl_models.answer.solution import Attempt, Solution, Status
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.presolve.steps import Point, Smaller
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.watch import RunMonitor

AND = ", "  # between the names of the backends of several parts


def points(smaller: Smaller, found: list[Solution]) -> list[Point]:
    """The point and multipliers of each part."""
    known: list[Point] = [(one.V, one.certificate.multipliers) for one in found if one.V is not None]
    if len(known) < len(found):
        return [(None, None)] * len(smaller.problems)
    return known + [(np.zeros((part.n, 1)), None) for part in smaller.problems[len(found) :]]


def of_all(
    callback: Callable[[Iterate], bool | None], smaller: Smaller, found: list[Solution]
) -> Callable[[Iterate], bool | None]:
    """A callback for the next part that calls the given callback with iterates of the whole problem."""
    before, now = list(found), len(found)
    zeros = [np.zeros((part.n, 1)) for part in smaller.problems]
    points = [*(one.V if one.V is not None else zeros[k] for k, one in enumerate(before)), *zeros[now:]]
    objectives = [part.objective_of_factor(V) for part, V in zip(smaller.problems, points, strict=True)]
    others, iterations = sum(objectives) - objectives[now], sum(one.iterations for one in before)

    def told(iterate: Iterate) -> bool | None:
        V = iterate.V
        if V is not None:
            V = smaller.undo(*((V if k == now else point, None) for k, point in enumerate(points)))[0]
        seen = iterate._replace(
            iteration=iterations + iterate.iteration, objective=iterate.objective + others,
            bound=float("nan"), V=V,
        )  # fmt: skip
        return callback(seen)

    return told


def in_one(found: list[Solution]) -> Solution:
    """The solution of the largest part, with the first status that is not OPTIMAL, and sums of the counts.

    Its backend has the names of all that answered, that of the largest part first.
    """
    largest = max(found, key=lambda one: one.problem.n)
    worst = next((one.status for one in found if one.status is not Status.OPTIMAL), Status.OPTIMAL)
    names = dict.fromkeys(name for one in (largest, *found) for name in one.backend.split(AND))
    return replace(
        largest, backend=AND.join(names), status=worst, iterations=sum(one.iterations for one in found),
        solve_time=sum(one.solve_time for one in found), build_time=sum(one.build_time for one in found),
    )  # fmt: skip


def judged(
    problem: Statement, found: Solution, V: Array | None, y: Multipliers | None, options: Mapping[str, Any],
    words: str,
) -> Solution:  # fmt: skip
    """The solution of the whole problem from a point and multipliers, with a certificate of its own."""
    asked = {key: options[key] for key in ("tol", "feasibility", "rigour") if key in options}
    watch = RunMonitor(IterativeOptions(**asked), found.backend)
    watch.seed = options.get("random_state", 0)
    status = Status.INACCURATE if found.status is Status.OPTIMAL else found.status
    claim = Claim(V, y, status, found.objective, found.iterations, words)
    out = judge(problem, found.backend, claim, watch)
    spent = found.solve_time + watch.seconds
    return replace(
        out, attempts=(Attempt(found.backend, spent, out.status, gap_of(out)),), solve_time=spent,
        build_time=found.build_time, history=found.history,
    )  # fmt: skip


def gap_of(found: Solution) -> float:
    """The relative gap; inf if there is no point."""
    return found.certificate.relative_gap if found.V is not None else float("inf")
