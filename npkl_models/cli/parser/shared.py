"""Arguments that are fields of the recipe: options, defaults and help are those of its table."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from npkl_models.errors import NPKLError
from npkl_models.recipe.fields import FIELDS, Field


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Defaults are shown, examples stay as they are."""


def parser_of(
    commands: Any, name: str, summary: str, description: str, examples: str, run: str = ""
) -> argparse.ArgumentParser:
    """The parser of a command, with examples below its help.

    ``run`` is the function below `npkl_models.cli` that does it: "NAME.run" where nothing else is said.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=description, epilog=examples, formatter_class=_Formatter
    )
    parser.set_defaults(run=run or f"{name}.run")
    return parser


def reader(field: Field) -> Callable[[str], Any]:
    """Reads a field's value; argparse shows the field's own words about a wrong one."""

    def read(text: str) -> Any:
        try:
            return field.read(text)
        except NPKLError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def add_fields(
    parser: argparse.ArgumentParser, *names: str, place: str = "", choices: tuple[str, ...] = ()
) -> None:
    """Add options for fields, with the defaults of the place; one that is not given is not in what is parsed.

    ``choices`` are those of a field of which not all can be taken here.
    """
    for name in names:
        field = FIELDS[name]
        default = field.default_in(place)
        words = field.words if default is None else f"{field.words} (default: {default})"
        parser.add_argument(
            field.option, type=reader(field), default=argparse.SUPPRESS, help=words, metavar=field.metavar,
            choices=choices or field.choices or None,
        )  # fmt: skip


def jobs(text: str) -> int:
    """A number of processes: at least one, or -1 for all cores."""
    value = int(text)
    if value < 1 and value != -1:
        raise argparse.ArgumentTypeError(f"must be at least 1, or -1 for all cores, got {text!r}")
    return value
