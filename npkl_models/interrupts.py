"""Ctrl-C in the command ``npkl``: one line and status 130 at any moment; other programs are not affected.

The first signal raises KeyboardInterrupt, as everywhere, and solvers raise it again between two iterations
if other code has swallowed it. A thread ends the process at the second signal, or if nobody has answered the
first one in time, as while compiled code runs.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from npkl_models._first import LINE, STATUS

PATIENCE = 5.0  # seconds in which a signal must be answered


class _State:
    """The state of the signal."""

    active = recorded = heard = answered = said = False
    held = 0
    errors = 2  # the file descriptor of the line


def begin() -> None:
    """Make Ctrl-C raise KeyboardInterrupt; a second Ctrl-C ends the process."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # the process must survive its terminal
        return
    import threading

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    _State.active = True
    with contextlib.suppress(OSError):  # standard error is closed
        _State.errors = os.dup(2)
    threading.Thread(target=_listen, args=(reading,), daemon=True).start()
    signal.signal(signal.SIGINT, _handle)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)


def end() -> None:
    """Ignore further signals, because the work is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)


def answered() -> None:
    """Mark the signal as answered; code that catches a KeyboardInterrupt and ends its work calls this."""
    _State.answered = _State.recorded


def heed() -> None:
    """Raise KeyboardInterrupt if a signal is not answered; solvers call this between iterations."""
    if _State.recorded and not _State.answered:
        raise KeyboardInterrupt


def heed_all() -> None:
    """Raise KeyboardInterrupt if there was a signal, answered or not; to be called before new work begins.

    Work may have ended well although a signal came, so its result does not show the signal.
    """
    if _State.recorded:
        raise KeyboardInterrupt


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Delay a signal until the end of the block, so that the block runs completely."""
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
    heed()


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Processes that start in the block get no standard error, because they would write too late.

    This applies only in the command ``npkl``.
    """
    if _State.errors != 2:
        mute()
    try:
        yield
    finally:
        if _State.errors != 2 and not _State.heard:
            os.dup2(_State.errors, 2)


def recorded() -> bool:
    """Whether a signal was recorded."""
    return _State.recorded


def heard() -> bool:
    """Whether a signal has come, even if it was forgotten."""
    return _State.heard


def forget() -> None:
    """Forget the signal, if it was the normal way to end, as for a server."""
    _State.recorded, _State.answered = False, True


def say() -> int:
    """Write the line to standard error, once; return the exit status."""
    if not _State.active:
        sys.stderr.write(LINE.decode())
    elif not _State.said:
        _State.said = True
        with contextlib.suppress(OSError):  # standard error is closed
            os.write(_State.errors, LINE)
    return STATUS


def leave_at_once(status: int | None = None) -> NoReturn:
    """End the process and its workers without the interpreter's cleanup, which may wait for threads."""
    parallel = sys.modules.get("multiprocessing")
    for process in parallel.active_children() if parallel is not None else ():
        with contextlib.suppress(OSError):  # the process has ended
            os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    os._exit(say() if status is None else status)


def _handle(number: int, frame: FrameType | None) -> None:
    """Record the signal in the main thread, where other code may swallow the exception and report it."""
    _State.recorded = _State.heard = True
    if _State.errors != 2:
        mute()
    if not _State.answered and not _State.held:
        raise KeyboardInterrupt


def mute(stream: int = 2) -> None:
    """Suppress all output on a stream, by default on standard error all but the line."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)


def _listen(reading: int) -> None:
    """End the process at the second signal, or if the first one is not answered in time."""
    count = 0
    while count < 2:
        came = os.read(reading, 64).count(signal.SIGINT)
        if came and not count:
            _State.heard = True
            _thread.start_new_thread(_wait, ())
        count += came
    leave_at_once()


def _wait() -> None:
    """End the process if the signal is not answered in time; its work may take longer to end."""
    time.sleep(PATIENCE)
    while _State.answered:
        time.sleep(PATIENCE)
    leave_at_once()
