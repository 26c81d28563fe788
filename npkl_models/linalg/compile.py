"""Compiled loops where numba has a build, the same loops in Python where it has none."""

from __future__ import annotations

from typing import Any

try:
    import numba
except ImportError:
    numba = None  # type: ignore[assignment,unused-ignore]


def available() -> bool:
    """Whether numba is installed."""
    return numba is not None


def compiled(function: Any) -> Any:
    """The function compiled, its machine code kept on disk; itself without numba."""
    return function if numba is None else numba.njit(cache=True, error_model="numpy", fastmath=True)(function)
