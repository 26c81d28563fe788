"""What each backend makes of a problem: its compiled form, with cones and sizes."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass

from npkl_models.errors import NPKLError
from npkl_models.model.statement import Statement
from npkl_models.routes import backends
from npkl_models.solve.candidates import candidates
from npkl_models.solve.choice import compile

COLUMNS = ("backend", "predicted", "what it solves")


@dataclass(frozen=True)
class Forms:
    """A row for each backend: (name, prediction, description or the reason why it cannot)."""

    rows: tuple[tuple[str, str, str], ...]

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return iter(self.rows)

    def __str__(self) -> str:
        width = max((len(name) for name, _, _ in self.rows), default=0)
        return "\n".join(
            f"{name:<{width}}  {what}" + (f" ({cost})" if cost else "") for name, cost, what in self.rows
        )

    def _repr_html_(self) -> str:
        return table(COLUMNS, self.rows)


def forms_of(problem: Statement) -> Forms:
    """The compiled form by each backend; those that cannot take the problem, or not at its size, say why."""
    costs, declined = candidates(problem, {})
    reasons = dict(line.split(" ", 1) for line in declined)
    rows = []
    for name in backends():
        if name in reasons:
            rows.append((name, "", reasons[name]))
            continue
        try:
            rows.append((name, str(costs[name]), compile(problem, name).describe()))
        except NPKLError as error:
            rows.append((name, str(costs[name]), str(error)))
    return Forms(tuple(rows))


def table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    """A plain HTML table."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
