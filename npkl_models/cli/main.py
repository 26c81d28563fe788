"""The command ``npkl`` and its parser."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import NoReturn

import shtab

import npkl_models.interrupts as interrupts
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

USAGE = 2
COMMANDS = (
    solve, cluster, label, crosscheck, path, explain, explore, backends, datasets, report, export, version,
)  # fmt: skip


def command() -> NoReturn:
    """Run the command as a program: at any moment Ctrl-C ends it with one line and the status 130."""
    try:
        interrupts.begin()
        status = _status()
        interrupts.end()
    except KeyboardInterrupt:
        status = interrupts.say()
    if interrupts.heard():  # threads that compute are not waited for
        _flush()
        interrupts.leave_at_once(status)
    sys.exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    try:
        options = _parser().parse_args(arguments)
        status: int = options.run(options)
        return status
    except (NPKLError, OSError) as error:
        if interrupts.recorded():  # which others have turned into an error of theirs
            return _interrupted()
        printer(stderr=True).print(f"npkl: {error}", style="red", markup=False, highlight=False)
        return USAGE
    except KeyboardInterrupt:
        return _interrupted()


def _status() -> int:
    """Of the command, whichever way it ends."""
    try:
        status = main()
    except SystemExit as left:  # of the parser, after help or bad usage
        status = left.code if isinstance(left.code, int) else USAGE if left.code else 0
    except Exception:
        if not interrupts.recorded():
            raise
        status = interrupts.STATUS
    _flush()
    return interrupts.say() if interrupts.recorded() else status


def _interrupted() -> int:
    interrupts.answered()
    return interrupts.say()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a reader that has left
            stream.flush()


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
