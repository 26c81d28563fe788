"""The choice among the backends, and solving by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, overload

from npkl_models.answer.solution import Solution
from npkl_models.certify.unheld import split
from npkl_models.errors import UnsupportedError
from npkl_models.hooks import lend
from npkl_models.model.problem import Problem
from npkl_models.solve.backend import Backend
from npkl_models.solve.handover import candidates, solve_in_stages, solve_split, stages
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.solve.options import Options
from npkl_models.solve.program import Program
from npkl_models.solve.registry import compatible, get_backend


def choose_backend(problem: Problem, **options: Unpack[AnyKeywords]) -> tuple[str, str]:
    """The backend with the smallest predicted time that fits into memory, and why.

    Parameters
    ----------
    problem : Problem
    **options
        Only backends that know all of these are considered.

    Returns
    -------
    (name, reason)
        The reason names the prediction, those of the others, and why some cannot take the problem.

    Raises
    ------
    UnsupportedError
        If none does, with each backend's reason.
    """
    costs, declined = candidates(problem, options)
    if not costs:
        raise UnsupportedError(f"no backend takes this problem: {'; '.join(declined)}")
    chosen = min(costs, key=lambda name: costs[name].seconds)
    others = ", ".join(f"{name} {cost}" for name, cost in costs.items() if name != chosen)
    words = f"{chosen}: {get_backend(chosen).summary}; predicted {costs[chosen]}"
    words += f" (others: {others})" if others else ""
    return chosen, words + (f"; cannot: {'; '.join(declined)}" if declined else "")


@overload
def compile(problem: Problem, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Program: ...
@overload
def compile(problem: Problem, backend: Backend, **options: Any) -> Program: ...
def compile(problem: Problem, backend: str | Backend = "auto", **options: Any) -> Program:
    """Set a problem up for a backend.

    Parameters
    ----------
    problem : Problem
    backend : str or Backend
        A name from `backends`, or "auto" for the choice of `choose_backend`.
    **options
        See the backend's options; common ones are tol, max_iter, time_limit and verbose.

    Returns
    -------
    Program
        With ``solve()`` and ``describe()``.
    """
    known = get_backend(choose_backend(problem, **options)[0] if backend == "auto" else backend)
    try:
        return known.compile(problem, **options)
    except UnsupportedError as error:
        if known.reason(problem) is None:
            raise
        able = [name for name, reason in compatible(problem).items() if reason is None]
        end = f"these can: {', '.join(able)}" if able else "no other backend can either"
        raise UnsupportedError(f"{error}; {end}") from None


@overload
def solve(problem: Problem, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Solution: ...
@overload
def solve(problem: Problem, backend: Backend, **options: Any) -> Solution: ...
def solve(problem: Problem, backend: str | Backend = "auto", **options: Any) -> Solution:
    """Solve a problem by a backend; parameters as in `compile`.

    Returns
    -------
    Solution
        With status, factor and certificate. Its message names the reason for an automatic choice.
    """
    if backend != "auto":
        return compile(problem, backend, **options).solve()
    _, reason = choose_backend(problem, **options)
    given = Options(time_limit=options.get("time_limit")).time_limit
    limit, parts = float("inf") if given is None else given, split(problem)
    if parts is not None and parts.problem is not None and options.get("start") is None:
        solution = solve_split(problem, parts, options, limit)
    else:
        plan = stages(candidates(problem, options)[0])
        solution = solve_in_stages(problem, plan, options, limit)
    words = f"backend chosen: {reason}"
    if len(solution.attempts) > 1:
        words = f"tried: {'; then '.join(map(str, solution.attempts))}\nfirst {words}"
    return replace(solution, message=f"{words}\n{solution.message}" if solution.message else words)


lend("Problem.compile", compile)
lend("Problem.solve", solve)
