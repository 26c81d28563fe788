"""The errors of npkl_models; all of them derive from `NPKLError`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class NPKLError(Exception):
    """Base class of all errors raised by this library.

    Examples
    --------
    >>> import npkl_models as nm
    >>> try:
    ...     nm.Pairs(3, [(0, 0)], [])
    ... except nm.NPKLError as error:
    ...     print(error)
    must_link must join two different points, got self pairs [[0, 0]]
    """


class ProblemError(NPKLError, ValueError):
    """The data of a problem are inconsistent, or not valid mathematically."""


class PairsError(ProblemError):
    """Pairs that are wrong; its arguments are what is wrong, and their points."""

    def __str__(self) -> str:
        return "{} {}".format(*self.args)


@contextmanager
def calling(names: Any) -> Iterator[None]:
    """Errors about pairs call the points by their names, if they have any."""
    try:
        yield
    except PairsError as error:
        if names is None:
            raise
        what, pairs = error.args
        raise ProblemError(f"{what} {[tuple(str(names[k]) for k in pair) for pair in pairs]}") from None


class OutOfRangeError(ProblemError, ArithmeticError):
    """The objective of a point is too large for a floating-point number."""


class UnsupportedError(NPKLError, ValueError):
    """A backend, option or name does not exist, or does not support this problem."""


class SolverError(NPKLError, RuntimeError):
    """A solver broke down and returned no point."""


class WriteError(NPKLError, OSError):
    """A file could not be written; the message names it, and an older file of this name is unchanged."""


class MissingDependencyError(NPKLError, ImportError):
    """An optional package is missing; the message tells how to install it."""


def unknown(kind: str, got: object, known: Iterable[str]) -> UnsupportedError:
    """The error for an unknown name; the message has the probably intended name, and all known names."""
    names = sorted(map(str, known))
    return UnsupportedError(f"unknown {kind} {got!r}{meant(got, names)}; known are: {', '.join(names)}")


def meant(got: object, known: Iterable[str]) -> str:
    """A hint such as " (did you mean 'iris'?)" if the name is close to a known name, else an empty string."""
    plain = {name.lower().replace("-", "_"): name for name in known}
    near = get_close_matches(str(got).lower().replace("-", "_"), plain, n=1)
    return f" (did you mean {plain[near[0]]!r}?)" if near else ""


def chosen(kind: str, got: object, known: Iterable[str]) -> str:
    """The name itself if it is known; otherwise raise an error that lists all known names."""
    names = list(known)
    if not isinstance(got, str) or got not in names:
        raise unknown(kind, got, names)
    return got


def instance(got: object, kind: type, what: str, example: str = "") -> None:
    """Raise a ProblemError unless the value is an instance of the given class."""
    if not isinstance(got, kind):
        such = f" such as {example}" if example else ""
        raise ProblemError(f"{what} must be a {kind.__name__}{such}, got {type(got).__name__}")


def keywords(options: object) -> dict[str, Any]:
    """A copy of the options of a solve, which may be None; a ProblemError unless they are a mapping."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ProblemError(
            f'options must be a dict such as {{"time_limit": 60.0}}, got {type(options).__name__}'
        )
    return dict(options)


def optional(module: str, wanting: str, extra: str) -> Any:
    """Import an optional module; if it is missing, an error names the extra that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingDependencyError(
            f'{wanting} needs {package}; install it with: pip install "npkl_models[{extra}]"'
        ) from error
