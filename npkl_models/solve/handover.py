"""Solving by the default: the quickest backend first, the sure one once it would have been done.

How long a first-order solver takes depends on the condition of a problem, which nobody knows beforehand; how
long one takes that does not mind the condition is known. So the former has as long as the latter would take;
then it goes on while its rate of fall promises an end sooner than that, for three times as long at most, and
hands over. Together they need at most about four times the time of the better one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from npkl_models.answer.solution import Attempt, Solution, Status
from npkl_models.errors import UnsupportedError, unknown
from npkl_models.linalg import Array
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.presolve.anchored import Split
from npkl_models.presolve.growth import grown
from npkl_models.presolve.units import binary_units
from npkl_models.solve.backend import Backend
from npkl_models.solve.cost import Cost
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.options import Options
from npkl_models.solve.pace import Pace
from npkl_models.solve.registry import backends
from npkl_models.solve.watch import Watch

START = "start"  # the option that only helps
FAR = 3.0  # a prediction that is so many times the limit is beyond it
SHORTEST = 0.05  # seconds that the first one has at least
SHARE = 3.0  # times the prediction of the sure one, that the first one has
SECOND = 60.0  # seconds predicted of one that follows where none is sure
FOLLOWERS = 2  # of them
FAR_OFF = 0.1  # relative gap of a point that is no better start than any other
PATIENCE = 10.0  # times its own prediction, after the sure one
SHARPER = 0.3  # of tol: the gap of the anchored points' problem, where others are held by nothing
LAST = 10.0  # seconds, then at least, if there is a bound at all
PROVED = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


def candidates(problem: Statement, options: Mapping[str, Any]) -> tuple[dict[str, Cost], list[str]]:
    """The costs of the backends that take the problem and know the options; and why the others do not.

    A start is no condition: those that take none do without.
    """
    costs: dict[str, Cost] = {}
    declined: list[str] = []
    every = {name for backend in backends().values() for name in backend.option_names}
    for key in options:
        if key not in every:
            raise unknown("option", key, every)
    for name, backend in backends().items():
        reason = backend.reason(problem)
        strange = [key for key in options if key not in backend.option_names and key != START]
        if reason is None and strange:
            reason = f"has no option {', '.join(strange)}"
        if reason is None:
            cost = predicted(backend, problem)
            reason = cost.hopeless
            if not reason:
                costs[name] = cost
                continue
        declined.append(f"{name} {reason}")
    return costs, declined


def predicted(backend: Backend, problem: Statement) -> Cost:
    """Its cost; one that breaks, such as a user's, makes it no candidate."""
    try:
        return backend.cost(binary_units(problem).problem).within_memory()
    except Exception as error:
        return Cost(float("inf"), 0.0, f"has a cost that raises {type(error).__name__}: {error}")


def first_of(costs: Mapping[str, Cost], options: Mapping[str, Any]) -> str:
    """The quickest backend; with a start the quickest of those that take one, if there are any.

    Under a time limit far too short for it, it is the quickest of those that have a point at any time.
    """
    able = list(costs)
    if options.get(START) is not None:
        able = [name for name in costs if START in backends()[name].option_names] or able
    first = min(able, key=lambda name: costs[name].seconds)
    limit = Options(time_limit=options.get("time_limit")).time_limit
    if limit is None or costs[first].seconds <= FAR * limit:
        return first
    return min(
        (name for name in able if costs[name].anytime), key=lambda name: costs[name].seconds, default=first
    )


def usable(backend: Backend, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without a start where the backend takes none."""
    return {key: value for key, value in options.items() if key != START or key in backend.option_names}


def stages(costs: Mapping[str, Cost], options: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Which backends to try in turn, and for how many seconds each.

    Should the sure one not get there either, the quickest of the others has some time more. Where none is
    sure, nobody knows when to hand over: the first one goes on to its own end, and the next one follows if
    that was not the optimum and it is predicted to be done in a minute.
    """
    order = sorted(costs, key=lambda name: costs[name].seconds)
    sure = next((name for name in order if costs[name].sure), None)
    first = first_of(costs, options)
    if sure is None:
        second = [name for name in order if name != first and costs[name].seconds <= SECOND][:FOLLOWERS]
        return [(name, float("inf")) for name in (first, *second)]
    if len(order) == 1:
        return [(first, float("inf"))]
    other = next(name for name in order if name != sure)
    rest = [(sure, float("inf")), (other, max(PATIENCE * costs[other].seconds, LAST))]
    return rest if first == sure else [(first, max(SHARE * costs[sure].seconds, SHORTEST)), *rest]


def solve_split(problem: Statement, parts: Split, options: dict[str, Any], limit: float) -> Solution:
    """The anchored points are solved, the others grown from there, or all by the sure one; the better.

    The multipliers are those of the anchored points in any case.
    """
    started, tol = time.perf_counter(), Options(tol=options.get("tol", Options.tol)).tol
    inner, own = parts.problem, options | {"tol": SHARPER * tol}
    if inner is None:
        raise UnsupportedError("a split without anchored points has nothing to solve")
    found = solve_in_stages(inner, stages(candidates(inner, options)[0], options), own, limit)
    V, y = None, None
    if found.V is not None:
        V, y = grown(parts, found.V), parts.unfold(found.certificate.multipliers)
    best = _judged(problem, found, V, y, options)
    costs = candidates(problem, options)[0]
    sure = [name for name in costs if costs[name].sure]
    left = limit - (time.perf_counter() - started)
    if best.status is Status.OPTIMAL or found.status is Status.STOPPED or not sure or left <= 0:
        return best
    whole = _attempt(problem, min(sure, key=lambda name: costs[name].seconds), options, left, None)
    if whole is None or whole.V is None:
        return best
    other = _judged(problem, whole, whole.V, y, options)
    attempts = (*best.attempts, *other.attempts)
    best = _kept(other, best)
    return replace(best, attempts=attempts, solve_time=time.perf_counter() - started)


def _judged(
    problem: Statement, found: Solution, V: Array | None, y: Multipliers | None, options: Mapping[str, Any]
) -> Solution:
    """What a point and multipliers are worth to the whole problem."""
    watch = Watch(Options(tol=options.get("tol", Options.tol)), found.backend)
    status = Status.INACCURATE if found.status is Status.OPTIMAL else found.status
    claim = Claim(V, y, status, found.objective, found.iterations, "solved where the points are held")
    out = judge(problem, found.backend, claim, watch)
    gap = out.certificate.relative_gap if out.V is not None else float("inf")
    spent = found.solve_time + watch.seconds
    return replace(
        out, attempts=(Attempt(found.backend, spent, out.status, gap),), solve_time=spent,
        build_time=found.build_time, history=found.history,
    )  # fmt: skip


def solve_in_stages(
    problem: Statement, plan: list[tuple[str, float]], options: dict[str, Any], limit: float
) -> Solution:
    """Try the backends in turn until one is certified; the best answer, with all attempts."""
    started, best = time.perf_counter(), None
    attempts: list[Attempt] = []
    for name, seconds in plan:
        left = limit - (time.perf_counter() - started)
        if best is not None and left <= 0:
            break
        found = _attempt(problem, name, options, min(seconds, left), best, _other(plan, name, seconds))
        if found is None:
            continue
        gap = found.certificate.relative_gap if found.V is not None else float("inf")
        attempts.append(Attempt(name, found.solve_time, found.status, gap))
        best = _kept(found, best)
        if found.status in (*PROVED, Status.STOPPED) or (seconds == float("inf") and _loose(found)):
            break
    if best is None:
        raise UnsupportedError("no backend was tried")
    if best.status is Status.TIME_LIMIT and limit == float("inf"):  # one of ours
        best = replace(best, status=Status.INACCURATE)
    total = sum(attempt.seconds for attempt in attempts)
    return replace(best, attempts=tuple(attempts), solve_time=total)


def _attempt(
    problem: Statement, name: str, options: dict[str, Any], seconds: float, best: Solution | None,
    other: float = float("inf"),
) -> Solution | None:  # fmt: skip
    """One backend for so many seconds, from the best point so far; None if it refuses to follow another.

    It ends before its time if what is left would take longer than ``other`` seconds.
    """
    backend = backends()[name]
    own = usable(backend, options)
    checked = Options(tol=options.get("tol", Options.tol), callback=options.get("callback"))
    pace = Pace(other, checked.tol, checked.callback, reference=problem.reference)
    if other < float("inf") and "callback" in backend.option_names:
        own["callback"] = pace
    if seconds < float("inf"):
        own["time_limit"] = max(seconds, 1e-3)
    near = best is not None and best.V is not None and best.certificate.relative_gap < FAR_OFF
    if near and "start" in backend.option_names:
        own["start"] = best
    try:
        found = backend.compile(problem, **own).solve()
    except UnsupportedError:
        if best is None:
            raise
        return None
    ended = found.status is Status.STOPPED and pace.slow
    return replace(found, status=Status.TIME_LIMIT) if ended else found


def _other(plan: list[tuple[str, float]], name: str, seconds: float) -> float:
    """What the sure one that follows would take; inf where none does, or this is the sure one."""
    follows = len(plan) > 1 and name == plan[0][0] and plan[1][1] == float("inf")
    return seconds / SHARE if follows and seconds < float("inf") else float("inf")


def _kept(found: Solution, best: Solution | None) -> Solution:
    """The better of the two, stopped if the last one was."""
    if best is None or found.status in PROVED or _better(found, best):
        best = found
    return replace(best, status=found.status) if found.status is Status.STOPPED else best


def _better(found: Solution, best: Solution) -> bool:
    if found.V is None or best.V is None:
        return best.V is None
    return found.certificate.relative_gap <= best.certificate.relative_gap


def _loose(found: Solution) -> bool:
    """Whether there is no bound, which another backend would not find either."""
    return found.V is not None and found.certificate.bound == float("-inf")
