"""Checks of requests: their sender, the size of their body, and their content."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Protocol
from urllib.parse import parse_qs

from npkl_models.errors import ProblemError
from npkl_models.recipe.fields import short

MOST_FILE = 64 * 2**20  # the largest number of bytes of an upload
MOST_FORM = 64 * 2**10  # the largest number of bytes of a form

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Any, Send], Awaitable[None]]

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

    A request must name one of the hosts, have the token as a parameter of its address, and come from the
    page's own origin if it names an origin. The check of the host refuses foreign names that resolve to this
    machine.
    """

    def __init__(self, app: App, token: str, hosts: tuple[str, ...]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        reason = self._reason(scope)
        if reason is not None:
            await _refuse(scope, send, reason)
            return

        async def sealed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        await self.app(scope, receive, sealed)

    def _reason(self, scope: Scope) -> str | None:
        """The reason why a request is refused, or None."""
        if scope["type"] != "http":
            return "only HTTP is spoken here"
        headers = dict(scope["headers"])
        if headers.get(b"host", b"").decode("latin-1") not in self.hosts:
            return f"this page is at {self.hosts[0]} only"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in {f"http://{host}" for host in self.hosts}:
            return "requests must come from the page itself"
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return "the address must carry the token that npkl explore printed"
        return None


async def _refuse(scope: Scope, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": f"refused: {reason}\n".encode()})


class TooLarge(ProblemError):
    """The body of a request is too long."""


class Request(Protocol):
    """The parts of a request that are used: its headers, and its body in pieces."""

    headers: Any

    def stream(self) -> AsyncIterator[bytes]: ...


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request; `TooLarge` if its stated or actual length exceeds ``most`` bytes."""
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
    """The request and the form in it; a `ProblemError` if the page does not make such requests."""
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
    """A field of the request outside the form."""
    if name not in given:
        raise ProblemError(f"the request must be as the page makes it, got no field {name!r}")
    return given[name]


def names_of(given: dict[str, Any], name: str) -> list[str]:
    """A field of the request outside the form, which must be a list of names."""
    found = field_of(given, name)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ProblemError(f"{name} must be a list of names, got {short(found)}")
    return found


def _size(most: int) -> str:
    return f"{most >> 20} MiB" if most >= 2**20 else f"{most >> 10} KiB"
