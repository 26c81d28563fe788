"""A problem made step by step, from points or from a file; each step is also a line of Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npkl_models.data import datasets, tables
from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.data.sensors import read_anchors_csv, read_distances_csv
from npkl_models.errors import ProblemError
from npkl_models.formulations import FORMULATIONS
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.completion import known_affinities
from npkl_models.formulations.known_distances import Anchors, drawn_anchors, neighbor_distances, read_anchors
from npkl_models.linalg import Index, Matrix
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.graph import affinity, laplacian, unscaled
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.recipe.fields import FIELDS, Fields
from npkl_models.recipe.names import BASIS
from npkl_models.recipe.script import Script, Shown, value_of

OBSERVED: Mapping[str, Callable[..., Any]] = {"distances": neighbor_distances}
"""What a formulation observes of neighbours; the others observe entries of the Gaussian kernel."""
TABLES = "from npkl_models.data import tables"
FROM_POINTS = ("data", "labels", "ids", "data_home", "n", "scaling", "n_neighbors")
"""The fields that a problem of such a file does not use."""
Told = tuple[Problem, str, tuple[str, ...], Anchors | None]
"""The problem of a file, what its points are called, their names, and the anchors among them."""
Change = Callable[[Script, Shown], Shown]
"""A further step, which replaces the drawn pairs by other pairs."""


@dataclass(frozen=True)
class Made:
    """A problem, the classes of its points or None, the script that made it, and a title.

    Sensors have ``names`` if they come from a file, and ``anchors`` if positions of some are known; ``about``
    says what of a table is used, and ``scales`` what is wrong with the scales of its columns.
    """

    problem: Problem
    labels: Index | None
    script: Script
    title: str
    anchors: Anchors | None = None
    names: tuple[str, ...] | None = None
    about: str = ""
    scales: str = ""


def make(asked: Fields, files: Mapping[str, Path], change: Change | None = None) -> Made:
    """Make the problem of a recipe.

    ``files`` maps "data", "pairs", "comparisons", "distances" or "anchors" to the path of an uploaded
    file. ``change`` is a further step that replaces the pairs.
    """
    script = Script()
    if (file := told_by(asked)) is not None:
        own, what, names, placed = make_told(script, asked, files)
        title = f"{Path(file).stem}, {own.n} {what}{' (uploaded)' if files else ''}"
        return Made(own, None, script, title, placed, names)
    data = _data(script, asked, files)
    points, n = Shown(data.value.X, f"{data.text}.X"), data.value.n
    made: dict[str, Shown] = {}

    def graph() -> Shown:
        if "L" not in made:
            how = (points, asked.n_neighbors)
            made["L"] = script.do("L", quiet_laplacian, "nm.laplacian", *how, shift=asked.shift)
        return made["L"]

    def pairs() -> Shown:
        found = _pairs(script, asked, data, files)
        return found if change is None else change(script, found)

    size = min(BASIS, n - 2) if asked.n_basis is None else asked.n_basis
    makers: dict[str, Callable[[], Any]] = {
        "X": lambda: points, "L": graph, "pairs": pairs,
        "basis": lambda: script.do("basis", eigenbasis, "nm.eigenbasis", graph(), size),
        "W": lambda: script.do(
            "W", affinity, "nm.knn_affinity", points, asked.n_neighbors, sigma="binary"
        ),
        "observed": lambda: script.call(
            "observed", OBSERVED.get(name, known_affinities), points, asked.n_neighbors
        ),
        "comparisons": lambda: script.call(
            "comparisons", ordinal_answers, points, 10 * n, random_state=asked.seed
        ),
        "anchors": lambda: anchors_of(script, points, asked),
        "labels_or_kernel": lambda: _classes(data, "labels"),
        "C": lambda: asked.gamma, "n_basis": lambda: size,
        "trace_bound": lambda: asked.trace_bound or (float(n) if asked.penalty is None else None),
    }  # fmt: skip
    name = asked.formulation
    given, by_name = _arguments(name, makers, asked)
    problem = script.do("problem", FORMULATIONS[name], f"nm.{name}", *given, **by_name)
    if asked.n_basis is not None and problem.value.basis is None and "L" in made:
        problem = script.do("problem", problem.value.with_basis, "problem.with_basis", makers["basis"]())
    origin = "uploaded" if "data" in files else data.value.origin
    y, title = data.value.y, f"{data.value.name}, {n} points ({origin})"
    known = value_of(by_name.get("anchors"))
    anchors = None if known is None else read_anchors(known, n)
    labels = y if (y >= 0).any() else None
    scales = unscaled(data.value.X, data.value.columns or None)
    return Made(problem.value, labels, script, title, anchors, about=data.value.about, scales=scales)


def quiet_laplacian(X: Any, n_neighbors: int, shift: float) -> Matrix:
    """The Laplacian of points without the warning about their scales, which `Made.scales` has."""
    return laplacian(affinity(X, n_neighbors), shift=shift)


def _data(script: Script, asked: Fields, files: Mapping[str, Path]) -> Shown:
    if tables.is_file(asked.data):
        script.imports.append(TABLES)
        path, how = script.file(asked.data, files.get("data")), {"label": asked.labels, "ids": asked.ids}
        data = script.do("data", tables.read_points, "tables.read_points", path, **how)
    else:
        data = script.do("data", datasets.load, "nm.datasets.load", asked.data, data_home=asked.data_home)
    if asked.n is not None and asked.n != data.value.n:
        data = script.do("data", data.value.subset, "data.subset", asked.n, random_state=asked.seed)
    if asked.scaling != "raw":
        data = script.do("data", data.value.scaled, "data.scaled", asked.scaling)
    return data


def _pairs(script: Script, asked: Fields, data: Shown, files: Mapping[str, Path]) -> Shown:
    """The pairs of the file, or pairs drawn from the classes."""
    n, share = data.value.n, asked.pairs
    if isinstance(share, str) or "pairs" in files:
        if asked.n is not None:
            raise ProblemError("n must not be given with a file of pairs between all points, got both")
        script.imports.append(TABLES)
        path = script.file(str(share), files.get("pairs"))
        ids = Shown(data.value.ids, f"{data.text}.ids") if data.value.ids else None
        size = Shown(n, f"{data.text}.n")
        return script.do("pairs", tables.read_pairs, "tables.read_pairs", path, size, ids=ids)
    if share >= n:
        raise ProblemError(f"pairs must be a share of the points below n = {n}, or a file, got {share:g}")
    count, classes = round(share * n), _classes(data, "pairs")
    draw, source = Pairs.from_labels, "nm.Pairs.from_labels"
    return script.do("pairs", draw, source, classes, count, count, random_state=asked.seed)


def _classes(data: Shown, what: str) -> Shown:
    if not (data.value.y >= 0).any():
        none = f"{data.value.name}, which has no classes to take them from"
        raise ProblemError(
            f"{what} must be given for {none}: name the column with the classes, or a file of pairs"
        )
    return Shown(data.value.y, f"{data.text}.y")


def _arguments(
    name: str, makers: Mapping[str, Callable[[], Any]], asked: Fields
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the formulation, without those that equal their default."""
    given, by_name = [], {}
    for key, one in inspect.signature(FORMULATIONS[name]).parameters.items():
        needed = one.default is inspect.Parameter.empty
        if key not in makers and key not in FIELDS:
            if needed:
                raise ProblemError(
                    f"parameters must be fields of a recipe, got {key} of {name}; call {name} from Python"
                )
        elif key != "basis" or one.default is not None:  # a recipe has no graph for an optional basis
            value = makers[key]() if key in makers else getattr(asked, key)
            if needed:
                given.append(value)
            elif value is not None and value_of(value) != one.default:
                by_name[key] = value
    return given, by_name


def told_by(asked: Fields) -> str | None:
    """The file of comparisons or distances of a recipe; None if the problem is made from points."""
    return {"ordinal": asked.comparisons, "distances": asked.distances}.get(asked.formulation)


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
