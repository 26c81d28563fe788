"""Problems of files that are no points: comparisons of objects, and distances of sensors with anchors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from npkl_models.data.named import read_comparisons_csv
from npkl_models.data.sensors import read_anchors_csv, read_distances_csv
from npkl_models.errors import ProblemError
from npkl_models.formulations import FORMULATIONS
from npkl_models.formulations.known_distances import Anchors, drawn_anchors, read_anchors
from npkl_models.problem import Problem
from npkl_models.recipe.fields import Fields
from npkl_models.recipe.script import Script, Shown

FROM_POINTS = ("data", "labels", "ids", "data_home", "n", "scaling", "n_neighbors")
"""The fields that a problem of such a file does not use."""


def told_by(asked: Fields) -> str | None:
    """The file of comparisons or distances of a recipe; None if the problem is made from points."""
    return {"ordinal": asked.comparisons, "distances": asked.distances}.get(asked.formulation)


Told = tuple[Problem, str, tuple[str, ...], Anchors | None]
"""The problem of a file, what its points are called, their names, and the anchors among them."""


def make_told(script: Script, asked: Fields, files: Mapping[str, Path]) -> Told:
    """The problem of a file of comparisons or of distances."""

    def read(name: str, field: str, reader: Callable[..., Any], *more: Shown) -> Shown:
        return script.call(name, reader, script.file(str(getattr(asked, field)), files.get(field)), *more)

    if asked.formulation == "ordinal":
        found = read("answers", "comparisons", read_comparisons_csv).value
        rows = Shown(found.rows, "answers.rows")
        return _problem(script, asked, rows, max(len(found.names), 3)), "objects", found.names, None
    one = read("measured", "distances", read_distances_csv).value
    known = Shown((one.i, one.j, one.d), "(measured.i, measured.j, measured.d)")
    weight = None if one.weight is None else Shown(one.weight, "measured.weight")
    anchors, n = None, len(one.names)
    if asked.anchors is not None:
        if not isinstance(asked.anchors, str):
            raise ProblemError(f"anchors must be a file with a file of distances, got {asked.anchors}")
        anchors = read("anchors", "anchors", read_anchors_csv, Shown(one.names, "measured.names"))
    problem = _problem(script, asked, known, n, weights=weight, anchors=anchors)
    placed = None if anchors is None else read_anchors(anchors.value, n)
    return problem, "sensors", one.names, placed


def anchors_of(script: Script, points: Shown, asked: Fields) -> Shown | None:
    """Anchors that are drawn among points."""
    if asked.anchors is None:
        return None
    if isinstance(asked.anchors, str):
        raise ProblemError("anchors must be a number of points without a file of distances, got a file")
    return script.call("anchors", drawn_anchors, points, asked.anchors, random_state=asked.seed)


def _problem(script: Script, asked: Fields, known: Shown, n: int, **more: Any) -> Problem:
    """The problem, with the loss and the penalty of the recipe."""
    name = asked.formulation
    more |= {"loss": asked.loss, "penalty": asked.penalty}
    return script.do("problem", FORMULATIONS[name], f"nm.{name}", known, n, **more).value
