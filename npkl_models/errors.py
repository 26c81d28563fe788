"""Errors raised by npkl_models; every one of them derives from `NPKLError`."""

from __future__ import annotations

from collections.abc import Iterable


class NPKLError(Exception):
    """Base class of all errors raised by this library."""


class ProblemError(NPKLError, ValueError):
    """The data of a problem contradict themselves or the mathematics."""


class UnsupportedError(NPKLError, ValueError):
    """A backend, option or name does not exist, or cannot take this problem."""


class SolverError(NPKLError, RuntimeError):
    """A solver broke down in a way that left no point to return."""


class MissingDependencyError(NPKLError, ImportError):
    """An optional package is needed; the text says how to install it."""


def unknown(kind: str, got: object, known: Iterable[str]) -> UnsupportedError:
    """Error for a name that does not exist, listing the ones that do."""
    listing = ", ".join(sorted(map(str, known)))
    return UnsupportedError(f"unknown {kind} {got!r}; known are: {listing}")
