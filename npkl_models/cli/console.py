"""The console of a command: as wide as the terminal, or wide enough for every table without a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 100  # columns without a terminal and without the variable COLUMNS


def printer(stderr: bool = False) -> Console:
    """A console on standard output, or on standard error."""
    from rich.console import Console

    found = Console(stderr=stderr, emoji=False)
    if found.is_terminal or "COLUMNS" in os.environ:
        return found
    return Console(stderr=stderr, emoji=False, width=WIDE)


@contextmanager
def reserved(options: argparse.Namespace) -> Iterator[None]:
    """Keep standard output for a document that ``-`` asks for there; all else goes to standard error."""
    names = [name for name in ("json", "out") if getattr(options, name, None) == Path("-")]
    for name in names:
        setattr(options, name, sys.stdout)
    with redirect_stdout(sys.stderr if names else sys.stdout):
        yield


def say(what: Any, soft_wrap: bool = True) -> None:
    """Print a text or a table unchanged, without rich's markup."""
    printer().print(what, markup=False, highlight=False, soft_wrap=soft_wrap)


def new_table(columns: Iterable[str], title: str | None = None, right: Container[str] = ()) -> Table:
    """An empty table in the style of all commands; on a narrow terminal, cells are folded and never cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table
