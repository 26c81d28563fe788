"""Ctrl-C in the command ``npkl``: one line, status 130, at any moment; nothing here acts in other programs.

A signal is recorded, and raised as KeyboardInterrupt until somebody has answered it: a callback of a
compiled function, a solver of others or a destructor may swallow the exception, and the run would go on.
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

AGAIN = 0.3  # seconds after which a signal that nobody has answered is raised once more
IMPORTS = "<frozen importlib._bootstrap"  # the code of the interpreter that imports
STUCK = 5.0  # seconds in which a compiled solver does not let the interpreter see the signal


class _State:
    """What has become of the signal so far."""

    active = recorded = seen = answered = said = False
    count = nags = held = 0
    errors = 2  # where the line goes
    leaving: list[Callable[[], None]] = []


def begin() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt until it is `answered`; a second one ends the process."""
    if not _listens():
        return
    import threading
    import warnings

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    _State.active = True
    with contextlib.suppress(OSError):  # closed
        _State.errors = os.dup(2)
    sys.unraisablehook = _unraisable
    threading.excepthook = _thread_broke
    shown = warnings.showwarning
    warnings.showwarning = lambda *what: None if _State.recorded else shown(*what)
    _thread.start_new_thread(_listen, (reading,))
    signal.signal(signal.SIGINT, _handle)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)


def end() -> None:
    """The work is done: a signal has nothing to stop any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)


def answered() -> None:
    """Whoever catches a KeyboardInterrupt, and ends what was going on, says so."""
    _State.answered = _State.recorded


def heed() -> None:
    """Raise KeyboardInterrupt for a signal that was swallowed; solvers ask between their iterations."""
    if _State.recorded and not _State.answered:
        raise KeyboardInterrupt


@contextlib.contextmanager
def held() -> Iterator[None]:
    """A signal that comes in the block is raised at its end: what is begun there is begun as a whole."""
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
    heed()


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """In the command, processes begun in the block have no standard error: what they say comes too late."""
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
    """Have something done whenever the process ends at once; it must not wait for anything."""
    if work not in _State.leaving:
        _State.leaving.append(work)


def heed_all() -> None:
    """Raise KeyboardInterrupt if there was a signal, answered or not: whoever begins something asks.

    What was going on when it came may have ended well all the same, and the answer does not tell.
    """
    if _State.recorded:
        raise KeyboardInterrupt


def recorded() -> bool:
    """Whether there was a signal."""
    return _State.recorded


def heard() -> bool:
    """Whether a signal has come, wanted or not."""
    return _State.recorded or _State.count > 0


def forget() -> None:
    """The signal was the wanted way to end, as of a server: it is no interruption."""
    _State.recorded, _State.answered = False, True


def say() -> int:
    """The line on standard error, once; returns the exit status."""
    if not _State.active:
        sys.stderr.write(LINE.decode())
    elif not _State.said:
        _State.said = True
        with contextlib.suppress(OSError):  # nobody reads it
            os.write(_State.errors, LINE)
        if _State.errors != 2:  # nothing comes after the line
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return STATUS


def leave_at_once(status: int | None = None) -> NoReturn:
    """End the process without the interpreter's own tidying, which may wait for threads."""
    _State.recorded = _State.recorded or status is None
    for work in _State.leaving:
        with contextlib.suppress(Exception):
            work()
    os._exit(say() if status is None else status)


def _listens() -> bool:
    """Whether the signal is not ignored, as it is for whoever was started to go on without its terminal."""
    return signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _handle(number: int, frame: FrameType | None) -> None:
    _State.recorded = _State.seen = True
    if not _State.answered and not _State.held and not _importing(frame):
        raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported: packages that try what is there swallow the exception, and say so.

    It is raised when the import is done.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTS):
            return True
        frame = frame.f_back
    return False


def _listen(reading: int) -> None:
    """Count the signals as they come, whatever the main thread does, and raise what was swallowed."""
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
    """The signal once more: a true one, which also ends what waits in the main thread."""
    import threading

    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _unraisable(found: Any) -> None:
    """Of a signal that was swallowed nothing is printed: it is raised again."""
    kind: type[BaseException] | None = found.exc_type
    trace: TracebackType | None = found.exc_traceback
    if kind is not None and issubclass(kind, KeyboardInterrupt) and trace is not None:
        return
    sys.__unraisablehook__(found)


def _thread_broke(found: Any) -> None:
    """A thread that breaks because its process is about to end says nothing."""
    import threading

    if not heard():
        threading.__excepthook__(found)
