"""Tables of the backends: supported problems, options, and the compiled form of a problem with its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npkl_models.errors import NPKLError
from npkl_models.model.statement import Statement
from npkl_models.routes import backends
from npkl_models.show.page import table
from npkl_models.solve.choice import compile
from npkl_models.solve.registry import candidates

SUPPORT_COLUMNS = ("backend", "losses", "regulariser", "basis", "constraints", "values")
OPTION_COLUMNS = ("option", "values", "default", "meaning")


@dataclass(frozen=True)
class Forms:
    """A row for each backend: (name, prediction, description of the form or reason against the backend)."""

    rows: tuple[tuple[str, str, str], ...]

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return iter(self.rows)

    def __str__(self) -> str:
        width = max((len(name) for name, _, _ in self.rows), default=0)
        lines = (
            f"{name:<{width}}  {what}" + (f" ({cost})" if cost else "") for name, cost, what in self.rows
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return table(("backend", "predicted", "what it solves"), self.rows)


def forms_of(problem: Statement) -> Forms:
    """The compiled form in each backend, or the reason why the backend does not support the problem."""
    costs, declined = candidates(problem, {})
    reasons, rows = dict(line.split(" ", 1) for line in declined), []
    for name in backends():
        try:
            said = reasons.get(name) or compile(problem, name).describe()
        except NPKLError as error:
            said = str(error)
        rows.append((name, "" if name in reasons else str(costs[name]), said))
    return Forms(tuple(rows))


def support_rows() -> list[tuple[str, ...]]:
    """A row for each backend: the problems that it supports."""
    return [
        (
            name, takes.losses_in_words(), takes.regularizers_in_words(), takes.basis,
            takes.constraints, ", ".join(takes.functionals),
        )
        for name, takes in ((name, backend.takes) for name, backend in backends().items())
    ]  # fmt: skip
