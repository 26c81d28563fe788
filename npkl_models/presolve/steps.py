"""The presolve steps, in the order in which `solve` takes them: smaller problems, and the way back.

The first one splits a problem into independent parts: no edge of the cost, no value and no constraint joins
them. The objective does not depend on the entries of K between parts, and the blocks of a positive
semidefinite kernel are positive semidefinite. So the optimum is the sum of the optima of the parts. A kernel
with optimal blocks and zeros between them is optimal. The slack of the parts' multipliers is block diagonal,
so that their bounds add up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.csgraph import connected_components

from npkl_models.feasibility.anchored import split
from npkl_models.feasibility.faces import face_of
from npkl_models.linalg import Array, Index, Mask
from npkl_models.model.constraint import Constraint
from npkl_models.model.facts import fact
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.pairs import components
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.presolve.growth import grown

MOST = 32  # most parts; the smallest ones beyond form one part, since V has columns for each part

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


@dataclass(frozen=True, eq=False)
class _Part:
    """The points of a part, and for each term of the whole a mask of its values in the part."""

    points: Index
    terms: tuple[Mask, ...]


def separable(problem: Statement) -> bool:
    """Whether the problem falls into at least two parts with values."""
    return len(_labels(problem)) > 0


def separated(problem: Statement) -> Smaller:
    """Split a problem into its parts; components without values form one part together."""
    labels = _labels(problem)
    parts = [_part(problem, labels == k) for k in range(int(labels.max()) + 1)]
    every = tuple(_statement(problem, part) for part in parts)
    return Smaller(every, lambda points: _together(problem, parts, points))


@fact
def _labels(problem: Statement) -> Index:
    """A label for each point, the last one for points without values; empty if there is only one part."""
    whole: Index = np.zeros(0, dtype=np.intp)
    every, tied = problem.terms, not all(t.loss.separable for t in problem.losses)
    known = problem.regularizer.vacuous and problem.basis is None
    if not known or tied or any(p.functional.arity == 0 for p in every):
        return whole
    count, of_cost = connected_components(problem.cost, directed=False)
    row, column, valued = [], [], np.zeros(problem.n, dtype=bool)
    for part in every:
        t = part.functional.incidence
        first = np.zeros(part.functional.size, dtype=np.intp)
        first[t.owner] = t.row
        row += [of_cost[first[t.owner]], of_cost[t.row]]
        column += [of_cost[t.row], of_cost[t.column]]
        valued[t.row] = valued[t.column] = True
    i, j = np.concatenate([*row, np.zeros(0, np.intp)]), np.concatenate([*column, np.zeros(0, np.intp)])
    count, joined = components(count, np.stack([i, j], axis=1))
    found = joined[of_cost]
    has, single = np.zeros(count, dtype=bool), np.bincount(found, minlength=count) < 2
    has[found[valued]] = True
    own = has & ~single  # a problem needs two points, so single points join the first part
    if int(own.sum()) < 2:
        return whole
    sizes = np.where(own, np.bincount(found, minlength=count), 0)
    own[np.argsort(-sizes, kind="stable")[MOST - 1 :]] &= int(own.sum()) <= MOST
    rest = has & ~single & ~own
    last = int(own.sum())
    name = np.where(own, np.cumsum(own) - 1, np.where(single, 0, last + int(rest.any()) * ~rest))
    return np.asarray(name[found], dtype=np.intp)


def _part(problem: Statement, inside: Mask) -> _Part:
    def kept(term: LossTerm | Constraint) -> Mask:
        t = term.functional.incidence
        out = np.zeros(term.functional.size, dtype=bool)
        out[t.owner] = inside[t.row]
        return out

    return _Part(np.flatnonzero(inside), tuple(map(kept, problem.terms)))


def _statement(problem: Statement, part: _Part) -> Statement:
    place = np.full(problem.n, -1)
    place[part.points] = np.arange(part.points.size)
    n = part.points.size
    terms: list[LossTerm | Constraint] = []
    for term, mask in zip(problem.terms, part.terms, strict=True):
        if mask.any():
            own = term.kept(mask)
            terms.append(replace(own, functional=own.functional.over(n, place)))
    if not terms:  # a term that is zero: a point's distance from itself
        terms = [LossTerm(SquaredDistances(n, ([0], [0])), "square", 0.0, name="nothing")]
    C = problem.cost[part.points][:, part.points]
    return Statement(C, terms, problem.regularizer, None, problem.name)


def _together(problem: Statement, parts: list[_Part], points: tuple[Point, ...]) -> Point:
    """The point of the whole: each part's factor gets its own columns, multipliers get their places."""
    V = None
    if all(W is not None for W, _ in points):
        order = np.argsort(np.concatenate([part.points for part in parts]), kind="stable")
        V = block_diag(*(W for W, _ in points))[order]
    given = [y for _, y in points if y is not None]
    if len(given) < len(parts):
        return V, None
    out = [np.zeros(size) for size in problem.sizes]
    for part, y in zip(parts, given, strict=True):
        numbers = iter(y.terms)
        for into, mask in zip(out, part.terms, strict=True):
            if mask.any():
                into[mask] = next(numbers)
    return V, problem.split_multipliers(out)


def _anchored(problem: Statement) -> Smaller:
    parts = split(problem)
    if parts is None or parts.problem is None:
        raise ValueError("a problem must have anchored points and other points to be split")

    def back(points: tuple[Point, ...]) -> Point:
        V, y = points[0]
        return (None if V is None else grown(parts, V)), parts.unfold(y)

    return Smaller((parts.problem,), back)


def _on_its_face(problem: Statement) -> Smaller:
    face = face_of(problem)

    def back(points: tuple[Point, ...]) -> Point:
        V, y = points[0]
        return V, None if y is None else face.unfold(y)

    return Smaller((face.problem,), back)


PARTS = (
    Step("components", separable, separated, "presolve split the problem into {} independent parts"),
    Step(
        "anchored points",
        lambda problem: (parts := split(problem)) is not None and parts.problem is not None,
        _anchored, "presolve removed the points that are not anchored",
    ),
)  # fmt: skip
"""Steps of the portfolio, which judges the whole after each. A solve of the whole follows if it must."""

FACES = Step("faces", lambda problem: not face_of(problem).whole, _on_its_face)
"""The step of every backend: its solver's point is judged on the face."""
