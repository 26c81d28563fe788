"""The command ``npkl`` and its parser."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import shtab

from npkl_models._version import __version__
from npkl_models.cli import (
    backends,
    cluster,
    crosscheck,
    datasets,
    explain,
    explore,
    export,
    label,
    path,
    report,
    solve,
    version,
)
from npkl_models.cli.console import printer
from npkl_models.errors import NPKLError

USAGE, INTERRUPTED = 2, 130
COMMANDS = (
    solve, cluster, label, crosscheck, path, explain, explore, backends, datasets, report, export, version,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(arguments)
    errors = printer(stderr=True)
    try:
        status: int = options.run(options)
        return status
    except (NPKLError, OSError) as error:
        errors.print(f"npkl: {error}", style="red", markup=False, highlight=False)
        return USAGE
    except KeyboardInterrupt:
        errors.print("npkl: interrupted", style="red")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="npkl", description="Non-parametric kernel learning: exact and fast solvers, compared."
    )
    parser.add_argument("--version", action="version", version=__version__)
    shtab.add_argument_to(parser, "--print-completion", help="completion for a shell, to be sourced there")
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in COMMANDS:
        command.add(commands)
    return parser
