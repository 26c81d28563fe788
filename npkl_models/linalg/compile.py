"""Compiled loops where numba has a build, the same loops in Python where it has none.

To import numba takes longer than to solve a small problem. A module of compiled loops holds nothing else,
and is imported inside the function that runs one of them.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

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
