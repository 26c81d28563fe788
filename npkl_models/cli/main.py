"""The command ``npkl``."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

import shtab

import npkl_models.interrupts as interrupts
from npkl_models._first import STATUS, end_at_once
from npkl_models._version import __version__
from npkl_models.cli.console import printer, reserved
from npkl_models.cli.parser.commands import COMMANDS, Command
from npkl_models.cli.parser.shared import Formatter, Parser, reader
from npkl_models.errors import NPKLError
from npkl_models.recipe.fields import FIELDS

USAGE = 2


def command() -> NoReturn:
    """Run the command as a program; Ctrl-C ends it at any moment with one line and the status 130."""
    end_at_once()
    try:
        status = _status()
        interrupts.end()
    except KeyboardInterrupt:
        status = interrupts.say()
    if interrupts.heard():  # do not wait for threads that compute
        _flush()
        interrupts.leave_at_once(status)
    sys.exit(status)


def main(arguments: Sequence[str] | None = None, ready: Callable[[], None] = lambda: None) -> int:
    """Run the command with the given arguments, or those of the process; returns its exit status.

    ``ready`` is called after the imports of the command, before it does anything.
    """
    try:
        options = parser().parse_args(arguments)
        module, name = options.run.split(".")
        run: Callable[..., int] = getattr(import_module(f"npkl_models.cli.{module}"), name)
        ready()
        with reserved(options):
            return run(options)
    except BrokenPipeError:  # the reader has enough, as `head` has: nothing more is written, nor said
        interrupts.mute(1)
        return 1
    except (NPKLError, OSError) as error:
        if interrupts.recorded():  # other code has turned the signal into another error
            return _interrupted()
        console = printer(stderr=True)
        words = re.sub(r"\bgive (.+?) as (ids|labels), else", r"give --\2 \1, else", str(error))
        words = words.replace("names of rows if ids says", "names of rows if --ids says")
        console.print(f"npkl: {words}", style="red", markup=False, highlight=False, soft_wrap=True)
        return USAGE
    except KeyboardInterrupt:
        return _interrupted()


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command; ``run`` in its result names the module and function to call."""
    made = Parser(
        prog="npkl", description="Non-parametric kernel learning: exact and fast solvers, compared."
    )
    made.add_argument("--version", action="version", version=__version__)
    shtab.add_argument_to(made, "--print-completion", help="completion for a shell, to be sourced there")
    commands = made.add_subparsers(required=True, metavar="command")
    for one in COMMANDS:
        _add(commands, one)
    return made


def _add(commands: Any, one: Command) -> None:
    """Add the parser of a command; an option of a field that is not given sets no attribute."""
    formatter = argparse.RawDescriptionHelpFormatter if one.plain else Formatter
    about = {"help": one.summary, "description": one.description, "epilog": f"examples:{one.examples}"}
    added = commands.add_parser(one.name, formatter_class=formatter, **about)
    added.set_defaults(run=one.run or f"{one.name}.run")
    for argument in one.arguments:
        name, how = (argument, {}) if isinstance(argument, str) else argument
        if name in FIELDS and "help" not in how:
            field = FIELDS[name]
            default = field.default_in(one.place)
            words = field.words if default is None else f"{field.words} (default: {default})"
            given = {"type": reader(field), "metavar": field.metavar, "choices": field.choices or None}
            name, how = field.option, given | {"help": words, "default": argparse.SUPPRESS} | how
        added.add_argument(name, **how)


def _status() -> int:
    """The exit status of the command, in whichever way it ends."""
    try:
        status = main(ready=interrupts.begin)
    except SystemExit as left:  # the parser ends so after help or bad usage
        status = left.code if isinstance(left.code, int) else USAGE if left.code else 0
    except Exception:
        if not interrupts.recorded():
            raise
        status = STATUS
    _flush()
    return interrupts.say() if interrupts.recorded() else status


def _interrupted() -> int:
    interrupts.answered()
    return interrupts.say()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the reader of the output has ended
            stream.flush()
