"""The form of every presolve step: a smaller problem in place of a problem, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

Point = tuple[Array | None, Multipliers | None]
"""A factor (n x r) and multipliers; each of them may be None."""


class Smaller(NamedTuple):
    """The result of a step; ``undo`` takes a point of the smaller problem, and returns one of the whole."""

    problem: Statement
    undo: Callable[[Point], Point]


class Step(NamedTuple):
    """One presolve step; ``apply`` may be called for problems that ``accepts`` accepts.

    ``words`` name the step in the message of a solution.
    """

    name: str
    accepts: Callable[[Statement], bool]
    apply: Callable[[Statement], Smaller]
    words: str = ""
