"""What one certified solution proves about all values of a parameter: a line, and a point.

The objective of one kernel is affine in a weight or a penalty, so a stored kernel is an upper bound at every
value, a tangent of the concave optimum. The dual value of one dual point is affine in the radius of a bound
on tr K^p, so stored multipliers are a lower bound at every radius, a tangent of the convex optimum. The other
bound of the certificate holds at its own value, and chords join such points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.certify.certificate import CERTIFIED, Certificate
from npkl_models.cover.multipliers import DualPoint, dual_point
from npkl_models.cover.parameters import Axis
from npkl_models.cover.pieces import Ends
from npkl_models.feasibility.restoration import restore
from npkl_models.linalg import Array
from npkl_models.model import rounding
from npkl_models.model.statement import Statement
from npkl_models.presolve.faces import face_of
from npkl_models.problem import Problem

INF = float("inf")
NOTHING = {True: (INF, INF), False: (-INF, -INF)}  # no upper line, no lower line
SMALLEST, LARGEST = 1e-100, 1e100  # units within which products neither under- nor overflow


@dataclass(frozen=True, eq=False)
class Knot:
    """A solved value of the parameter.

    Attributes
    ----------
    x : float
        Coordinate of the value.
    solution : Solution
        The solution there.
    line : (float, float)
        Values at both ends of the axis of a bound that is affine in the coordinate: an upper bound if the
        optimum is concave, else a lower bound. They are infinite if there is none.
    point : float
        The other bound, which holds at x: lower if the optimum is concave, else upper.
    dual : DualPoint or None
        The multipliers, if they give bounds at other values.
    """

    x: float
    solution: Solution
    line: Ends
    point: float
    dual: DualPoint | None

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
    upper = found.upper if found.feasible else float("inf")
    if axis.concave:
        line = _of_one_kernel(axis, found) if np.isfinite(upper) else nothing
        return Knot(x, solution, line, bound, dual)
    if dual is None:
        return Knot(x, solution, nothing, upper, None)
    low, high = (-(dual.paid + dual.support_at(axis, end)) for end in axis.ends)
    return Knot(x, solution, (low, high), upper, dual)


def _of_one_kernel(axis: Axis, found: Certificate) -> Ends:
    """Upper bounds at both ends of the axis on the objective of one feasible kernel at the judged point."""
    ends = [axis.at(value) for value in (axis.low, axis.high)]
    (low, high), _ = objectives_of_one_kernel(ends, found.point, found.multipliers.equalities)
    return low, high


def objectives_of_one_kernel(
    problems: Sequence[Problem], V: Array, nu: tuple[Array, ...]
) -> tuple[tuple[float, ...], Array]:
    """Upper bounds on the objectives of one and the same feasible kernel near V V', and its factor.

    There is a bound for each of several problems that differ in weights or a penalty, not in constraints.
    The bounds include rounding and the move to a kernel that meets the constraints exactly, as in a
    certificate. They are inf without proof.
    """
    face = face_of(problems[0])
    inside: Statement = face.problem
    folded = face.fold(replace(problems[0].no_multipliers, equalities=nu)).equalities
    found = restore(inside, V)
    if found.near is None or not all(map(_ordinary, problems)):
        return tuple(float("inf") for _ in problems), found.V
    out = []
    for problem in problems:
        own = replace(inside, cost=problem.cost, terms=problem.terms, regularizer=problem.regularizer)
        value = own.objective_of_factor(found.V)
        upper = found.near.upper(own, found.V, value, folded) + rounding.objective(own, found.V, value)
        out.append(float(upper) if np.isfinite(upper) else float("inf"))
    return tuple(out), found.V


def _ordinary(problem: Statement) -> bool:
    return all(SMALLEST < unit < LARGEST for unit in (problem.cost_unit, problem.kernel_unit))


def mixture(one: Array, other: Array, u: float) -> Array:
    """A factor of (1 - u) K + u K' from factors of K and K'."""
    parts = [np.sqrt(share) * V for share, V in ((1 - u, one), (u, other)) if share > 0]
    return np.hstack(parts)
