"""Tables of the backends, made from the registry: what each takes, and its options."""

from __future__ import annotations

from collections.abc import Iterable

from npkl_models.routes import backends
from npkl_models.solve.backend import Backend
from npkl_models.solve.options import describe_options

SUPPORT_COLUMNS = ("backend", "losses", "regulariser", "basis", "equalities", "values")
OPTION_COLUMNS = ("option", "values", "default", "meaning")


def support_rows() -> list[tuple[str, ...]]:
    """A row for each backend: what it takes."""
    return [
        (
            name, takes.losses_in_words(), takes.regularizers_in_words(), takes.basis,
            "yes" if takes.equalities else "no", ", ".join(takes.functionals),
        )
        for name, takes in ((name, backend.takes) for name, backend in backends().items())
    ]  # fmt: skip


def option_rows(backend: Backend) -> list[tuple[str, ...]]:
    """A row for each option of a backend."""
    return [tuple(option) for option in describe_options(backend.options)]


def markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = tuple(columns)
    lines = [head, tuple("---" for _ in head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
