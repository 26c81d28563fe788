"""``npkl backends``: what each backend takes, and its options."""

from __future__ import annotations

import argparse

from rich.box import SIMPLE_HEAD
from rich.table import Table

from npkl_models.cli.console import printer
from npkl_models.routes import get_backend
from npkl_models.show.tables import OPTION_COLUMNS, SUPPORT_COLUMNS, option_rows, support_rows


def run(options: argparse.Namespace) -> int:
    """Print the table; returns the exit status."""
    if options.name is None:
        _print(SUPPORT_COLUMNS, support_rows())
    else:
        backend = get_backend(options.name)
        printer().print(f"{backend.name}: {backend.summary}\n", markup=False, highlight=False)
        _print(OPTION_COLUMNS, option_rows(backend))
    return 0


def _print(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name)
    for row in rows:
        table.add_row(*(cell.replace("[", "\\[") for cell in row))
    printer().print(table)
