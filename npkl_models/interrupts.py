"""Ctrl-C in the command ``npkl``: one line and status 130 at any moment; other programs are not affected.

A signal is recorded, and raised as KeyboardInterrupt again and again until it is answered. Otherwise a run
would go on if a callback of compiled code, a foreign solver or a destructor swallows the exception.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, NoReturn

from npkl_models._first import LINE, STATUS

AGAIN = 0.3  # seconds until an unanswered signal is raised again
IMPORTS = "<frozen importlib._bootstrap"  # the interpreter's code for imports
STUCK = 5.0  # the process ends if the interpreter has not seen the signal for so many seconds


class _State:
    """The state of the signal."""

    active = recorded = seen = answered = said = False
    count = nags = held = 0
    errors = 2  # the file descriptor of the line
    leaving: list[Callable[[], None]] = []


def begin() -> None:
    """Make Ctrl-C raise KeyboardInterrupt until it is `answered`; a second Ctrl-C ends the process."""
    if not _listens():
        return
    import threading
    import warnings

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    _State.active = True
    with contextlib.suppress(OSError):  # standard error is closed
        _State.errors = os.dup(2)
    sys.unraisablehook = _unraisable
    threading.excepthook = _thread_broke
    shown = warnings.showwarning
    warnings.showwarning = lambda *what: None if _State.recorded else shown(*what)
    _thread.start_new_thread(_listen, (reading,))
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
    if _State.errors == 2:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        if not _State.said:
            os.dup2(_State.errors, 2)
        os.close(nowhere)


def before_leaving(work: Callable[[], None]) -> None:
    """Register a function for `leave_at_once`; the function must not wait for anything."""
    if work not in _State.leaving:
        _State.leaving.append(work)


def heed_all() -> None:
    """Raise KeyboardInterrupt if there was a signal, answered or not; to be called before new work begins.

    Work may have ended well although a signal came, so its result does not show the signal.
    """
    if _State.recorded:
        raise KeyboardInterrupt


def recorded() -> bool:
    """Whether a signal was recorded."""
    return _State.recorded


def heard() -> bool:
    """Whether a signal has come, even if it was forgotten."""
    return _State.recorded or _State.count > 0


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
        if _State.errors != 2:  # suppress all output after the line
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return STATUS


def leave_at_once(status: int | None = None) -> NoReturn:
    """End the process without the interpreter's cleanup, which may wait for threads."""
    _State.recorded = _State.recorded or status is None
    for work in _State.leaving:
        with contextlib.suppress(Exception):
            work()
    os._exit(say() if status is None else status)


def _listens() -> bool:
    """Whether the signal is not ignored; it is ignored in a process that must survive its terminal."""
    return signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _handle(number: int, frame: FrameType | None) -> None:
    _State.recorded = _State.seen = True
    if not _State.answered and not _State.held and not _importing(frame):
        raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported.

    Packages that try optional imports swallow the exception and report it. So the exception is raised after
    the import.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTS):
            return True
        frame = frame.f_back
    return False


def _listen(reading: int) -> None:
    """Count the signals as they come, whatever the main thread does, and raise swallowed ones again."""
    while True:
        for number in os.read(reading, 64):
            if number != signal.SIGINT:
                continue
            if _State.nags:
                _State.nags -= 1
                continue
            _State.count += 1
            if _State.count > 1:
                leave_at_once()
            _thread.start_new_thread(_nag, ())


def _nag() -> None:
    began = time.monotonic()
    time.sleep(AGAIN)
    while not _State.answered:
        if _State.seen:
            _State.nags += 1
            _State.seen = False
            _send()
            began = time.monotonic()
        elif time.monotonic() - began > STUCK:
            leave_at_once()
        time.sleep(AGAIN)


def _send() -> None:
    """Send the signal again; a true signal also ends waiting calls in the main thread."""
    import threading

    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _unraisable(found: Any) -> None:
    """Print nothing for a swallowed KeyboardInterrupt, which is raised again."""
    kind: type[BaseException] | None = found.exc_type
    trace: TracebackType | None = found.exc_traceback
    if kind is not None and issubclass(kind, KeyboardInterrupt) and trace is not None:
        return
    sys.__unraisablehook__(found)


def _thread_broke(found: Any) -> None:
    """Print nothing for a thread that breaks after a signal."""
    import threading

    if not heard():
        threading.__excepthook__(found)
