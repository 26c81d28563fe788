"""Fields of a value from JSON: each function checks that a field exists and has its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npkl_models.errors import ProblemError

LARGEST = 2**53  # the largest whole number of a field


def text(found: Mapping[str, Any], name: str) -> str:
    """A field that is text."""
    value = _there(found, name)
    if not isinstance(value, str):
        raise ProblemError(f"field {name!r} must be text, got {_shown(value)}")
    return value


def whole(found: Mapping[str, Any], name: str, least: int = 0) -> int:
    """A field that is a whole number, not below ``least``."""
    value = _there(found, name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
        raise ProblemError(f"field {name!r} must be a whole number from {least}, got {_shown(value)}")
    return value


def number(found: Mapping[str, Any], name: str) -> float:
    """A field that is a number; NaN and infinity are numbers, too."""
    value = _there(found, name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ProblemError(f"field {name!r} must be a number, got {_shown(value)}")
    return float(value)


def listed(found: Mapping[str, Any], name: str) -> list[Any]:
    """A field that is a list."""
    value = _there(found, name)
    if not isinstance(value, list):
        raise ProblemError(f"field {name!r} must be a list, got {_shown(value)}")
    return value


def mapping(value: Any, what: str) -> dict[str, Any]:
    """A value with fields, that is, a JSON object."""
    if not isinstance(value, dict):
        raise ProblemError(f"{what} must have fields, got {_shown(value)}")
    return value


def _there(found: Mapping[str, Any], name: str) -> Any:
    if name not in found:
        raise ProblemError(f"field {name!r} must exist, got the fields {_shown(sorted(found))}")
    return found[name]


def _shown(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 60 else f"{said[:60]} ..."
