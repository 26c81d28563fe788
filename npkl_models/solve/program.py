"""What a backend compiles a problem to, and the options that all of them share."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from npkl_models.answer.solution import Iterate, Solution
from npkl_models.errors import UnsupportedError, unknown
from npkl_models.model.problem import Problem

logger = logging.getLogger("npkl_models")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of every backend.

    Parameters
    ----------
    tol : float
        Target for the relative gap; the eps of a conic solver.
    max_iter : int, optional
        Limit on the iterations; None is the backend's own.
    time_limit : float, optional
        Seconds.
    verbose : bool
        Show progress: log lines, and what a conic solver prints.
    """

    tol: float = 1e-6
    max_iter: int | None = None
    time_limit: float | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        _require(0 < self.tol < 1, "tol must be between 0 and 1", self.tol)
        _require(self.max_iter is None or self.max_iter >= 1, "max_iter must be >= 1", self.max_iter)
        _require(self.time_limit is None or self.time_limit > 0, "time_limit must be > 0", self.time_limit)


@dataclass(frozen=True, kw_only=True)
class IterativeOptions(Options):
    """Options of the backends that iterate in this library.

    Parameters
    ----------
    start : Solution or ndarray of shape (n, r), optional
        A point to start from.
    rigour : {"probable", "proved"}
        How the gap must be known. By default a bound with a failure probability of 1e-6 will do where a
        proof would take longer; "proved" asks for a factorisation of the dual slack (see `certify`).
    callback : callable, optional
        Called with an `Iterate` after every iteration; returning True stops.
    """

    start: Any = None
    rigour: str = "probable"
    callback: Callable[[Iterate], bool | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.rigour in ("probable", "proved"), "rigour must be 'probable' or 'proved'", self.rigour)
        _require(self.callback is None or callable(self.callback), "callback must be callable", self.callback)


@dataclass(frozen=True, kw_only=True)
class FactorOptions(IterativeOptions):
    """Options of the backends that work on a factor V (n x r).

    Parameters
    ----------
    rank : "auto", "pataki" or int
        Columns of V. "auto" starts small and appends the negative eigenvector of the dual slack until
        the point is certified; "pataki" is the largest r with r(r+1)/2 <= m for m loss values.
    random_state : int
        Seed of the random start and of the row order.
    """

    rank: int | str = "auto"
    random_state: int | None = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        named = self.rank in ("auto", "pataki")
        number = isinstance(self.rank, (int, np.integer)) and not isinstance(self.rank, bool)
        _require(
            named or (number and int(self.rank) >= 1),
            "rank must be 'auto', 'pataki' or an integer >= 1",
            self.rank,
        )


O = TypeVar("O", bound=Options)  # the usual letter for a type of options


def parse_options(kind: type[O], given: dict[str, Any], backend: str) -> O:
    """Options of that kind; an unknown name is an error that lists the known ones."""
    known = [f.name for f in fields(kind)]
    for name in given:
        if name not in known:
            raise unknown(f"option of {backend}", name, known)
    return kind(**given)


@dataclass(frozen=True, eq=False)
class Program(ABC):
    """A problem compiled for one backend."""

    problem: Problem
    backend: str
    options: Any
    build_time: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def solve(self) -> Solution:
        """Run the solver."""

    @abstractmethod
    def describe(self) -> str:
        """Cones and sizes, or factor sizes, and the memory they need."""


@contextmanager
def progress_log(verbose: bool) -> Iterator[None]:
    """Show INFO lines of this library while the block runs, if asked to."""
    if not verbose or logger.isEnabledFor(logging.INFO):
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _require(condition: bool, rule: str, got: object) -> None:
    if not condition:
        raise UnsupportedError(f"{rule}, got {got!r}")
