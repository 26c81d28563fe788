"""Parsers with hints, and readers of values for argparse."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NoReturn

from npkl_models.errors import NPKLError, meant
from npkl_models.recipe.fields import Field


class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """A formatter that shows defaults, and leaves examples unchanged."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default is None else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    """A parser whose errors show the usage of the command, and what was probably meant."""

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


def reader(field: Field) -> Callable[[str], Any]:
    """A function that reads a value of a field; argparse shows the field's own error message."""

    def read(text: str) -> Any:
        try:
            return field.read(text)
        except NPKLError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def names(text: str) -> list[str]:
    """Names that are separated by commas."""
    return text.split(",")


def jobs(text: str) -> int:
    """A number of processes: at least one, or -1 for all cores."""
    value = int(text)
    if value < 1 and value != -1:
        raise argparse.ArgumentTypeError(f"must be at least 1, or -1 for all cores, got {text!r}")
    return value
