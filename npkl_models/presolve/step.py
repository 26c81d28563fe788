"""A smaller statement, exactly, and the way back: what every step of presolve is.

A step is an equivalence, proved in its own module: the optimum is the same, and points and multipliers of
the smaller statements are taken back to points and multipliers of the whole, which prove there what they
prove here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from npkl_models.linalg import Array
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers

Point = tuple[Array | None, Multipliers | None]
"""A factor (n x r) and multipliers, either of which may be missing."""


@dataclass(frozen=True, eq=False)
class Smaller:
    """What a step makes of a statement.

    Attributes
    ----------
    problems : tuple of Statement
        To be solved in place of the whole; mostly one.
    back : callable
        From one point for each of them to a point of the whole.
    """

    problems: tuple[Statement, ...]
    back: Callable[[tuple[Point, ...]], Point]

    def undo(self, *points: Point) -> Point:
        """The point of the whole, from one of each smaller statement."""
        if len(points) != len(self.problems):
            raise ValueError(f"undo takes {len(self.problems)} points, got {len(points)}")
        return self.back(points)


class Step(NamedTuple):
    """One equivalence; ``apply`` takes statements that ``accepts`` says yes to.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.presolve.steps import STEPS
    >>> [step.name for step in STEPS]
    ['components', 'anchored points', 'faces', 'units']
    """

    name: str
    accepts: Callable[[Statement], bool]
    apply: Callable[[Statement], Smaller]
