"""What one certified solution proves about all values of a parameter: a line, and a point.

The objective of one kernel is affine in a weight or a penalty, so a stored kernel is an upper bound at every
value, a tangent of the concave optimum. The dual value of one dual point is affine in the radius of a bound
on tr K^p, so stored multipliers are a lower bound at every radius, a tangent of the convex optimum. The other
bound of the certificate holds at its own value, and chords join such points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.certificates.certificate import CERTIFIED, Certificate
from npkl_models.cover.multipliers import ROUNDING, DualPoint, dual_point
from npkl_models.cover.parameters import Axis
from npkl_models.feasibility.faces import face_of
from npkl_models.feasibility.restoration import restored
from npkl_models.kernel import target_of
from npkl_models.linalg import UNIT, Array
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import PAIRWISE as SUM
from npkl_models.model.misses import Miss, constraints_missed
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.problem import Problem

INF = float("inf")
NOTHING = {True: (INF, INF), False: (-INF, -INF)}  # no upper line, no lower line
FAR = 1e100  # products of units up to this size, or its inverse, neither under- nor overflow
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Knot:
    """A solved value of the parameter."""

    x: float  # coordinate of the value
    solution: Solution  # the solution there
    # values at both ends of the axis of a bound that is affine in the coordinate: an upper bound if the
    # optimum is concave, else a lower bound. They are infinite if there is none
    line: Ends
    point: float  # the other bound, which holds at x: lower if the optimum is concave, else upper
    dual: DualPoint | None  # the multipliers, if they give bounds at other values
    missed: tuple[Miss, ...] = ()  # what the kernel misses of constraints (over the face)
    nu: tuple[Array, ...] = ()  # multipliers of these constraints

    @property
    def faint(self) -> float:
        """The part of the unit of a gap that does not vanish with the optimum; 0 without a kernel."""
        return 0.0 if self.certificate is None else self.certificate.faint

    @property
    def certificate(self) -> Certificate | None:
        """The certificate of the stored kernel; None without a kernel."""
        return None if self.solution.V is None else self.solution.certificate


def knot(axis: Axis, value: float, solution: Solution) -> Knot:
    """What the solution at a value proves along the axis."""
    x, nothing = axis.coordinate(value), NOTHING[axis.concave]
    if solution.V is None:
        return Knot(x, solution, nothing, -INF if axis.concave else INF, None)
    found, own = solution.certificate, axis.at(value)
    dual = dual_point(axis, own, x, found)
    bound = found.bound if found.rigour in CERTIFIED else float("-inf")
    nu = face_of(own).fold(found.multipliers).constraints
    ends = [axis.at(end) for end in (axis.low, axis.high)] if axis.concave else [own]
    above, _, missed = objectives_of_one_kernel(ends, found.point)
    if not found.feasible:
        above = tuple(INF for _ in above)
    if axis.concave:
        return Knot(x, solution, (above[0], above[1]), bound, dual, missed, nu)
    if dual is None:
        return Knot(x, solution, nothing, above[0], None, missed, nu)
    low, high = (-(dual.paid + dual.support_at(axis, end)) for end in axis.ends)
    return Knot(x, solution, (low, high), above[0], dual, missed, nu)


def owed(missed: Sequence[Miss], knots: Iterable[Knot]) -> float:
    """What bounds may lose for the targets that a kernel meets, by mixtures of the multipliers of knots."""
    if not missed:
        return 0.0
    return max(
        sum(
            float(nu @ miss.residual) + float(np.abs(nu) @ (miss.doubt + SUM * UNIT * np.abs(miss.residual)))
            for nu, miss in zip(one.nu, missed, strict=True)
        )
        for one in knots
    )


def objectives_of_one_kernel(
    problems: Sequence[Problem], V: Array
) -> tuple[tuple[float, ...], Array, tuple[Miss, ...]]:
    """Upper bounds on the objectives of one kernel near V V', its factor, and what it misses of constraints.

    There is a bound for each of several problems that differ in weights or a penalty, not in constraints.
    The bounds include rounding. They are inf unless the kernel is proved to meet all other constraints.
    """
    inside: Statement = face_of(problems[0]).problem
    V = restored(inside, V)
    out, missed = [], tuple(constraints_missed(inside.constraints, V))
    for problem in problems:
        terms: tuple[LossTerm | Constraint, ...] = (*problem.losses, *inside.constraints)
        own = replace(inside, cost=problem.cost, terms=terms, regularizer=problem.regularizer)
        target = target_of(own, V)
        ordinary = all(1 / FAR < unit < FAR for unit in (problem.cost_unit, problem.kernel_unit))
        out.append(target.top if target.excess == 0 and ordinary else float("inf"))
    return tuple(out), V, missed


def mixture(one: Array, other: Array, u: float) -> Array:
    """A factor of (1 - u) K + u K' from factors of K and K'."""
    parts = [np.sqrt(share) * V for share, V in ((1 - u, one), (u, other)) if share > 0]
    return np.hstack(parts)


def line(x: float, ends: Ends, values: Ends, towards: float) -> float:
    """The value at x of the line through two points, rounded ``towards`` +1 (up) or -1 (down)."""
    (a, b), (u, v) = ends, values
    if u == v or a == b:
        return u
    if not (np.isfinite(u) and np.isfinite(v)):
        return u if x == a else v if x == b else towards * float("inf")
    left, right = (b - x) / (b - a) * u, (x - a) / (b - a) * v
    return left + right + towards * ROUNDING * (abs(left) + abs(right))


def crossing(ends: Ends, one: Ends, other: Ends) -> float:
    """The coordinate at which two lines through the same two coordinates cross; the middle if none is."""
    (a, b), d, e = ends, one[0] - other[0], one[1] - other[1]
    if not (np.isfinite(d) and np.isfinite(e)) or d == e:
        return 0.5 * (a + b)
    return float(np.clip(a + (b - a) * (d / (d - e)), a, b))


def largest_gap(upper: Ends, lower: Ends, faint: float) -> float:
    """The largest relative gap between two lines over an interval, from the values at its two ends.

    The relative gap is (U - L) / (r + |U| + |L|), with the smaller ``faint`` part r of the two solved values.
    Where U and L keep their signs, the numerator is affine and the denominator concave, so the gap is
    quasi-convex, and no value inside exceeds both ends. The absolute value of a line that changes its sign is
    left out of the denominator, which can only raise the result.
    """
    size: Array = np.full(2, faint)
    for values in (upper, lower):
        if not all(map(np.isfinite, values)):
            return float("inf")
        if values[0] * values[1] >= 0:
            size = size + np.abs(values)
    gap = np.array(upper) - np.array(lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(gap <= 0, np.where(size > 0, gap / size, 0.0), gap / size)
    return float(np.max(share)) + 4 * ROUNDING  # values inside are charged for rounding twice
