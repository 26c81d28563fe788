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
from types import FrameType, TracebackType
from typing import Any, NoReturn

STATUS = 130
LINE = b"npkl: interrupted\n"
AGAIN = 0.3  # seconds after which a signal that nobody has answered is raised once more
STUCK = 5.0  # seconds in which a compiled solver does not let the interpreter see the signal


class _State:
    """What has become of the signal so far."""

    active = recorded = seen = answered = said = False
    count = nags = 0


def is_the_command() -> bool:
    """Whether this process is ``npkl`` or ``python -m npkl_models``, not a program that uses the library."""
    begun = sys.argv[0] if getattr(sys, "argv", None) else ""
    if begun == "-m":  # the interpreter is looking for the module that it was told to run
        return "npkl_models" in sys.orig_argv
    return os.path.splitext(os.path.basename(begun))[0] == "npkl"


def end_at_once() -> None:
    """From now on Ctrl-C ends the process: while modules are imported there is nothing to be saved."""
    _State.active = True
    if _listens():
        signal.signal(signal.SIGINT, lambda number, frame: leave_at_once())


def begin() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt until it is `answered`; a second one ends the process."""
    if not _listens():
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    _State.active = True
    sys.unraisablehook = _unraisable
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
            os.write(2, LINE)
    return STATUS


def leave_at_once(status: int | None = None) -> NoReturn:
    """End the process without the interpreter's own tidying, which may wait for threads."""
    os._exit(say() if status is None else status)


def _listens() -> bool:
    """Whether the signal is not ignored, as it is for whoever was started to go on without its terminal."""
    return signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _handle(number: int, frame: FrameType | None) -> None:
    _State.recorded = _State.seen = True
    if not _State.answered:
        raise KeyboardInterrupt


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
            _thread.interrupt_main()
            began = time.monotonic()
        elif time.monotonic() - began > STUCK:
            leave_at_once()
        time.sleep(AGAIN)


def _unraisable(found: Any) -> None:
    """Of a signal that was swallowed nothing is printed: it is raised again."""
    kind: type[BaseException] | None = found.exc_type
    trace: TracebackType | None = found.exc_traceback
    if kind is not None and issubclass(kind, KeyboardInterrupt) and trace is not None:
        return
    sys.__unraisablehook__(found)
