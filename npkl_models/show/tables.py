"""Tables of the backends: supported problems, options, and the compiled form of a problem with its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npkl_models.errors import NPKLError
from npkl_models.model.statement import Statement
from npkl_models.routes import backends
from npkl_models.show.page import table
from npkl_models.solve.backend import Backend
from npkl_models.solve.candidates import candidates
from npkl_models.solve.choice import compile
from npkl_models.solve.options import describe_options

FORM_COLUMNS = ("backend", "predicted", "what it solves")
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
        return "\n".join(
            f"{name:<{width}}  {what}" + (f" ({cost})" if cost else "") for name, cost, what in self.rows
        )

    def _repr_html_(self) -> str:
        return table(FORM_COLUMNS, self.rows)


def forms_of(problem: Statement) -> Forms:
    """The compiled form in each backend, or the reason why the backend does not support the problem."""
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


def support_rows() -> list[tuple[str, ...]]:
    """A row for each backend: the problems that it supports."""
    return [
        (
            name, takes.losses_in_words(), takes.regularizers_in_words(), takes.basis,
            takes.constraints, ", ".join(takes.functionals),
        )
        for name, takes in ((name, backend.takes) for name, backend in backends().items())
    ]  # fmt: skip


def option_rows(backend: Backend) -> list[tuple[str, ...]]:
    """A row for each option of a backend."""
    return [tuple(option) for option in describe_options(backend.options)]
