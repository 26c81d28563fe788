"""The default strategy: a first backend (`registry.first_of`), then the sure backend.

The time of a first-order solver depends on the condition of the problem; that of a sure solver does not, and
can be predicted. The first-order solver may do three times as much work as is predicted for the sure solver.
Then it hands over. Together the two need at most about four times the work of the better one. Work is counted
(`Allowance`), not timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from npkl_models.answer.solution import Attempt, Solution, Status
from npkl_models.errors import UnsupportedError
from npkl_models.model.statement import Statement
from npkl_models.presolve.steps import PARTS, Smaller, Step
from npkl_models.solve.cost import Allowance, Cost
from npkl_models.solve.options import Options, is_real, require
from npkl_models.solve.parts import gap_of, in_one, judged, of_all, points
from npkl_models.solve.registry import START, backends, candidates, first_of, usable
from npkl_models.workers import here, spread

FAR_OFF = 0.1  # a point with a larger relative gap is no good start
SHARPER = 0.3  # parts of a problem are solved to this share of tol
PROVED = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)
WITHOUT_END = float("inf")
FOLLOWERS = 2  # backends that may follow the sure backend, or the first one if there is no sure backend
LONGEST = 60.0  # seconds that may be predicted for a backend that follows where none is sure
LATER = 10.0  # work of a backend after the sure one, as a multiple of its prediction, or of a second


@dataclass(frozen=True, kw_only=True)
class Portfolio:
    """A portfolio: the order in which backends are tried, and how much work each may do.

    Work is measured in seconds of the machine on which predictions were calibrated. The sure backend is the
    quickest backend whose prediction does not depend on the condition of the problem.

    Parameters
    ----------
    share, shortest : float
        Work of the first backend, as a multiple of the prediction for the sure backend (or for itself, if
        none is sure), and the least of it.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> problem.solve(nm.Portfolio(share=10.0)).status.name
    'OPTIMAL'
    """

    share: float = 3.0
    shortest: float = 0.05

    def __post_init__(self) -> None:
        for name in ("share", "shortest"):
            value = getattr(self, name)
            require(is_real(value) and value >= 0, f"{name} of a Portfolio must be a number >= 0", value)

    def stages(self, costs: Mapping[str, Cost], options: Mapping[str, Any]) -> list[tuple[str, float]]:
        """The backends to try in turn, and how much work each may do.

        If the sure backend does not reach the optimum either, the quickest other backends may each do some
        work. If there is no sure backend, there is no known time to hand over. The first backend then runs to
        its own end, and others follow if it has not reached the optimum. But if it is not anytime, it may
        first do a share of its own prediction, and then the quickest anytime backend some work.
        """
        order = sorted(costs, key=lambda name: costs[name].seconds)
        sure = next((name for name in order if costs[name].sure), None)
        first = first_of(costs, options)
        if sure is None:
            second = [name for name in order if name != first and costs[name].seconds <= LONGEST]
            whole = [(name, WITHOUT_END) for name in (first, *second[:FOLLOWERS])]
            able = [] if costs[first].anytime else [name for name in second if costs[name].anytime]
            own = max(self.share * costs[first].seconds, self.shortest)
            between = [(first, own), *((name, LATER * max(costs[name].seconds, 1.0)) for name in able[:1])]
            return [*between, *whole] if able else whole
        if len(order) == 1:
            return [(first, WITHOUT_END)]
        others = [name for name in order if name != sure][:FOLLOWERS]
        shares = [(name, LATER * max(costs[name].seconds, 1.0)) for name in others]
        rest = [(sure, WITHOUT_END), *shares]
        most = max(self.share * costs[sure].seconds, self.shortest)
        return rest if first == sure else [(first, most), *rest]

    def solve(
        self, problem: Statement, options: dict[str, Any], costs: Mapping[str, Cost] | None = None
    ) -> Solution:
        """Solve a problem: smaller problems in its place if a presolve step accepts it, else in stages.

        ``costs`` are the `candidates` of the problem, if they are known.
        """
        given = Options(time_limit=options.get("time_limit")).time_limit
        limit = WITHOUT_END if given is None else given
        return self._presolved(problem, options, limit, self.steps(problem, options), costs)

    def steps(self, problem: Statement, options: Mapping[str, Any]) -> tuple[Step, ...]:
        """The presolve steps from the first one that accepts the problem; with a start, there are none."""
        return () if options.get(START) is not None else _accepting(problem, PARTS)

    def _presolved(
        self, problem: Statement, options: dict[str, Any], limit: float, steps: tuple[Step, ...] = PARTS,
        costs: Mapping[str, Cost] | None = None,
    ) -> Solution:  # fmt: skip
        """Take the first step that accepts the problem, solve what it leaves, and judge the whole.

        The smaller problems take the steps that follow. If the whole is not certified, the quickest sure
        backend solves it without a step, and the better solution is returned.
        """
        steps = _accepting(problem, steps)
        if not steps:
            return self.in_stages(problem, options, limit, costs=costs)
        step, rest, started = steps[0], steps[1:], time.perf_counter()
        smaller = step.apply(problem)
        own = options | {"tol": SHARPER * Options(tol=options.get("tol", Options.tol)).tol}
        found = self._in_turn(smaller, own, limit, rest, type(problem))
        V, y = smaller.undo(*points(smaller, found))
        words = step.words.format(len(smaller.problems))
        best = judged(problem, in_one(found), V, y, options, words)
        left = limit - (time.perf_counter() - started)
        if best.status in (*PROVED, Status.STOPPED) or left <= 0:
            return best
        costs = candidates(problem, options)[0] if costs is None else costs
        sure = [name for name in costs if costs[name].sure]
        if not sure:
            return best
        quickest = min(sure, key=lambda name: costs[name].seconds)
        whole = self.in_stages(problem, options, left, [(quickest, WITHOUT_END)], costs)
        if whole.V is not None and y is not None and whole.status not in (*PROVED, Status.STOPPED):
            whole = judged(problem, whole, whole.V, y, options, words)
        return replace(_kept(whole, best), attempts=(*best.attempts, *whole.attempts))

    def _in_turn(
        self, smaller: Smaller, options: dict[str, Any], limit: float, steps: tuple[Step, ...],
        kind: type[Statement],
    ) -> list[Solution]:  # fmt: skip
        """Solve one part after the other, until the time is up or the callback stops the run.

        On a cluster that joblib is configured for, each worker solves a part, without a limit or a callback.
        """
        free = limit == WITHOUT_END and options.get("callback") is None
        if len(smaller.problems) > 1 and free and not here():
            given = [(kind, self, options, steps, part) for part in smaller.problems]
            return list(spread(_part, given))
        started, found, own = time.perf_counter(), list[Solution](), dict(options)
        for part in smaller.problems:
            left = limit - (time.perf_counter() - started)
            if options.get("callback") is not None:
                own["callback"] = of_all(options["callback"], smaller, found)
            found.append(self._presolved(part, _within(left, own), left, steps))
            if found[-1].status is Status.STOPPED or left <= 0:
                break
        return found

    def in_stages(
        self, problem: Statement, options: dict[str, Any], limit: float,
        plan: list[tuple[str, float]] | None = None, costs: Mapping[str, Cost] | None = None,
    ) -> Solution:  # fmt: skip
        """Try the backends in turn, each to its own end once; the best solution, with all attempts."""
        costs = candidates(problem, options)[0] if costs is None else costs
        plan = self.stages(costs, options) if plan is None else plan
        started, best, cut = time.perf_counter(), None, False
        attempts, ended = list[Attempt](), set[str]()
        for name, most in plan:
            left = limit - (time.perf_counter() - started)
            if best is not None and left <= 0:
                break
            if name in ended:
                continue
            allowance = Allowance(most)
            found = _attempt(problem, name, options, left, best, allowance)
            if found is None:
                continue
            attempts.append(Attempt(name, found.solve_time, found.status, gap_of(found)))
            best = _kept(found, best)
            cut = allowance.used if best is found else cut
            ended |= set() if allowance.used else {name}
            without_bound = found.V is not None and found.certificate.bound == -math.inf
            if found.status in (*PROVED, Status.STOPPED) or (most == WITHOUT_END and without_bound):
                break  # another backend would not find a bound either
        return _summed(best, attempts, cut)


def _accepting(problem: Statement, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps from the first one that accepts the problem."""
    return next((steps[k:] for k, step in enumerate(steps) if step.accepts(problem)), ())


def _part(
    kind: type[Statement], portfolio: Portfolio, options: dict[str, Any], steps: tuple[Step, ...],
    part: Statement,
) -> Solution:  # fmt: skip
    """The solution of a part; the module of the class ``kind`` registers all backends."""
    return portfolio._presolved(part, options, WITHOUT_END, steps)


def _within(left: float, options: dict[str, Any]) -> dict[str, Any]:
    """The options with the time that is left as their time limit."""
    return options if left == WITHOUT_END else options | {"time_limit": max(left, 1e-3)}


AUTO = Portfolio()
"""The portfolio that ``backend="auto"`` stands for."""


def _attempt(
    problem: Statement, name: str, options: dict[str, Any], seconds: float, best: Solution | None,
    allowance: Allowance,
) -> Solution | None:  # fmt: skip
    """Run one backend within its allowance, from the best point so far."""
    backend = backends()[name]
    own = _within(seconds, usable(backend, options))
    near = best is not None and best.V is not None and best.certificate.relative_gap < FAR_OFF
    if near and START in backend.option_names:
        own[START] = best
    try:
        return backend.compile(problem, **own).solve(allowance)
    except UnsupportedError:
        if best is None:
            raise
        return None


def _summed(best: Solution | None, attempts: list[Attempt], cut: bool) -> Solution:
    """The best solution with all attempts."""
    if best is None:
        raise UnsupportedError("no backend was tried")
    if cut and best.status is Status.ITERATION_LIMIT:
        best = replace(best, status=Status.INACCURATE)
    total = sum(attempt.seconds for attempt in attempts)
    return replace(best, attempts=tuple(attempts), solve_time=total)


def _kept(found: Solution, best: Solution | None) -> Solution:
    """The better of two solutions, with the status STOPPED if the last run was stopped."""
    if best is None or found.status in PROVED or _rank(found) <= _rank(best):
        best = found
    return replace(best, status=found.status) if found.status is Status.STOPPED else best


def _rank(of: Solution) -> tuple[float, float, float, bool]:
    """The order of solutions: by gap, then by violation if it matters, then by objective."""
    if of.V is None:
        return math.inf, math.inf, math.inf, True
    known = of.certificate
    missed = 0.0 if known.feasible else known.violation
    return known.relative_gap, missed, known.objective, of.status is Status.FAILED
