"""Arguments that are fields of the recipe, with the options, defaults and help texts of its table."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NoReturn

from npkl_models.errors import NPKLError, meant
from npkl_models.recipe.fields import FIELDS, Field


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """A formatter that shows defaults, and leaves examples unchanged."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default is None else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the command, option or choice that was probably meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments here, so that the error shows the usage of the command."""
        found, strange = super().parse_known_args(args, namespace)
        if strange and self._subparsers is None:
            self.error(f"unrecognized arguments: {' '.join(strange)}")
        return found, strange

    def error(self, message: str) -> NoReturn:
        """End the process with usage, message and hint."""
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        strange = re.search(r"unrecognized arguments: (-[\w-]+)", message)
        hint = ""
        if choice:
            hint = meant(choice[1], re.findall(r"[\w.-]+", choice[2]))
        elif strange:
            options = [option for option in self._option_string_actions if option.startswith("--")]
            hint = meant(strange[1], options)
        super().error(message + hint)


def parser_of(
    commands: Any, name: str, summary: str, description: str, examples: str, run: str = ""
) -> argparse.ArgumentParser:
    """The parser of a command, with examples below its help.

    ``run`` is the name of the function below `npkl_models.cli` that runs the command; "NAME.run" by default.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=description, epilog=examples, formatter_class=_Formatter
    )
    parser.set_defaults(run=run or f"{name}.run")
    return parser


def reader(field: Field) -> Callable[[str], Any]:
    """A function that reads a value of a field; argparse shows the field's own error message."""

    def read(text: str) -> Any:
        try:
            return field.read(text)
        except NPKLError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def add_fields(
    parser: argparse.ArgumentParser, *names: str, place: str = "", choices: tuple[str, ...] = ()
) -> None:
    """Add options for fields, with the defaults of the place; an option that is not given sets no attribute.

    ``choices`` replaces the choices of a field of which only some are possible here.
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
