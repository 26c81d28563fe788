"""Methods that a room above lends to a class of a room below, so that no import points downwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LENT: dict[str, Callable[..., Any]] = {}


def lend(method: str, function: Callable[..., Any]) -> None:
    """Let ``function`` serve as a method, such as "Problem.solve"."""
    _LENT[method] = function


def lent(method: str) -> Callable[..., Any]:
    """The function that serves as that method."""
    return _LENT[method]
