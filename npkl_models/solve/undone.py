"""The way from the solution of a smaller problem to a solution of the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from npkl_models.answer.history import Iterate
from npkl_models.answer.solution import Attempt, Solution, Status
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.presolve.step import Smaller
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.watch import RunMonitor


def of_whole(
    callback: Callable[[Iterate], bool | None], smaller: Smaller
) -> Callable[[Iterate], bool | None]:
    """A callback for the smaller problem that calls the given callback with points of the whole."""

    def told(iterate: Iterate) -> bool | None:
        V = None if iterate.V is None else smaller.undo((iterate.V, None))[0]
        return callback(iterate._replace(bound=float("nan"), V=V))

    return told


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
