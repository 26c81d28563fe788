"""Who may speak with the page: who has its token, under its own name, from the page itself."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

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
"""Sent with every answer: nothing from elsewhere is loaded, and the token is told to nobody."""


class TokenMiddleware:
    """ASGI middleware that turns away what does not belong to the page.

    A request must name one of the hosts (else a name of a stranger's, resolved to this machine, would do),
    bring the token as a parameter of its address, and, where it has an origin, come from the page's own.

    Parameters
    ----------
    app : ASGI application
    token : str
    hosts : tuple of str
        As "127.0.0.1:8000".
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
        """Why a request is turned away, None if it is not."""
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
