"""A problem made step by step, each step also a line of Python: the screen and its code are one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npkl_models.data import datasets, tables
from npkl_models.errors import ProblemError
from npkl_models.explore.form import Form
from npkl_models.formulations import FORMULATIONS
from npkl_models.linalg import Index
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.graph import knn_affinity, laplacian
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem

BASIS = 20  # size of a basis where a formulation needs one and none was asked for


@dataclass(frozen=True)
class Shown:
    """A value, and the text that stands for it in the code."""

    value: Any
    text: str


@dataclass
class Recipe:
    """Lines of code, each with the value that it has made."""

    imports: list[str] = field(default_factory=lambda: ["import npkl_models as nm"])
    lines: list[str] = field(default_factory=list)

    def do(self, name: str, function: Callable[..., Any], source: str, *given: Any, **by_name: Any) -> Shown:
        """Call a function now, and write the call down as ``name = source(...)``."""
        made = function(*map(_value, given), **{key: _value(one) for key, one in by_name.items()})
        words = [*map(_text, given), *(f"{key}={_text(one)}" for key, one in by_name.items())]
        self.lines.append(f"{name} = {source}({', '.join(words)})")
        return Shown(made, name)

    def code(self, *more: str, imports: tuple[str, ...] = ()) -> str:
        """The program, with more lines at its end."""
        head = list(dict.fromkeys([*sorted(imports), *self.imports]))
        return "\n".join([*head, "", *self.lines, *more]) + "\n"


@dataclass(frozen=True)
class Made:
    """A problem, the classes of its points (none where unknown), how it was made, and in words of what."""

    problem: Problem
    labels: Index
    recipe: Recipe
    title: str

    @property
    def known_labels(self) -> Index | None:
        """The classes, None where the data have none."""
        return self.labels if self.labels.size else None


def make(form: Form, uploads: Mapping[str, Path]) -> Made:
    """The problem that a form asks for.

    Parameters
    ----------
    form : Form
    uploads : mapping of str to Path
        Files by the keys that the form names.

    Raises
    ------
    NPKLError
        As the part of the library says that does not take what it was given.
    """
    recipe = Recipe()
    data = _data(recipe, form, uploads)
    points, labels = Shown(data.value.X, f"{data.text}.X"), Shown(data.value.y, f"{data.text}.y")
    n, made = data.value.n, {"X": points}

    def graph() -> Shown:
        if "L" not in made:
            made["L"] = recipe.do("L", laplacian, "nm.laplacian", points, form.n_neighbors, shift=form.delta)
        return made["L"]

    def drawn() -> Shown:
        if form.pairs_file:
            recipe.imports.append("from npkl_models.data import tables")
            upload, size = _upload(uploads, form.pairs_file), Shown(n, f"{data.text}.n")
            return recipe.do("pairs", tables.read_pairs, "tables.read_pairs", upload, size)
        if not data.value.y.size:
            name = data.value.name
            raise ProblemError(f"pairs must be given for {name}, which has no classes to draw them from")
        count = round(form.pairs * n)
        draw, source = Pairs.from_labels, "nm.Pairs.from_labels"
        return recipe.do("pairs", draw, source, labels, count, count, random_state=form.seed)

    size = min(BASIS, n - 2) if form.n_basis is None else form.n_basis
    makers: dict[str, Callable[[], Any]] = {
        "X": lambda: points, "L": graph, "pairs": drawn,
        "basis": lambda: recipe.do("basis", eigenbasis, "nm.eigenbasis", graph(), size),
        "W": lambda: recipe.do(
            "W", knn_affinity, "nm.knn_affinity", points, form.n_neighbors, sigma="binary"
        ),
        "labels_or_kernel": lambda: _labels(data, labels),
        "C": lambda: form.gamma, "n_basis": lambda: size,
        "bound": lambda: float(n) if form.bound is None and form.penalty is None else form.bound,
    }  # fmt: skip
    name = form.formulation
    given, by_name = _arguments(name, makers, form)
    problem = recipe.do("problem", FORMULATIONS[name], f"nm.{name}", *given, **by_name)
    if form.n_basis is not None and problem.value.basis is None and "L" in made:
        basis = recipe.do("basis", eigenbasis, "nm.eigenbasis", graph(), size)
        problem = recipe.do("problem", problem.value.with_basis, "problem.with_basis", basis)
    origin = "uploaded" if form.data_file else data.value.origin
    return Made(problem.value, data.value.y, recipe, f"{data.value.name}, {n} points ({origin})")


def _data(recipe: Recipe, form: Form, uploads: Mapping[str, Path]) -> Shown:
    if form.data_file:
        recipe.imports.append("from npkl_models.data import tables")
        data = recipe.do("data", tables.read_points, "tables.read_points", _upload(uploads, form.data_file))
    else:
        data = recipe.do("data", datasets.load, "nm.datasets.load", form.data)
    if form.n is not None and form.n != data.value.n:
        data = recipe.do("data", data.value.subset, "data.subset", form.n, random_state=form.seed)
    return data


def _labels(data: Shown, labels: Shown) -> Shown:
    if not data.value.y.size:
        raise ProblemError(f"classes must be given for {data.value.name}, which has none")
    return labels


def _arguments(
    name: str, makers: Mapping[str, Callable[[], Any]], form: Form
) -> tuple[list[Any], dict[str, Any]]:
    """What the formulation is called with; what is as its default says is left out."""
    given, by_name = [], {}
    for key, one in inspect.signature(FORMULATIONS[name]).parameters.items():
        if key not in makers and not hasattr(form, key):
            if one.default is inspect.Parameter.empty:
                raise ProblemError(f"this page cannot give {name} its {key}; call it from Python")
            continue
        value = makers[key]() if key in makers else getattr(form, key)
        if one.default is inspect.Parameter.empty:
            given.append(value)
        elif value is not None and _value(value) != one.default:
            by_name[key] = value
    return given, by_name


def _upload(uploads: Mapping[str, Path], key: str) -> Shown:
    if key not in uploads:
        raise ProblemError(f"the uploaded file {key!r} is no longer here; load it again")
    return Shown(uploads[key], repr(uploads[key].name))


def _value(one: Any) -> Any:
    return one.value if isinstance(one, Shown) else one


def _text(one: Any) -> str:
    return one.text if isinstance(one, Shown) else repr(one)
