"""``npkl backends``: what each backend takes, and its options."""

from __future__ import annotations

import argparse
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from npkl_models.cli.arguments import parser_of
from npkl_models.cli.console import printer
from npkl_models.show.tables import OPTION_COLUMNS, SUPPORT_COLUMNS, option_rows, support_rows
from npkl_models.solve.registry import backends, get_backend


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = parser_of(
        commands, "backends", "list the backends, or the options of one",
        "What backends take; or one's options.", "examples:\n  npkl backends\n  npkl backends bcd",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", help=f"one of {', '.join(backends())}")
    parser.set_defaults(run=run)


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
