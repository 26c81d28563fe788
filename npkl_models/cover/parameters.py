"""The parameters along which a problem is followed, and the coordinate in which its optimum bends one way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError, chosen
from npkl_models.linalg.owned import real_number
from npkl_models.model.regularizer import Regularizer
from npkl_models.problem import Problem

PARAMETERS = ("bound", "penalty", "p", "weight")


def with_parameter(problem: Problem, parameter: str, value: float) -> Problem:
    """The problem with another value of a parameter, as in `regularization_path`."""
    chosen("parameter", parameter, PARAMETERS)
    if parameter == "weight":
        if not problem.losses:
            raise ProblemError(
                f"weight must be for a problem with losses, got {problem.name or 'a problem'} without losses"
            )
        if value <= 0:
            raise ProblemError(f"weight must be positive, got {value}")
        heavier = (replace(t, weight=value * t.weight) for t in problem.losses)
        return replace(problem, terms=(*heavier, *problem.constraints))
    if parameter == "penalty" and (penalised := penalty_of_cost(problem)) is not None:
        if not value * penalised > 0:
            sign = "positive" if penalised > 0 else "negative"
            raise ProblemError(f"penalty must be {sign}, like the problem's own {penalised:g}, got {value}")
        return replace(problem, cost=value / penalised * problem.cost)
    return replace(problem, regularizer=replace(trace_power(problem, parameter), **{parameter: value}))


def own_value(problem: Problem, parameter: str) -> float:
    """The problem's own value of a parameter; weights are relative, so that their value is one."""
    chosen("parameter", parameter, PARAMETERS)
    if parameter == "weight":
        with_parameter(problem, parameter, 1.0)
        return 1.0
    if parameter == "penalty" and (penalised := penalty_of_cost(problem)) is not None:
        return penalised
    return float(getattr(trace_power(problem, parameter), parameter))


def penalty_of_cost(problem: Problem) -> float | None:
    """The penalty of the trace, of all points or of some, that the cost states; None for any other cost.

    `ordinal` and `distances` state their penalty so: the cost is a multiple of a diagonal of zeros and ones.
    """
    C, R = sp.coo_array(problem.cost), problem.regularizer
    if R.spectral is not None and getattr(R, "penalty", None) is not None:
        return None
    values = C.data[C.data != 0]
    plain = values.size and bool((values == values[0]).all() and (C.row == C.col)[C.data != 0].all())
    return float(values[0]) if plain else None


def trace_power(problem: Problem, parameter: str) -> Regularizer:
    """The regulariser of a problem, if it has the parameter."""
    R = problem.regularizer
    if R.spectral is None or getattr(R, parameter, None) is None:
        if parameter == "penalty" and R.vacuous and not problem.cost.nnz:
            raise ProblemError("a path along penalty must begin with a penalty that is not 0, got 0")
        raise ProblemError(f"{parameter} must be a parameter of the problem's regulariser, got {R!r}")
    return R


@dataclass(frozen=True, eq=False)
class Axis:
    """A parameter of a problem between two values.

    In the coordinate x, the optimum is concave or convex: concave in a factor on the weights and in a
    penalty of the trace, also one that the cost states (x is the value), and convex in the radius
    x = B^(1/p) of tr K^p <= B.
    """

    problem: Problem  # the problem at any value of the parameter
    parameter: str  # name of the parameter
    low: float  # first and last value
    high: float

    def __post_init__(self) -> None:
        own_value(self.problem, self.parameter)
        if self.parameter == "p":
            raise ProblemError(
                "a guarantee must be along bound, penalty or weight, got p: the optimum bends both ways in p"
            )

    @property
    def concave(self) -> bool:
        """Whether the optimum is concave in the coordinate; otherwise it is convex and never rises."""
        return self.parameter != "bound"

    @cached_property
    def of_cost(self) -> bool:
        """Whether the parameter is a penalty that the cost states, and not the regulariser."""
        return self.parameter == "penalty" and penalty_of_cost(self.problem) is not None

    @cached_property
    def power(self) -> float:
        """The power p of the trace; one for weights."""
        R = self.problem.regularizer.spectral
        return 1.0 if self.parameter == "weight" or R is None else R.p

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The coordinates of the first and the last value."""
        return self.coordinate(self.low), self.coordinate(self.high)

    def coordinate(self, value: float) -> float:
        """The coordinate of a value."""
        return float(value) if self.concave else float(value ** (1 / self.power))

    def value(self, x: float) -> float:
        """The value of a coordinate, within the two ends."""
        return float(x) if self.concave else float(np.clip(x**self.power, self.low, self.high))

    def at(self, value: float) -> Problem:
        """The problem with this value."""
        return with_parameter(self.problem, self.parameter, value)

    def within(self, value: float) -> float:
        """The value as a number, if it is between the ends."""
        value = real_number(value, self.parameter)
        if not self.low <= value <= self.high:
            raise ProblemError(
                f"{self.parameter} must be between {self.low:g} and {self.high:g}, got {value!r}"
            )
        return float(value)
