"""What was said on the command line, as opposed to what is so by default; what is of no use is refused."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any

from npkl_models.errors import ProblemError

EXPLICIT = "explicit"


class Note(argparse.Action):
    """Store a value, and note that it was given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Called by argparse for each option that is there."""
        setattr(namespace, self.dest, values)
        setattr(namespace, EXPLICIT, (*explicit(namespace), self.dest))


def explicit(options: argparse.Namespace) -> tuple[str, ...]:
    """The noted options that were given."""
    return getattr(options, EXPLICIT, ())


def refuse(options: argparse.Namespace, used: Collection[str], what: str) -> None:
    """Raise an error if an option was given that ``what`` does not use."""
    idle = [f"--{name.replace('_', '-')}" for name in dict.fromkeys(explicit(options)) if name not in used]
    if idle:
        known = ", ".join(f"--{name.replace('_', '-')}" for name in used if hasattr(options, name))
        raise ProblemError(f"{what} takes {known} of the options that say the problem, got {', '.join(idle)}")
