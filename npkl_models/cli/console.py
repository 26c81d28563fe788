"""Where a command prints: as wide as the terminal, or wide enough for every table where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 240  # columns where no terminal says how many, nor COLUMNS


def printer(stderr: bool = False) -> Console:
    """A console on standard output, or on standard error."""
    from rich.console import Console

    found = Console(stderr=stderr, emoji=False)
    if found.is_terminal or "COLUMNS" in os.environ:
        return found
    return Console(stderr=stderr, emoji=False, width=WIDE)
