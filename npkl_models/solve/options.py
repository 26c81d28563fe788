"""The options that backends share, and the checks of their values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np

from npkl_models.answer.history import Iterate
from npkl_models.answer.solution import Solution
from npkl_models.certificates.bounds import FEASIBILITY
from npkl_models.errors import UnsupportedError, unknown
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.units import Units

FOREVER = 1e300  # seconds


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that every backend has.

    Parameters
    ----------
    tol : float
        Target for the relative gap.
    feasibility : float
        Largest violation of the constraints, relative to their data, of a point that may be optimal.
    max_iter : int, optional
        Limit on the number of iterations; None is the backend's own limit.
    time_limit : float, optional
        Limit on the time in seconds.
    verbose : bool
        Whether to show progress: log lines, and the output of a conic solver.
    callback : callable, optional
        Function that is called with an `Iterate` after every iteration; the run stops if it returns True.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.Options(tol=1e-8, time_limit=5.0).tol
    1e-08
    >>> nm.Options(tol=2.0)
    Traceback (most recent call last):
        ...
    npkl_models.errors.UnsupportedError: tol must be between 0 and 1, got 2.0
    """

    tol: float = 1e-6
    feasibility: float = FEASIBILITY
    max_iter: int | None = None
    time_limit: float | None = None
    verbose: bool = False
    callback: Callable[[Iterate], bool | None] | None = None

    @property
    def as_stated(self) -> bool:
        """Whether the solver must work in the units of the statement, because an option depends on them."""
        return False

    def __post_init__(self) -> None:
        for name in ("tol", "feasibility", "time_limit"):
            value = getattr(self, name)
            require(value is None or is_real(value), f"{name} must be a number", value)
        require(
            isinstance(self.verbose, (bool, np.bool_, int)), "verbose must be True or False", self.verbose
        )
        whole = self.max_iter is None or isinstance(self.max_iter, Integral)
        require(whole and not isinstance(self.max_iter, bool), "max_iter must be an integer", self.max_iter)
        require(self.tol is not None and 0 < self.tol < 1, "tol must be between 0 and 1", self.tol)
        given = self.feasibility is not None and 0 < self.feasibility < 1
        require(given, "feasibility must be between 0 and 1", self.feasibility)
        require(self.max_iter is None or self.max_iter >= 1, "max_iter must be >= 1", self.max_iter)
        lasts = self.time_limit is None or 0 < self.time_limit < FOREVER
        require(lasts or self.time_limit == np.inf, "time_limit must be > 0", self.time_limit)
        require(self.callback is None or callable(self.callback), "callback must be callable", self.callback)


class Start(NamedTuple):
    """A point for a warm start, in the units of the problem that is solved."""

    V: Array | None
    multipliers: Multipliers | None


@dataclass(frozen=True, kw_only=True)
class IterativeOptions(Options):
    """Options of the backends whose iterations run in this library.

    Parameters
    ----------
    start : Solution or ndarray of shape (n, r), optional
        Point for a warm start.
    rigour : {"probable", "proved"}
        Required rigour of the gap. "probable" accepts a bound with a failure probability of 1e-6 if a proof
        would take longer. "proved" requires a factorisation of the dual slack (see `certify`).
    """

    start: Solution | Start | Array | None = None
    rigour: str = "probable"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isinstance(self.rigour, str), "rigour must be 'probable' or 'proved'", self.rigour)
        require(self.rigour in ("probable", "proved"), "rigour must be 'probable' or 'proved'", self.rigour)
        known = self.start is None or hasattr(self.start, "V") or isinstance(self.start, np.ndarray)
        require(known, "start must be a Solution or an array (n, r)", self.start)


@dataclass(frozen=True, kw_only=True)
class FactorOptions(IterativeOptions):
    """Options of the backends that compute a factor V (n x r).

    Parameters
    ----------
    rank : "auto", "pataki" or int
        Number of columns of V. "auto" starts with few columns, and appends the negative eigenvector of the
        dual slack until the point is certified. "pataki" is the largest r with r(r+1)/2 <= m for m loss
        values; a pair counts in both orders if there are also losses on the diagonal.
    random_state : int
        Seed of the random start and of the order of the rows.
    """

    rank: int | str = "auto"
    random_state: int | None = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        named = isinstance(self.rank, str) and self.rank in ("auto", "pataki")
        number = isinstance(self.rank, (int, np.integer)) and not isinstance(self.rank, bool)
        seed = self.random_state
        rule = "random_state must be an integer >= 0 or None"
        whole = isinstance(seed, Integral) and not isinstance(seed, bool)
        require(seed is None or (whole and int(seed) >= 0), rule, seed)
        rule = "rank must be 'auto', 'pataki' or an integer >= 1"
        require(named or (number and int(self.rank) >= 1), rule, self.rank)


O = TypeVar("O", bound=Options)  # the usual letter for a type of options


def parse_options(kind: type[O], given: dict[str, Any], backend: str) -> O:
    """Make options of the given kind; an unknown name is an error that lists the known names."""
    known = [f.name for f in fields(kind)]
    for name in given:
        if name not in known:
            raise unknown(f"option of {backend}", name, known)
    return kind(**given)


def in_units(options: O, units: Units) -> O:
    """The options for the problem in other units: the start is converted."""
    start = getattr(options, "start", None)
    if start is None or units.same:
        return options
    if isinstance(start, np.ndarray):
        return replace(options, start=units.inner_point(start))  # type: ignore[call-arg]
    V, y = start.V, getattr(start, "multipliers", None)
    inner = Start(
        None if V is None else units.inner_point(V), None if y is None else units.inner_multipliers(y)
    )
    return replace(options, start=inner)  # type: ignore[call-arg]


def is_real(value: object) -> bool:
    """Whether the value is a real number; a boolean is not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def require(condition: bool, rule: str, got: object) -> None:
    """Raise an `UnsupportedError` that states the rule, unless the condition holds."""
    if not condition:
        raise UnsupportedError(f"{rule}, got {got!r}")


class Described(NamedTuple):
    """An option with its kind, default and description."""

    name: str
    kind: str
    default: str
    text: str


SECTION = re.compile(r"Parameters\n-+\n(.*?)(?:\n\n\w[\w ]*\n-+\n|\Z)", re.S)
ENTRY = re.compile(r"^(\w+) : (.*)\n((?:    .*\n?|\n)*)", re.M)


def describe_options(kind: type[Options]) -> list[Described]:
    """The descriptions of all options, from the docstrings of their classes; common options come first."""
    words: dict[str, tuple[str, str]] = {}
    for cls in reversed(kind.__mro__):
        section = SECTION.search(inspect.cleandoc(cls.__doc__ or ""))
        for name, what, text in ENTRY.findall(section[1] if section else ""):
            words[name] = what, " ".join(text.split())
    out = []
    for option in fields(kind):
        what, text = words.get(option.name, ("", ""))
        default = "{}" if option.default is MISSING else repr(option.default)
        out.append(Described(option.name, what.removesuffix(", optional"), default, text))
    return out
