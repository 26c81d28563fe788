"""The choice among the backends, and solving by name."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack, overload

from npkl_models.answer.solution import Solution
from npkl_models.errors import UnsupportedError, instance
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend, Program
from npkl_models.solve.cost import Cost, readable
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.solve.portfolio import AUTO, Portfolio
from npkl_models.solve.registry import candidates, compatible, first_of, get_backend, usable


@dataclass(frozen=True)
class Choice:
    """The choice of a backend, with its reason and the predictions for all backends.

    A choice unpacks as (name, reason), and prints as a table of the predictions.
    """

    name: str  # name of the backend, and the reason with the predictions for the other backends
    reason: str
    short: str  # reason without the other backends
    # predictions, the chosen backend first, then the quickest. Backends that do not support the problem
    # follow, with infinite seconds and the reason
    rows: tuple[tuple[str, float, float, str], ...]

    def __iter__(self) -> Iterator[str]:
        return iter((self.name, self.reason))

    def __getitem__(self, k: int) -> str:
        return (self.name, self.reason)[k]

    def cells(self) -> list[tuple[str, str, str, str]]:
        """The table as text: backend, predicted time, memory, and the summary or the reason against it."""
        return [
            (name, readable(seconds), f"{size / 1e6:.3g} MB", words)
            if seconds < float("inf")
            else (name, "", "", words)
            for name, seconds, size, words in self.rows
        ]

    def __str__(self) -> str:
        table = self.cells()
        widths = [max(len(row[k]) for row in table) for k in range(3)]
        lines = (f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in table)
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "<tr><th>backend</th><th>predicted</th><th>memory</th><th></th></tr>"
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.cells())
        return f"<table>{head}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def choose_backend(problem: Statement, **options: Unpack[AnyKeywords]) -> Choice:
    """Choose the backend with the smallest predicted time among those that fit into memory.

    A sure backend comes first if it is predicted to take at most a second: it needs no compilation. Only
    backends that know all these options of the solve are considered; with a ``start``, those with a warm
    start, provided there are any.

    Raises
    ------
    UnsupportedError
        If no backend supports the problem; the message has the reason of each backend.
    """
    instance(problem, Statement, "problem")
    return _chosen(*candidates(problem, options), options)


def _chosen(costs: dict[str, Cost], declined: list[str], options: Mapping[str, Any]) -> Choice:
    if not costs:
        raise UnsupportedError(f"no backend supports this problem: {'; '.join(declined)}")
    chosen = first_of(costs, options)
    others = ", ".join(f"{name} {cost}" for name, cost in costs.items() if name != chosen)
    short = f"{chosen}: {get_backend(chosen).summary}; predicted {costs[chosen]}"
    words = f"{short} (others: {others})" if others else short
    words += f"; cannot: {'; '.join(declined)}" if declined else ""
    known = [(name, cost.seconds, cost.bytes, get_backend(name).summary) for name, cost in costs.items()]
    cannot = [(line.split(" ", 1)[0], float("inf"), 0.0, line.split(" ", 1)[1]) for line in declined]
    return Choice(chosen, words, short, (*sorted(known, key=lambda row: (row[0] != chosen, row[1])), *cannot))


@overload
def compile(problem: Statement, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Program: ...
@overload
def compile(problem: Statement, backend: Backend, **options: Any) -> Program: ...
def compile(problem: Statement, backend: str | Backend = "auto", **options: Any) -> Program:
    """Compile a problem to a program of a backend, without solving it.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    backend : str or Backend
        Name from `backends`, or "auto" for the choice of `choose_backend`.
    **options
        Options of the backend. All backends have tol, max_iter, time_limit, verbose and callback.

    """
    if isinstance(backend, str) and backend == "auto":
        backend = choose_backend(problem, **options)[0]
        options = usable(get_backend(backend), options)
    instance(problem, Statement, "problem")
    known = get_backend(backend)
    try:
        return known.compile(problem, **options)
    except UnsupportedError as error:
        if known.reason(problem) is None:
            raise
        able = [name for name, reason in compatible(problem).items() if reason is None]
        end = f"these can: {', '.join(able)}" if able else "no other backend can either"
        raise UnsupportedError(f"{error}; {end}") from None


@overload
def solve(problem: Statement, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Solution: ...
@overload
def solve(problem: Statement, backend: Portfolio, **options: Unpack[AnyKeywords]) -> Solution: ...
@overload
def solve(problem: Statement, backend: Backend, **options: Any) -> Solution: ...
def solve(problem: Statement, backend: str | Backend | Portfolio = "auto", **options: Any) -> Solution:
    """Solve a problem with a backend, or with a portfolio of backends.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    backend : str, Backend or Portfolio
        Name from `backends`, or "auto" for `Portfolio()`, which may try several backends.
    **options
        Options of the backend, as in `compile`.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> nm.solve(problem, "interior", tol=1e-8).status.name
    'OPTIMAL'
    """
    instance(problem, Statement, "problem")
    strategy = AUTO if isinstance(backend, str) and backend == "auto" else backend
    if not isinstance(strategy, Portfolio):
        return compile(problem, strategy, **options).solve()
    costs, declined = candidates(problem, options)
    chosen = _chosen(costs, declined, options)
    solution = strategy.solve(problem, options, costs)
    first = solution.attempts[0].backend  # nothing is predicted here for parts
    predicted = first == chosen.name and not strategy.steps(problem, options)
    words = f"backend chosen: {chosen.short if predicted else first}"
    if len(solution.attempts) > 1:
        words = f"tried: {'; then '.join(map(str, solution.attempts))}\nfirst {words}"
    return replace(solution, message=f"{words}\n{solution.message}" if solution.message else words)
