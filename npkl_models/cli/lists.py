"""``npkl backends``, ``npkl datasets`` and ``npkl warm-up``: what there is, and its compiled loops."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from npkl_models.cli.console import new_table, printer, say
from npkl_models.data.datasets import names, origin
from npkl_models.linalg.compile import Loop, available, seconds_compiling
from npkl_models.routes import get_backend
from npkl_models.show.tables import OPTION_COLUMNS, SUPPORT_COLUMNS, support_rows
from npkl_models.solve.options import describe_options

NOWHERE = "numba found no folder that it may write to: each process compiles for itself what it needs"
WITHOUT = "numba is not installed: loops run in Python, there is nothing to compile"


def backends(options: argparse.Namespace) -> int:
    """Print the problems that each backend supports, or the options of one; returns the exit status."""
    if options.name is None:
        _print(SUPPORT_COLUMNS, support_rows())
        return 0
    backend = get_backend(options.name)
    say(f"{backend.name}: {backend.summary}\n", soft_wrap=False)
    _print(OPTION_COLUMNS, describe_options(backend.options))
    return 0


def datasets(options: argparse.Namespace) -> int:
    """Print the names of the data sets, and the origin of each; returns the exit status."""
    rows = ((name, origin(name, options.data_home)) for name in names())
    _print(("name", "where it comes from"), rows)
    return 0


def _print(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    table = new_table(columns)
    for row in rows:
        table.add_row(*(cell.replace("[", "\\[") for cell in row))
    printer().print(table)


def warm_up(options: argparse.Namespace) -> int:
    """Compile or load all loops, and print the folder of the code; returns the exit status."""
    if not available():
        say(WITHOUT)
        return 0
    for loop in Loop.every:
        before = seconds_compiling()
        loop.prepare()
        say(f"{loop.name}: {seconds_compiling() - before:.1f} s, {loop.folder() or 'not stored'}")
    if not all(loop.folder() for loop in Loop.every):
        say(NOWHERE)
    return 0
