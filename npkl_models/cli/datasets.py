"""``npkl datasets``: the sets that are known by name, and which of them can be had here."""

from __future__ import annotations

import argparse

from rich.box import SIMPLE_HEAD
from rich.table import Table

from npkl_models.cli.console import printer
from npkl_models.data import datasets


def run(options: argparse.Namespace) -> int:
    """Print the table; returns the exit status."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("name", "where it comes from"):
        table.add_column(name, overflow="fold")
    for name in datasets.names():
        table.add_row(name, datasets.origin(name, options.data_home))
    printer().print(table)
    return 0
