"""Errors raised by npkl_models; every one of them derives from `NPKLError`."""

from __future__ import annotations

from collections.abc import Iterable
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
    """The data of a problem contradict themselves or the mathematics.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.Pairs(3, [(0, 7)], [])
    Traceback (most recent call last):
        ...
    npkl_models.errors.ProblemError: must_link must index points 0..2, got [[0, 7]]
    """


class OutOfRangeError(ProblemError, ArithmeticError):
    """A point whose objective is beyond all floating-point numbers.

    Examples
    --------
    >>> from npkl_models.errors import NPKLError, OutOfRangeError
    >>> issubclass(OutOfRangeError, NPKLError)
    True
    """


class UnsupportedError(NPKLError, ValueError):
    """A backend, option or name does not exist, or cannot take this problem.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> problem.solve("bcd", speed=3)
    Traceback (most recent call last):
        ...
    npkl_models.errors.UnsupportedError: unknown option of bcd 'speed'; known are: ...
    """


class SolverError(NPKLError, RuntimeError):
    """A solver broke down in a way that left no point to return.

    Examples
    --------
    >>> import npkl_models as nm
    >>> issubclass(nm.SolverError, RuntimeError)
    True
    """


class WriteError(NPKLError, OSError):
    """A file could not be written; the text names it, and what was there before is unchanged.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.Problem([[1.0, 0.0], [0.0, 1.0]], nm.LossTerm(nm.Entries(2, ([0], [1])), "hinge", 1.0))
    >>> try:
    ...     problem.save("no such folder/problem")
    ... except nm.WriteError as error:
    ...     print(error)
    no such folder/problem.npz must be a file that can be written, got No such file or directory; ...
    """


class MissingDependencyError(NPKLError, ImportError):
    """An optional package is needed; the text says how to install it.

    Examples
    --------
    >>> import npkl_models as nm
    >>> issubclass(nm.MissingDependencyError, ImportError)
    True
    """


def unknown(kind: str, got: object, known: Iterable[str]) -> UnsupportedError:
    """Error for a name that does not exist, with the one that was probably meant and all that do exist."""
    names = sorted(map(str, known))
    return UnsupportedError(f"unknown {kind} {got!r}{meant(got, names)}; known are: {', '.join(names)}")


def meant(got: object, known: Iterable[str]) -> str:
    """Such as " (did you mean 'iris'?)", for a name that is nearly one of those that exist; else nothing."""
    plain = {name.lower().replace("-", "_"): name for name in known}
    near = get_close_matches(str(got).lower().replace("-", "_"), plain, n=1)
    return f" (did you mean {plain[near[0]]!r}?)" if near else ""


def chosen(kind: str, got: object, known: Iterable[str]) -> str:
    """The name itself, if it is one of those that exist."""
    names = list(known)
    if not isinstance(got, str) or got not in names:
        raise unknown(kind, got, names)
    return got


def instance(got: object, kind: type, what: str, example: str = "") -> None:
    """Raise a ProblemError unless the value is of that class."""
    if not isinstance(got, kind):
        such = f" such as {example}" if example else ""
        raise ProblemError(f"{what} must be a {kind.__name__}{such}, got {type(got).__name__}")


def optional(module: str, wanting: str, extra: str) -> Any:
    """An optional module, or the error that says which extra of ours brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingDependencyError(
            f'{wanting} needs {package}; install it with: pip install "npkl_models[{extra}]"'
        ) from error
