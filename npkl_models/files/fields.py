"""Fields of a value from JSON: each function checks that a field exists and has its type."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any

from npkl_models.errors import ProblemError

LARGEST = 2**53  # the largest whole number of a field
LONGEST = 100  # characters that an error repeats of a value, or of a foreign error


def text(found: Mapping[str, Any], name: str) -> str:
    """A field that is text."""
    return str(_checked(found, name, "text", str))


def whole(found: Mapping[str, Any], name: str, least: int = 0) -> int:
    """A field that is a whole number, not below ``least``."""
    what = f"a whole number from {least}"
    value = int(_checked(found, name, what, int))
    if not least <= value <= LARGEST:
        raise ProblemError(f"field {name!r} must be {what}, got {short(value)}")
    return value


def number(found: Mapping[str, Any], name: str) -> float:
    """A field that is a number; NaN and infinity are numbers, too."""
    value = _checked(found, name, "a number", int | float)
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ProblemError(f"field {name!r} must be a number up to 2^53 if it is whole, got {short(value)}")
    return float(value)


def listed(found: Mapping[str, Any], name: str) -> list[Any]:
    """A field that is a list."""
    return list(_checked(found, name, "a list", list))


def mapping(value: Any, what: str) -> dict[str, Any]:
    """A value with fields, that is, a JSON object."""
    if not isinstance(value, dict):
        raise ProblemError(f"{what} must have fields, got {short(value)}")
    return value


def _checked(found: Mapping[str, Any], name: str, what: str, kind: type | UnionType) -> Any:
    if name not in found:
        raise ProblemError(f"field {name!r} must exist, got the fields {short(sorted(found))}")
    if not isinstance(found[name], kind) or isinstance(found[name], bool):
        raise ProblemError(f"field {name!r} must be {what}, got {short(found[name])}")
    return found[name]


def short(value: object) -> str:
    """A value as text for an error, cut to `LONGEST` characters."""
    return cut(repr(value))


def cut(said: str) -> str:
    """A text for an error, cut to `LONGEST` characters."""
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."
