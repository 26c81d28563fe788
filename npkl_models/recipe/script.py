"""The lines of Python that make a problem, written down while it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Shown:
    """A value, and its expression in the code."""

    value: Any
    text: str


@dataclass
class Script:
    """The lines of code that have made the values so far."""

    imports: list[str] = field(default_factory=lambda: ["import npkl_models as nm"])
    lines: list[str] = field(default_factory=list)

    def do(self, name: str, function: Callable[..., Any], source: str, *given: Any, **by_name: Any) -> Shown:
        """Call a function, and write down ``name = source(...)`` without arguments that are None."""
        by_name = {key: one for key, one in by_name.items() if one is not None}
        made = function(*map(value_of, given), **{key: value_of(one) for key, one in by_name.items()})
        words = [*map(text_of, given), *(f"{key}={text_of(one)}" for key, one in by_name.items())]
        self.lines.append(f"{name} = {source}({', '.join(words)})")
        return Shown(made, name)

    def call(self, name: str, function: Callable[..., Any], *given: Any, **by_name: Any) -> Shown:
        """Do so with a function that the code imports by its name."""
        self.imports.append(f"from {function.__module__} import {function.__name__}")
        return self.do(name, function, function.__name__, *given, **by_name)

    def file(self, name: str, path: Path | None) -> Shown:
        """The path of a file, which appears in the code under its given name."""
        return Shown(name if path is None else path, repr(name))

    def code(self, *more: str, imports: tuple[str, ...] = ()) -> str:
        """The program, with the given lines at its end."""
        head = list(dict.fromkeys([*sorted(imports), *self.imports]))
        return "\n".join([*head, "", *self.lines, *more]) + "\n"


def value_of(one: Any) -> Any:
    """The value of an argument."""
    return one.value if isinstance(one, Shown) else one


def text_of(one: Any) -> str:
    """The expression of an argument."""
    return one.text if isinstance(one, Shown) else repr(one)
