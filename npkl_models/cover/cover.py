"""Bounds on the optimum at every value of a parameter, from solutions at some values.

The lines of the solutions bound the optimum from one side, and chords of their points bound it from the other
side. Between two solved values the gap is largest where their two lines cross. Source: Giesen, Jaggi & Laue,
"Regularization paths with guarantees for convex semidefinite optimization", AISTATS 2012.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution
from npkl_models.certificates.certificate import relative_gap
from npkl_models.cover.knots import (
    Ends,
    Knot,
    crossing,
    knot,
    largest_gap,
    line,
    mixture,
    objectives_of_one_kernel,
    owed,
)
from npkl_models.cover.multipliers import ROUNDING, mixed_bound
from npkl_models.cover.parameters import Axis
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import real_array
from npkl_models.problem import Problem


@dataclass(frozen=True, eq=False)
class Between:
    """The bounds between two solved values."""

    axis: Axis
    left: Knot  # the two solved values
    right: Knot
    x: float  # coordinate at which the two lines cross
    point: float  # bound on the side of the chords at x
    gap: float  # largest proved relative gap from the left to the right value; inf if there is none somewhere

    def chord(self, x: float) -> float:
        """The bound on the side of the chords at a coordinate between the two knots."""
        concave = self.axis.concave
        at = x if concave else max(x * (1 - ROUNDING), self.left.x)  # a smaller radius is always safe
        side = self.left if at <= self.x else self.right
        more = 0.0 if concave else owed(side.missed, (self.left, self.right))
        one = (side.x, side.point + more)
        ends: tuple[Ends, Ends] = ((one[0], self.x), (one[1], self.point))
        return line(at, *ends, towards=-1.0 if concave else 1.0)


def between(axis: Axis, left: Knot, right: Knot) -> Between:
    """The bounds between two solved values, and their largest gap."""
    concave = axis.concave
    lines = (_raised(axis, side.line, owed(side.missed, (left, right))) for side in (left, right))
    x = float(np.clip(crossing(axis.ends, *lines), left.x, right.x))
    straight = Between(axis, left, right, right.x, right.point, np.inf).chord(x)
    candidates = [straight]
    if left.x < x < right.x:
        own = mixed_bound(axis, x, left.dual, right.dual) if concave else _mixture(axis, left, right, x)[1]
        candidates.append(own)
    point = max(candidates) if concave else min(candidates)
    found = Between(axis, left, right, x, point, np.inf)
    gaps = [_gap(axis, side, found) for side in (left, right) if side.x != x]
    return Between(axis, left, right, x, point, max(gaps, default=_gap_at(axis, left)))


def _mixture(axis: Axis, left: Knot, right: Knot, x: float) -> tuple[Array | None, float]:
    """A mixture of two kernels that is feasible at a radius between those of the two, and its objective."""
    one, other = left.certificate, right.certificate
    if one is None or other is None or not (np.isfinite(left.point) and np.isfinite(right.point)):
        return None, float("inf")
    V = mixture(one.point, other.point, (x - left.x) / (right.x - left.x))
    (above,), V, missed = objectives_of_one_kernel([axis.at(axis.value(x))], V)
    return V, above + owed(missed, (left, right))


def _gap(axis: Axis, side: Knot, found: Between) -> float:
    """The largest gap between one of the knots and the crossing, where all bounds are affine."""
    towards = 1.0 if axis.concave else -1.0
    own = _raised(axis, side.line, owed(side.missed, (found.left, found.right)))
    lines = [line(x, axis.ends, own, towards) for x in (side.x, found.x)]
    points = [side.point, found.point] if axis.concave else [found.chord(x) for x in (side.x, found.x)]
    faint = min(one.faint for one in (found.left, found.right))
    upper, lower = (lines, points) if axis.concave else (points, lines)
    return largest_gap((upper[0], upper[1]), (lower[0], lower[1]), faint)


def _gap_at(axis: Axis, one: Knot) -> float:
    """The gap at a solved value."""
    value, more = line(one.x, axis.ends, one.line, 1.0 if axis.concave else -1.0), owed(one.missed, (one,))
    upper, lower = (value + more, one.point) if axis.concave else (one.point + more, value)
    return relative_gap(upper, lower, one.faint)


def _raised(axis: Axis, ends: Ends, by: float) -> Ends:
    """The line of an upper bound, raised by what its kernel owes; lines of lower bounds stay."""
    return (ends[0] + by, ends[1] + by) if axis.concave else ends


@dataclass(frozen=True)
class Covered:
    """The best answer to a value of the parameter among stored kernels, with its proved gap."""

    value: float  # value of the parameter
    # factor of the kernel, which is feasible at this value. Along a bound it is a mixture of the stored
    # kernels of the two neighbours, since the kernel of the larger bound is not feasible (n, r)
    V: Array
    solution: Solution  # the stored solution with this kernel; along a bound, the one with the smaller bound
    # upper and lower bound on the optimum at this value; ``upper`` bounds the objective of the kernel
    upper: float
    bound: float
    relative_gap: float  # the proved relative gap, as in certificates

    @property
    def K(self) -> Array:
        """The kernel VV' (n x n) as a dense array."""
        return self.V @ self.V.T


class Cover:
    """Bounds on the optimum at every value from the first to the last solved one."""

    def __init__(self, axis: Axis, knots: Iterable[Knot], pieces: Iterable[Between] = ()) -> None:
        self.axis = axis
        self.knots = tuple(sorted(knots, key=lambda one: one.x))
        if not self.knots:
            raise ProblemError("bounds along a parameter must have at least one solution, got none")
        known = {(one.left.x, one.right.x): one for one in pieces}
        pairs = zip(self.knots, self.knots[1:], strict=False)
        self.pieces = tuple(known.get((a.x, b.x)) or between(axis, a, b) for a, b in pairs)

    @classmethod
    def of(cls, problem: Problem, parameter: str, values: Array, solutions: Iterable[Solution]) -> Cover:
        """The bounds from solutions at ascending values."""
        axis = Axis(problem, parameter, float(values[0]), float(values[-1]))
        return cls(axis, [knot(axis, float(v), s) for v, s in zip(values, solutions, strict=True)])

    @property
    def guarantee(self) -> float:
        """The largest proved relative gap over all values; inf if a value has none."""
        return max((one.gap for one in self.pieces), default=_gap_at(self.axis, self.knots[0]))

    def uncovered(self, tol: float) -> tuple[tuple[float, float], ...]:
        """The intervals between solved values in which no gap up to ``tol`` is proved throughout."""
        open_ends = [(one.left.x, one.right.x) for one in self.pieces if not one.gap <= tol]
        joined: list[tuple[float, float]] = []
        for a, b in open_ends:
            if joined and joined[-1][1] == a:
                joined[-1] = (joined[-1][0], b)
            else:
                joined.append((a, b))
        return tuple((self.axis.value(a), self.axis.value(b)) for a, b in joined)

    @cached_property
    def _lines(self) -> Array:
        return np.array([_raised(self.axis, one.line, owed(one.missed, self.knots)) for one in self.knots])

    def _lines_at(self, x: float, towards: float) -> Array:
        """The lines of all knots at a coordinate."""
        return np.array([line(x, self.axis.ends, (a, b), towards) for a, b in self._lines.tolist()])

    def best(self, values: ArrayLike) -> Index:
        """The number of the stored kernel that is best at each value, among those feasible there."""
        x = self._coordinates(values)
        if not self.axis.concave:
            places = np.array([one.x for one in self.knots])
            return np.searchsorted(places, x, side="right") - 1
        return np.array([np.argmin(self._lines_at(at, 1.0)) for at in x], dtype=np.intp)

    def upper(self, values: ArrayLike) -> Array:
        """An upper bound on the optimum at each value, which the answer of `at` reaches."""
        return np.array([self._bounds(x)[1] for x in self._coordinates(values)])

    def lower(self, values: ArrayLike) -> Array:
        """A lower bound on the optimum at each value."""
        return np.array([self._bounds(x)[0] for x in self._coordinates(values)])

    def gaps(self, values: ArrayLike) -> Array:
        """The proved relative gap at each value; inf where there is none."""
        every = np.atleast_1d(real_array(values, "values")).tolist()
        bounds = zip(self.lower(values), self.upper(values), every, strict=True)
        return np.array([relative_gap(high, low, self._faint(value)) for low, high, value in bounds])

    def _faint(self, value: float) -> float:
        """The faint part of the unit at a value: the smaller one of the two solved values around it."""
        piece = self._piece(self.axis.coordinate(self.axis.within(value)))
        return min(one.faint for one in ((piece.left, piece.right) if piece is not None else self.knots))

    def _coordinates(self, values: ArrayLike) -> Array:
        every = np.atleast_1d(real_array(values, "values"))
        return np.array([self.axis.coordinate(self.axis.within(value)) for value in every])

    def _piece(self, x: float) -> Between | None:
        """The piece that contains a coordinate; None if only one value is solved."""
        places = [one.right.x for one in self.pieces]
        return self.pieces[min(int(np.searchsorted(places, x)), len(places) - 1)] if places else None

    def _bounds(self, x: float) -> tuple[float, float]:
        """Lower and upper bound at a coordinate, without new mixtures."""
        towards = 1.0 if self.axis.concave else -1.0
        lines = self._lines_at(x, towards)
        piece = self._piece(x)
        point = self.knots[0].point if piece is None else piece.chord(x)
        if piece is not None and not self.axis.concave:  # lines of all knots are below, not of two
            sides = (piece.left, piece.right)
            point += max(owed(one.missed, self.knots) - owed(one.missed, sides) for one in sides)
        return (point, float(np.min(lines))) if self.axis.concave else (float(np.max(lines)), point)

    def at(self, value: float) -> Covered:
        """The best stored kernel at a value, and its proved gap there."""
        axis, value = self.axis, self.axis.within(value)
        x = axis.coordinate(value)
        piece, (bound, upper) = self._piece(x), self._bounds(x)
        stored = self.knots[int(self.best(value)[0])].solution
        V = None if stored.V is None else stored.certificate.point
        if piece is not None and piece.left.x < x < piece.right.x:
            if axis.concave:
                bound = max(bound, mixed_bound(axis, x, piece.left.dual, piece.right.dual))
            else:
                mixed, own = _mixture(axis, piece.left, piece.right, x)
                V, upper = V if mixed is None else mixed, min(upper, own)
        if V is None:
            raise ProblemError(f"a kernel must be stored for {axis.parameter}={value:g}: {stored.message}")
        return Covered(value, V, stored, upper, bound, float(relative_gap(upper, bound, self._faint(value))))
