"""``npkl datasets``: the sets that are known by name, and which of them can be had here."""

from __future__ import annotations

import argparse
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from npkl_models.cli.arguments import parser_of
from npkl_models.cli.console import printer
from npkl_models.data import datasets

EXAMPLES = """examples:
  npkl datasets
  npkl datasets --data-home ~/data"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = parser_of(
        commands,
        "datasets",
        "list the data sets",
        "List the data sets by name, and where each comes from.",
        EXAMPLES,
    )
    parser.add_argument("--data-home", metavar="DIR", help=f"data folder; else ${datasets.FOLDER_VARIABLE}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table; returns the exit status."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("name", "where it comes from"):
        table.add_column(name, overflow="fold")
    for name in datasets.names():
        table.add_row(name, datasets.origin(name, options.data_home))
    printer().print(table)
    return 0
