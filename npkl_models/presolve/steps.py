"""All presolve steps, in the order in which `solve` takes them."""

from __future__ import annotations

from npkl_models.feasibility.anchored import split
from npkl_models.feasibility.faces import face_of
from npkl_models.model.statement import Statement
from npkl_models.presolve.components import separable, separated
from npkl_models.presolve.growth import grown
from npkl_models.presolve.step import Point, Smaller, Step


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


def _is_split(problem: Statement) -> bool:
    parts = split(problem)
    return parts is not None and parts.problem is not None


PARTS = (
    Step("components", separable, separated, "presolve split the problem into {} independent parts"),
    Step("anchored points", _is_split, _anchored, "presolve removed the points that are not anchored"),
)
"""Steps of the portfolio, which judges the whole after each. A solve of the whole follows if it must."""

FACES = Step("faces", lambda problem: not face_of(problem).whole, _on_its_face)
"""The step of every backend: its solver's point is judged on the face."""
