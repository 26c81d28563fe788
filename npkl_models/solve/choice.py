"""The choice among the backends, and solving by name."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack, overload

from npkl_models.answer.solution import Solution
from npkl_models.errors import UnsupportedError, instance
from npkl_models.model.statement import Statement
from npkl_models.solve.backend import Backend
from npkl_models.solve.candidates import candidates, first_of, usable
from npkl_models.solve.cost import Cost, readable
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.solve.portfolio import AUTO, Portfolio
from npkl_models.solve.program import Program
from npkl_models.solve.registry import compatible, get_backend


@dataclass(frozen=True)
class Choice:
    """The backend that is chosen, why, and what is predicted of every one; unpacks as (name, reason).

    Attributes
    ----------
    name, reason : str
    short : str
        The reason without the others.
    rows : tuple of (backend, seconds, bytes, words)
        The quickest first; then those that cannot, with infinite seconds and the reason.
    """

    name: str
    reason: str
    short: str
    rows: tuple[tuple[str, float, float, str], ...]

    def __iter__(self) -> Iterator[str]:
        return iter((self.name, self.reason))

    def __getitem__(self, k: int) -> str:
        return (self.name, self.reason)[k]

    def cells(self) -> list[tuple[str, str, str, str]]:
        """The table as text: backend, predicted time, memory, what it is or why it cannot."""
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
    """The backend with the smallest predicted time that fits into memory, and why.

    Parameters
    ----------
    problem : Problem
    **options
        Only backends that know all of these are considered. With a ``start`` the choice is among those that
        take one, if any does.

    Returns
    -------
    Choice
        Unpacks as (name, reason); prints as the table of all predictions. The reason names the prediction,
        those of the others, and why some cannot take the problem.

    Raises
    ------
    UnsupportedError
        If none does, with each backend's reason.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> L = nm.laplacian(X, n_neighbors=2, shift=0.1)
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(L, pairs)
    >>> name, reason = nm.choose_backend(problem)
    >>> name in problem.compatible_backends()
    True
    >>> reason.startswith(name)
    True
    """
    instance(problem, Statement, "problem")
    return _chosen(*candidates(problem, options), options)


def _chosen(costs: dict[str, Cost], declined: list[str], options: Mapping[str, Any]) -> Choice:
    if not costs:
        raise UnsupportedError(f"no backend takes this problem: {'; '.join(declined)}")
    chosen = first_of(costs, options)
    others = ", ".join(f"{name} {cost}" for name, cost in costs.items() if name != chosen)
    words = f"{chosen}: {get_backend(chosen).summary}; predicted {costs[chosen]}"
    short = words
    words += f" (others: {others})" if others else ""
    words += f"; cannot: {'; '.join(declined)}" if declined else ""
    known = [(name, cost.seconds, cost.bytes, get_backend(name).summary) for name, cost in costs.items()]
    cannot = [(line.split(" ", 1)[0], float("inf"), 0.0, line.split(" ", 1)[1]) for line in declined]
    return Choice(chosen, words, short, (*sorted(known, key=lambda row: row[1]), *cannot))


@overload
def compile(problem: Statement, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Program: ...
@overload
def compile(problem: Statement, backend: Backend, **options: Any) -> Program: ...
def compile(problem: Statement, backend: str | Backend = "auto", **options: Any) -> Program:
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

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> L = nm.laplacian(X, n_neighbors=2, shift=0.1)
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(L, pairs)
    >>> nm.compile(problem, "sdp_dual")
    Program(sdp_dual for Problem(pcp: n=6, 3 pairs square, 6 diagonal square, regularizer=none))
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
    """Solve a problem by a backend, or by a strategy.

    Parameters
    ----------
    problem : Problem
    backend : str, Backend or Portfolio
        A name from `backends`; "auto" for `Portfolio()`, which tries several.
    **options
        As in `compile`.

    Returns
    -------
    Solution
        With status, factor and certificate. Its message names the reason for an automatic choice.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> L = nm.laplacian(X, n_neighbors=2, shift=0.1)
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(L, pairs)
    >>> nm.solve(problem, "interior", tol=1e-8).status.name
    'OPTIMAL'
    """
    instance(problem, Statement, "problem")
    strategy = AUTO if isinstance(backend, str) and backend == "auto" else backend
    if not isinstance(strategy, Portfolio):
        return compile(problem, strategy, **options).solve()
    costs, declined = candidates(problem, options)
    reason = _chosen(costs, declined, options).short
    solution = strategy.solve(problem, options, costs)
    words = f"backend chosen: {reason}"
    if len(solution.attempts) > 1:
        words = f"tried: {'; then '.join(map(str, solution.attempts))}\nfirst {words}"
    return replace(solution, message=f"{words}\n{solution.message}" if solution.message else words)
