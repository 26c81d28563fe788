"""Errors raised by npkl_models; every one of them derives from `NPKLError`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any


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


def optional(module: str, wanting: str, extra: str) -> Any:
    """An optional module, or the error that says which extra of ours brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingDependencyError(
            f"{wanting} needs {package}; install it with: pip install npkl_models[{extra}]"
        ) from error
