"""Checks of requests: their sender, the size of their body, and their content."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from npkl_models.errors import ProblemError
from npkl_models.recipe.fields import short

MOST_FILE = 64 * 2**20  # the largest number of bytes of an upload
MOST_FORM = 64 * 2**10  # the largest number of bytes of a form
PAGE = "the request must be as the page makes it, got"

HEADERS = (
    (b"content-security-policy",
     b"default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
     b"style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)  # fmt: skip
"""Headers of every response: the page loads nothing from other sites, and sends the token to none."""


class TokenMiddleware:
    """ASGI middleware that refuses requests from outside the page.

    A request must name one of the hosts (no foreign name that resolves to this machine), have the token as a
    parameter of its address, come from the page's own origin if it names an origin, and not from another
    site if the browser says where it comes from.
    """

    def __init__(self, app: Any, token: str, hosts: tuple[str, ...]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        reason = None if scope["type"] == "lifespan" else self._reason(scope)

        async def sealed(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        if reason is None:
            await self.app(scope, receive, sealed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            kind = [(b"content-type", b"text/plain; charset=utf-8")]
            await sealed({"type": "http.response.start", "status": 403, "headers": kind})
            await sealed({"type": "http.response.body", "body": f"refused: {reason}\n".encode()})

    def _reason(self, scope: Any) -> str | None:
        """The reason why a request is refused, or None."""
        if scope["type"] != "http":
            return "only HTTP is spoken here"
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host", "") not in self.hosts:
            return f"this page is at {self.hosts[0]} only"
        if headers.get(b"sec-fetch-site") == "cross-site":
            return "another site has led here; copy the address into the browser's own line"
        if headers.get(b"origin") not in {None, *(f"http://{host}" for host in self.hosts)}:
            return "requests must come from the page itself"
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return "the address must carry the token that npkl explore printed"
        return None


class TooLarge(ProblemError):
    """The body of a request is too long."""


async def body_of(request: Any, most: int) -> bytes:
    """The body of a request; `TooLarge` if its stated or actual length exceeds ``most`` bytes."""
    stated, body = request.headers.get("content-length", ""), bytearray()
    size = f"{most >> 20} MiB" if most >= 2**20 else f"{most >> 10} KiB"
    if stated.isdecimal() and len(stated) < 20 and int(stated) > most:
        raise TooLarge(f"a body must have at most {size}, got {int(stated)} bytes")
    async for part in request.stream():
        if len(body) + len(part) > most:
            raise TooLarge(f"a body must have at most {size}, got more")
        body += part
    return bytes(body)


def form_of(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request and the form in it; a `ProblemError` if the page does not make such requests."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        words = "values that are nested too deeply" if isinstance(error, RecursionError) else "no JSON"
        raise ProblemError(f"{PAGE} {words}") from None
    form = given.get("form") if isinstance(given, dict) else None
    if not isinstance(form, dict):
        raise ProblemError(f"{PAGE} no form: {short(given)}")
    return given, form


def field_of(given: Mapping[str, Any], name: str) -> Any:
    """A field of the request outside the form."""
    if name not in given:
        raise ProblemError(f"{PAGE} no field {name!r}")
    return given[name]


def names_of(given: Mapping[str, Any], name: str) -> list[str]:
    """A field of the request outside the form, which must be a list of names."""
    found = field_of(given, name)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ProblemError(f"{name} must be a list of names, got {short(found)}")
    return found
