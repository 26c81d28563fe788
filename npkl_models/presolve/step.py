"""The form of every presolve step: smaller problems in place of a problem, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

Point = tuple[Array | None, Multipliers | None]
"""A factor (n x r) and multipliers; each of them may be None."""


@dataclass(frozen=True, eq=False)
class Smaller:
    """The result of a step."""

    problems: tuple[Statement, ...]  # the problems to solve in place of the whole; in most steps there is one
    # takes one point of each problem and returns a point of the whole
    back: Callable[[tuple[Point, ...]], Point]

    def undo(self, *points: Point) -> Point:
        """The point of the whole, from one point of each smaller problem."""
        if len(points) != len(self.problems):
            raise ValueError(f"undo takes {len(self.problems)} points, got {len(points)}")
        return self.back(points)


class Step(NamedTuple):
    """One presolve step; ``apply`` may be called for problems that ``accepts`` accepts.

    ``words`` name the step in the message of a solution; ``{}`` is the number of smaller problems.
    """

    name: str
    accepts: Callable[[Statement], bool]
    apply: Callable[[Statement], Smaller]
    words: str = ""
