"""The page served on this machine alone, and opened in a browser."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from npkl_models.errors import ProblemError, optional
from npkl_models.explore.app import make_app
from npkl_models.explore.session import Session
from npkl_models.interrupts import forget

HOST = "127.0.0.1"
PACKAGES = ("uvicorn", "starlette", "matplotlib")
QUEUE = 128  # connections that wait until the server takes them
GRACE = 1  # seconds for open streams when the page is closed down
OPENED_AFTER = 0.5  # seconds, when the server answers


def serve(port: int = 0, browser: bool = True, announce: Callable[[str], None] | None = None) -> None:
    """Serve the page until interrupted.

    ``port`` 0 takes a free one; a `ProblemError` if another is taken, or is none. ``announce`` is told the
    address, with its token. A `MissingDependencyError` without starlette, uvicorn or matplotlib.
    """
    uvicorn, *_ = (optional(name, "npkl explore", "explore") for name in PACKAGES)
    token, session = secrets.token_urlsafe(24), Session()
    listening = _listen(port)
    port = listening.getsockname()[1]
    address = f"http://{HOST}:{port}/?token={token}"
    app = make_app(token, (f"{HOST}:{port}", f"localhost:{port}"), session)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE, lifespan="off"
    )
    listening.listen(QUEUE)  # so that who reads the address at once is not refused
    try:
        if announce is not None:
            announce(address)
        if browser:
            timer = threading.Timer(OPENED_AFTER, webbrowser.open, (address,))
            timer.daemon = True
            timer.start()
        with _ended_in_order():
            uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        forget()  # it is how the page is ended
    finally:
        session.close()
        listening.close()


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """A request to terminate ends the page as Ctrl-C does: uploads are deleted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listen(port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise ProblemError(f"port must be between 0 and 65535, got {port}")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise ProblemError(f"port {port} must be free, got: {error}; --port 0 finds one that is") from error
    return listening
