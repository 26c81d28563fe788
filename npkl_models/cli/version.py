"""``npkl version``: the versions that an answer depends on."""

from __future__ import annotations

import argparse
import json
from typing import Any

from npkl_models.cli.arguments import parser_of
from npkl_models.cli.console import printer
from npkl_models.show.machine import machine, versions


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = parser_of(
        commands, "version", "print the versions and the machine", "Print the versions, for a report.",
        "examples:\n  npkl version\n  npkl version --json",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print them; returns the exit status."""
    found = versions() | machine()
    lines = json.dumps(found, indent=2) if options.json else "\n".join(f"{k} {v}" for k, v in found.items())
    printer().print(lines, markup=False, highlight=False, soft_wrap=True)
    return 0
