"""Bounds from stored multipliers, at values of a parameter for which they were not computed.

For multipliers y with a slack S, the dual value is -sum f*(y) - nu'b - R*(-S). Weights and targets enter only
through the conjugates f*, and the trace's parameter only through R*. So stored multipliers give a bound at
every value, without another eigenvalue. A mixture of two dual points is a dual point, and R* is convex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.certificates.bounds import ANCHORED
from npkl_models.certificates.certificate import CERTIFIED, Certificate
from npkl_models.cover.parameters import Axis
from npkl_models.linalg import UNIT, Array
from npkl_models.model.functionals import PAIRWISE as SUM
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

ROUNDING = 16 * UNIT  # relative error of a line, a chord, a gap or a mixture in floating point, and more
BOUND_TO_VALUE = (ANCHORED,)  # repairs whose bound is not the dual value of multipliers


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Stored multipliers with a proved slack."""

    x: float  # coordinate at which they were proved
    y: Multipliers  # the multipliers
    support: float  # upper bound on R*(-S) at this coordinate
    paid: float  # upper bound on sum f*(y) + nu'b + b^2 sum d at this coordinate

    def support_at(self, axis: Axis, x: float) -> float:
        """An upper bound on R*(-S) at another coordinate; R* is homogeneous in the parameter of the trace."""
        if axis.parameter == "weight" or axis.of_cost or self.support == 0.0:
            return self.support
        if axis.parameter == "bound":
            return self.support * (x / self.x) * (1 + ROUNDING)
        power = 1 / (axis.power - 1)  # q - 1
        share = float(np.exp(power * np.log(self.x / x)))
        return self.support * share * (1 + ROUNDING * (1 + power * (1 + abs(float(np.log(self.x / x))))))


def dual_point(axis: Axis, problem: Statement, x: float, found: Certificate) -> DualPoint | None:
    """The dual point of a certificate; None if its bound is not the dual value of its multipliers.

    The bound is at most -sum f*(y) - nu'b - R*(-S), which gives the upper bound on R*.
    """
    bound_only = any(words in found.repair for words in BOUND_TO_VALUE)
    if found.rigour not in CERTIFIED or not np.isfinite(found.bound) or bound_only:
        return None
    low, high = paid_range(problem, found.multipliers, found.multipliers)
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    support = max(0.0, -found.bound - low)
    linear = axis.parameter == "penalty" and axis.power == 1 and not axis.of_cost
    return DualPoint(x, found.multipliers, 0.0 if linear else support, high)


def paid_range(problem: Statement, low: Multipliers, high: Multipliers) -> tuple[float, float]:
    """Bounds on the sum of f*(y) for y between two multipliers; inf outside the domain.

    Conjugates are convex, so each is largest at an end of its interval. The lower bound holds if both ends
    are equal. A conjugate that ties its values to each other is only taken where they are.
    """
    total, size = 0.0, 0.0
    for term, a, b in zip(problem.losses, low.losses, high.losses, strict=True):
        tied = not term.loss.separable and a is not b
        if tied or not (np.all(term.allows(a)) and np.all(term.allows(b))):
            return float("inf"), float("inf")
        ends = [term.loss.conjugate(y, term.target, term.weight) for y in (a, b)]
        top = np.maximum(*ends)
        total += float(np.sum(top))
        linear = np.maximum(np.abs(a * term.target), np.abs(b * term.target))
        size += float(np.sum(np.abs(top) + 2 * linear))
    for part, a, b in zip(problem.constraints, low.constraints, high.constraints, strict=True):
        if not (part.allows(part.project(a)) & part.allows(part.project(b))).all():
            return float("inf"), float("inf")
        top = np.maximum(part.value * a, part.value * b)
        total, size = total + float(np.sum(top)), size + float(np.sum(np.abs(top)))
    error = SUM * UNIT * size
    return total - error, total + error


def mixed_bound(axis: Axis, x: float, one: DualPoint | None, other: DualPoint | None) -> float:
    """The lower bound at x of the mixture of two dual points that lies at x; -inf if one is missing."""
    if one is None or other is None:
        return float("-inf")
    u = (x - one.x) / (other.x - one.x) * (1 - 8 * UNIT)  # with p = 1 the slack plus x I is PSD up to here
    paid = paid_range(axis.at(axis.value(x)), *(_end(one.y, other.y, u, sign) for sign in (-1.0, 1.0)))[1]
    support = (1 - u) * one.support_at(axis, x) + u * other.support_at(axis, x)
    return -(paid + support + ROUNDING * (abs(paid) + support))


def _end(one: Multipliers, other: Multipliers, u: float, sign: float) -> Multipliers:
    """The lower or upper end of (1 - u) y + u y', with room for rounding."""

    def mix(a: Array, b: Array) -> Array:
        return (1 - u) * a + u * b + sign * ROUNDING * ((1 - u) * np.abs(a) + u * np.abs(b))

    return Multipliers(
        tuple(map(mix, one.losses, other.losses)), tuple(map(mix, one.constraints, other.constraints))
    )
