"""The server of the page, for this machine only; it also opens a browser."""

from __future__ import annotations

import re
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from importlib import import_module
from typing import Any

from npkl_models.errors import ProblemError, optional
from npkl_models.interrupts import forget

HOST = "127.0.0.1"
PACKAGES = ("uvicorn", "starlette", "matplotlib")
GRACE = 1  # seconds for open streams when the server ends
LONGEST_STATE = 2_000  # largest number of characters of a state


def serve(
    port: int = 0, browser: bool = True, announce: Callable[[str], None] | None = None, state: str = ""
) -> None:
    """Serve the page until interrupted; SIGTERM ends it like Ctrl-C, so that uploads are deleted.

    ``port`` 0 chooses a free port. ``announce`` is called with the address, which contains the token.
    ``state`` is the form with which the page opens, as copied by "Copy link" without the token.
    """
    uvicorn, *_ = (optional(name, "npkl explore", "explore") for name in PACKAGES)
    fragment, token = fragment_of(state), secrets.token_urlsafe(24)
    listening = _listen(port)
    port = listening.getsockname()[1]
    address = f"http://{HOST}:{port}/?token={token}{fragment}"
    listening.listen()  # a browser that comes early is not refused
    session: Any = None
    alone = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if alone else None
    try:
        if announce is not None:
            announce(address)
        if browser:  # the browser starts during the imports
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        session = import_module("npkl_models.explore.session").Session()
        if not fragment:  # the first run begins at once
            session.begin()
        hosts = (f"{HOST}:{port}", f"localhost:{port}")
        app = import_module("npkl_models.explore.app").make_app(token, hosts, session)
        how = {"log_level": "critical", "access_log": False, "lifespan": "off"}
        config = uvicorn.Config(app, timeout_graceful_shutdown=GRACE, **how)
        if alone:  # the server listens itself, and raises the signal again when it has ended
            signal.set_wakeup_fd(-1)
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        forget()  # Ctrl-C is the normal end of the page
    finally:
        if session is not None:
            session.close()
        listening.close()
        if alone:
            signal.signal(signal.SIGTERM, before)


def fragment_of(state: str) -> str:
    """The state of a page as the end of an address, or ""; an invalid state raises a `ProblemError`."""
    words = state.strip().removeprefix("#")
    fields = [part.partition("=") for part in words.split("&")] if words else []
    plain = len(words) <= LONGEST_STATE and re.fullmatch(r"[\w.~%+=&-]*", words, re.ASCII)
    if not plain or not all(name and equal for name, equal, _ in fields) or "token" in words:
        raise ProblemError(
            f"the state to open must be as the page copies it, name=value&name=value, got {state[:100]!r}"
        )
    return f"#{words}" if words else ""


def _listen(port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise ProblemError(f"port must be between 0 and 65535, got {port}")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise ProblemError(f"port {port} must be free, got: {error}; --port 0 finds a free port") from error
    return listening
