"""Compiled loops where numba has a build, the same loops in Python where it has none.

To import numba takes longer than to solve a small problem, and to compile a loop takes seconds, once on a
machine. A module of compiled loops holds nothing else, and a `Loop` imports it when its function is first
called. Who has the same work in numpy asks first whether the loop is `Loop.worth` its compilation, whose
seconds are no part of `clock`.
"""

from __future__ import annotations

import logging
import os
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

FAST = {"contract", "reassoc", "nsz"}  # sums in any order; infinities and NaN stay what they are


@cache
def installed() -> bool:
    """Whether there is a numba, for a prediction; it is not imported."""
    return find_spec("numba") is not None


@cache
def available() -> bool:
    """Whether numba can be imported, which this does; ask it before a loop is run."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def compiled(function: Any, inline: str = "never") -> Any:
    """The function compiled, its machine code kept on disk; itself without numba."""
    if not available():
        return function
    import numba

    options = {"error_model": "numpy", "fastmath": FAST, "inline": inline}
    try:
        return numba.njit(cache=True, **options)(function)
    except (
        RuntimeError
    ):  # no place to write to, neither beside the source nor at home: compiled in each process
        return numba.njit(**options)(function)


def inlined(function: Any) -> Any:
    """The same for parts of a compiled loop: a call with many arrays would cost a good part of a turn."""
    return compiled(function, inline="always")


def intrinsic(function: Any) -> Any:
    """An instruction that numba has no name for; nothing without numba."""
    if not available():
        return lambda *arguments: None
    import numba.extending

    return numba.extending.intrinsic(function)


class Loop:
    """A compiled function that Python calls, by its module and name; one dtype, one signature.

    Attributes
    ----------
    seconds : float
        That its compilation takes on the reference machine, about.
    """

    every: list[Loop] = []

    def __init__(self, module: str, name: str, seconds: float) -> None:
        self.module, self.name, self.seconds = module, name, seconds
        self.spent = 0.0  # of the work that numpy has done in its place, as it was predicted
        self._function: Callable[..., Any] | None = None
        Loop.every.append(self)

    def __call__(self, *given: Any) -> Any:
        """Call it; if that has not been done, it is loaded or compiled first."""
        if self._function is None:
            self._function = self.prepare()
        return self._function(*given)

    def worth(self, seconds: float, limit: float | None = None) -> bool:
        """Whether to call it, where numpy would take so many seconds; asked once for each piece of work.

        It is where its machine code lies on the disk. Else once the work that numpy has done in this process,
        and this piece, would have paid for the compilation, unless that would take most of a time limit.
        """
        if not installed():
            return False
        if self.kept():
            return True
        affordable = limit is None or limit >= 3 * self.seconds
        if affordable and self.spent + seconds > self.seconds:
            with _counted():
                return available()
        self.spent += seconds
        return False

    def kept(self) -> bool:
        """Whether there is machine code for it, in this process or on the disk."""
        if self._function is not None:
            return True
        spec = find_spec(self.module)
        source = Path(str(spec.origin if spec else ""))
        beside = source.parent / "__pycache__"
        if "NUMBA_CACHE_DIR" in os.environ or not os.access(beside.parent, os.W_OK):
            folder = self.folder() if available() else ""
            if not folder:
                return False
            beside = Path(folder)
        version = f"py{sys.version_info.major}{sys.version_info.minor}"
        try:
            written = [
                index.stat().st_mtime for index in beside.glob(f"{source.stem}.{self.name}-*.{version}*.nbi")
            ]
            return bool(written) and max(written) >= source.stat().st_mtime
        except OSError:  # another process is writing there
            return False

    def folder(self) -> str:
        """Where its machine code is kept on the disk; "" if there is no such place."""
        stats = getattr(self._dispatcher(), "stats", None)
        return str(getattr(stats, "cache_path", None) or "")

    def prepare(self) -> Callable[..., Any]:
        """The function, loaded or compiled, which is said if it takes long."""
        with _counted():
            kept = self.kept()
            if not kept and available():
                _say(f"compiling {self.name}, once: about {self.seconds:.0f} s")
            function, module = self._dispatcher(), import_module(self.module)
            if hasattr(function, "compile"):
                function.compile(module.SIGNATURES[self.name])
        return function

    def _dispatcher(self) -> Any:
        return getattr(import_module(self.module), self.name)


_clock = threading.local()


def seconds_compiling() -> float:
    """Seconds that this thread has spent on compilation and on loading of machine code."""
    return float(getattr(_clock, "seconds", 0.0))


def clock() -> float:
    """Seconds of `time.perf_counter` that go into other things than compilation, in this thread."""
    return time.perf_counter() - seconds_compiling()


@contextmanager
def _counted() -> Iterator[None]:
    before = time.perf_counter()
    try:
        yield
    finally:
        _clock.seconds = seconds_compiling() + time.perf_counter() - before


def _say(words: str) -> None:
    """A line for whoever waits: of the log, or on a terminal where nobody reads the log."""
    if logger.isEnabledFor(logging.INFO) or not sys.stderr.isatty():
        logger.info(words)
    else:
        sys.stderr.write(f"npkl_models: {words}\n")
