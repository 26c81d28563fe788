"""Loops that numba compiles if it is installed; otherwise the same loops run in Python.

The import of numba takes longer than the solve of a small problem. The compilation of a loop takes seconds,
once on a machine. So a module of compiled loops holds nothing else, and a `Loop` imports the module at the
first call. Code that can do the same work in numpy asks `worth` first. The answer depends on the work alone,
so equal calls give equal bytes, whether machine code is on the disk or not. The seconds of a compilation do
not count in `clock`.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

logger = logging.getLogger("npkl_models")

WORTH = 1.0  # predicted seconds of numpy from which compiled code does a piece of work
FAST = {"contract", "reassoc", "nsz"}  # sums may take any order; infinities and NaN stay valid
BORROWS = {"_nrt": False}  # numba counts no references to arrays; such a function makes no array
OWNS = {"_nrt": True}  # said: a part that says nothing takes the setting of the first loop that calls it


@cache
def installed() -> bool:
    """Whether numba is installed; this does not import numba."""
    return find_spec("numba") is not None


@cache
def available() -> bool:
    """Whether numba can be imported; this imports numba. Call it before a loop runs."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def worth(seconds: float) -> bool:
    """Whether compiled code does work that takes numpy so many seconds, as predicted for the whole solve."""
    return installed() and seconds > WORTH and available()


def compiled(function: Any, *signature: str, **more: Any) -> Any:
    """The compiled function, whose machine code is kept on disk; without numba the function itself."""
    if not available():
        return function
    import numba

    options = {"error_model": "numpy", "fastmath": FAST, **OWNS, **more}
    try:
        return numba.njit(*signature, cache=True, **options)(function)
    except RuntimeError:  # no folder can be written to, so that each process compiles
        return numba.njit(*signature, **options)(function)


def inlined(function: Any) -> Any:
    """A part of one loop with a single call, inlined: it is compiled once, and not before the loop, too."""
    return compiled(function, inline="always")


def borrowing(function: Any) -> Any:
    """A compiled loop that makes no array: to count references would take a fifth of the time of a sweep."""
    return compiled(function, **BORROWS)


def called(*signature: str, **more: Any) -> Callable[[Any], Any]:
    """A borrowing part of a loop that Python never calls, and that machine code calls seldom."""
    more |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **BORROWS}
    return lambda function: compiled(function, *signature, **more)


def part(*signature: str) -> Callable[[Any], Any]:
    """A small such part, that machine code has in the place of its calls.

    Without its signature, numba would compile a part once for each constant that it is called with.
    """
    return called(*signature, forceinline=True)


def intrinsic(function: Any) -> Any:
    """An instruction that numba has no name for; without numba a function that returns None."""
    if not available():
        return lambda *arguments: None
    import numba.extending

    return numba.extending.intrinsic(function)


class Loop:
    """A compiled function that Python calls, given by its module and name; it has one signature.

    Attributes
    ----------
    seconds : float
        About how long its compilation takes on the reference machine.
    """

    every: list[Loop] = []

    def __init__(self, module: str, name: str, seconds: float) -> None:
        self.module, self.name, self.seconds = module, name, seconds
        self._function: Callable[..., Any] | None = None
        Loop.every.append(self)

    def __call__(self, *given: Any) -> Any:
        """Call the function; the first call loads or compiles it."""
        self.load()
        assert self._function is not None
        return self._function(*given)

    def load(self) -> None:
        """Load or compile the function, unless this process has it."""
        if self._function is None:
            self._function = self.prepare()

    def folder(self) -> str:
        """The folder of the machine code on the disk; "" if there is none."""
        stats = getattr(self._dispatcher(), "stats", None)
        return str(getattr(stats, "cache_path", None) or "")

    def prepare(self) -> Callable[..., Any]:
        """Load or compile the function; a line announces a compilation."""
        with _counted():
            function, module = self._dispatcher(), import_module(self.module)
            kept = any(Path(self.folder() or "nowhere").glob(f"*.{self.name}-*.nbi"))
            if available() and not kept:
                _say(f"compiling {self.name}, once: about {self.seconds:.0f} s")
            if hasattr(function, "compile"):
                function.compile(module.SIGNATURES[self.name])
        return function

    def _dispatcher(self) -> Any:
        return getattr(import_module(self.module), self.name)


_clock = threading.local()


def seconds_compiling(processor: bool = False) -> float:
    """Seconds, of the wall clock or the processor, of this thread's compilation and loading of code."""
    return float(getattr(_clock, "processor" if processor else "seconds", 0.0))


def clock() -> float:
    """`time.perf_counter` minus the seconds that this thread has spent on compilation."""
    return time.perf_counter() - seconds_compiling()


@contextmanager
def _counted() -> Iterator[None]:
    before, worked = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        _clock.seconds = seconds_compiling() + time.perf_counter() - before
        _clock.processor = seconds_compiling(processor=True) + time.process_time() - worked


def _say(words: str) -> None:
    """Write a line for a waiting user: to the log, or to a terminal if the log is off."""
    if logger.isEnabledFor(logging.INFO) or not sys.stderr.isatty():
        logger.info(words)
    else:
        sys.stderr.write(f"npkl_models: {words}\n")
