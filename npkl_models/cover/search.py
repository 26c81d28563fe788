"""Choose the values of a parameter such that the bounds between them meet a tolerance everywhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.cover.cover import Between, Cover, between
from npkl_models.cover.knots import Knot, knot
from npkl_models.cover.parameters import Axis

Solve = Callable[[float, Solution | None], Solution]

EDGE = 0.02  # least share of an interval (in logarithms) that a new value leaves on either side
NARROW = 1e-6  # an interval whose ends are closer (in logarithms) is not split
GIVEN_UP = 0.05  # the same, if one of the ends is not certified to the tolerance


def search(axis: Axis, tol: float, solve: Solve) -> Cover:
    """Solve at both ends, and then where the gap is largest, until the gap is at most ``tol`` everywhere.

    ``solve(value, start)`` solves the problem at a value, with a warm start from a neighbour's solution.
    Intervals that more solutions cannot close are left as they are: `Cover.uncovered` names them.
    """
    if axis.low == axis.high:
        return Cover(axis, [knot(axis, axis.low, solve(axis.low, None))])
    falling = axis.parameter == "weight"  # a kernel of too high a rank is the better start
    last, first = (axis.high, axis.low) if falling else (axis.low, axis.high)
    one = knot(axis, last, solve(last, None))
    two = knot(axis, first, solve(first, one.solution))
    left, right = (two, one) if falling else (one, two)
    knots, done, waiting = [left, right], [], [between(axis, left, right)]
    while waiting:
        piece = waiting.pop()
        value = None if piece.gap <= tol else _next(axis, piece, tol, first=len(knots) == 2)
        if value is None:
            done.append(piece)
            continue
        beside = piece.right if falling else piece.left
        other = piece.left if falling else piece.right
        start = beside.solution if beside.solution.V is not None else other.solution
        new = knot(axis, value, solve(value, start))
        knots.append(new)
        waiting += [between(axis, piece.left, new), between(axis, new, piece.right)]
    return Cover(axis, knots, done)


def _next(axis: Axis, piece: Between, tol: float, first: bool) -> float | None:
    """The value that splits an interval, near the crossing of its lines; None if a split does not help."""
    a, b = axis.value(piece.left.x), axis.value(piece.right.x)
    width = float(np.log(b / a))
    certified = [_certified(one, tol) for one in (piece.left, piece.right)]
    least = NARROW if all(certified) else GIVEN_UP if any(certified) or first else np.inf
    if width <= least:
        return None
    share = float(np.log(axis.value(piece.x) / a)) / width if all(certified) else 0.5
    value = float(a * np.exp(width * np.clip(share, EDGE, 1 - EDGE)))
    return value if a < value < b else None


def _certified(one: Knot, tol: float) -> bool:
    """Whether both bounds of a knot serve: more knots between two such knots close the gap."""
    found = one.certificate
    finite = bool(np.isfinite([*one.line, one.point]).all())
    return finite and found is not None and found.certifies(tol)
