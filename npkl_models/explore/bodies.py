"""Bodies of requests: counted while they are read, and taken apart such that whatever they hold is named."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Protocol

from npkl_models.errors import ProblemError
from npkl_models.recipe.fields import short

MOST_FILE = 64 * 2**20  # bytes of an upload
MOST_FORM = 64 * 2**10  # bytes of a form


class TooLarge(ProblemError):
    """A body is longer than it may be."""


class Request(Protocol):
    """What is needed of a request: its headers, and its body piece by piece."""

    headers: Any

    def stream(self) -> AsyncIterator[bytes]: ...


async def body_of(request: Request, most: int) -> bytes:
    """The body; what is longer is refused by its stated length, or as soon as it is.

    Raises
    ------
    TooLarge
        Before more than ``most`` bytes are kept.
    """
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and len(stated) < 20 and int(stated) > most:
        raise TooLarge(f"a body must have at most {_size(most)}, got {int(stated)} bytes")
    body = bytearray()
    async for part in request.stream():
        if len(body) + len(part) > most:
            raise TooLarge(f"a body must have at most {_size(most)}, got more")
        body += part
    return bytes(body)


def form_of(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was sent, and the form in it.

    Raises
    ------
    ProblemError
        If it is not as the page makes it.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        words = "values that are nested too deeply" if isinstance(error, RecursionError) else "no JSON"
        raise ProblemError(f"the request must be as the page makes it, got {words}") from None
    form = given.get("form") if isinstance(given, dict) else None
    if not isinstance(form, dict):
        raise ProblemError(f"the request must be as the page makes it, got no form: {short(given)}")
    return given, form


def field_of(given: dict[str, Any], name: str) -> Any:
    """A field beside the form."""
    if name not in given:
        raise ProblemError(f"the request must be as the page makes it, got no field {name!r}")
    return given[name]


def names_of(given: dict[str, Any], name: str) -> list[str]:
    """A field beside the form that is a list of names."""
    found = field_of(given, name)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ProblemError(f"{name} must be a list of names, got {short(found)}")
    return found


def _size(most: int) -> str:
    return f"{most >> 20} MiB" if most >= 2**20 else f"{most >> 10} KiB"
