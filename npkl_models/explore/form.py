"""The form of the page: a recipe, uploaded files, fields that only the page has, and wrong pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.applications.audit import audit_pairs
from npkl_models.data import datasets
from npkl_models.errors import ProblemError, chosen, unknown
from npkl_models.formulations import FORMULATIONS
from npkl_models.formulations.distances import KINDS
from npkl_models.linalg import Index
from npkl_models.model.pairs import Pairs
from npkl_models.recipe.fields import FIELDS, LONGEST, PAGE, Field, Fields, short
from npkl_models.recipe.made import FROM_POINTS, Change, Made
from npkl_models.recipe.names import BASIS
from npkl_models.recipe.recipe import Recipe, fields_of, needs_basis
from npkl_models.recipe.script import Script, Shown
from npkl_models.routes import backends

INT = ("int | None", None)
OWN = (
    Field(
        "wrong", "float | None", None, "of the drawn pairs, which get the wrong kind", "pairs",
        label="Share of wrong pairs", low=0, high=0.5, of=("pairs",),
    ),
    Field("rank", *INT, "columns of the factor", "solver", label="Rank r", empty="auto", low=1),
    Field("max_iter", *INT, "at most", "solver", label="Iterations at most", empty="auto", low=1),
    Field("clusters", *INT, "of kernel k-means", "solver", label="Clusters", empty="as classes", low=1),
)  # fmt: skip
"""The fields that only the page has."""
LISTED = 10  # suspicious pairs that the page lists
SHOWN = (*(one for one in FIELDS.values() if one.label), *OWN)
FILES = {name: f"{name}_file" for name in ("data", "pairs", "comparisons", "distances", "anchors")}
"""For each field that may be a file, the field with the key of an upload."""


@dataclass(frozen=True)
class Form:
    """The checked fields of the page; ``files`` are the paths of the uploaded files of the recipe."""

    recipe: Recipe
    files: Mapping[str, Path]
    wrong: float | None = None
    rank: int | None = None
    max_iter: int | None = None
    clusters: int | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], uploads: Mapping[str, Path]) -> Form:
        """Make a form from the fields that the page sent; only uploaded files can be read."""
        known = [*(one.name for one in SHOWN), *FILES.values()]
        for name in given:
            if name not in known:
                raise unknown("field", name[:LONGEST], known)
        own, files = {name: value for name, value in given.items() if name in FIELDS}, {}
        for name, upload in FILES.items():
            key = given.get(upload, "")
            if key not in (None, ""):
                if not isinstance(key, str):
                    raise ProblemError(f"{upload} must be text, got {short(key)}")
                if key not in uploads:
                    gone = f"the uploaded file {key[:LONGEST]!r} is no longer here"
                    raise ProblemError(f"{gone}; load it again")
                files[name] = uploads[key]
                own[name] = files[name].name
        _read_no_other_file(own, files)
        if not files.keys().isdisjoint(("comparisons", "distances")):  # the page sends its fields of points
            own = {name: value for name, value in own.items() if name not in FROM_POINTS}
        elif files:
            own.setdefault("n", None)  # all points of a file are used
        return cls(Recipe.from_dict(own, PAGE), files, *(one.read(given.get(one.name)) for one in OWN))

    @property
    def problem_alone(self) -> tuple[Recipe, Mapping[str, Path], float | None]:
        """The part of the form that defines the problem, without the solve."""
        plain = Fields()
        recipe = replace(self.recipe, backend=plain.backend, tol=plain.tol, time_limit=plain.time_limit)
        return recipe, self.files, self.wrong

    def made(self) -> Made:
        """The problem, with its lines of code."""
        if self.wrong and "pairs" in self.files:
            drawn = "pairs that are drawn from classes"
            raise ProblemError(f"wrong pairs must be among {drawn}, got a file of pairs")
        return self.recipe.made(self.files, changer(self.wrong, self.recipe.seed) if self.wrong else None)

    def solving(self, *backends: str) -> dict[str, Any]:
        """The keywords of `Problem.solve`, for the form's own backend or for the given ones."""
        given = {"rank": self.rank, "max_iter": self.max_iter}
        return self.recipe.solving(*backends) | {key: one for key, one in given.items() if one is not None}

    def solving_words(self, *backends: str) -> str:
        """The same keywords as Python code."""
        return ", ".join(f"{key}={value!r}" for key, value in self.solving(*backends).items())

    def command(self) -> str:
        """The command that solves the same problem, or a comment with the reason why there is none."""
        without = [name for name in ("wrong", "rank", "max_iter") if getattr(self, name) is not None]
        if without:
            return f"# npkl solve has no option for {', '.join(without)}: use the Python code"
        return self.recipe.command()


def controls() -> list[dict[str, Any]]:
    """The fields for the page, each with its label, choices and default."""
    names = {"data": datasets.names(), "backend": ["auto", *backends(), *backends("printed")]}
    return [
        {
            "name": one.name, "label": one.label, "part": one.part, "whole": one.whole, "empty": one.empty,
            "choices": names.get(one.name, [""] * bool(one.choices and "None" in one.kind) + [*one.choices]),
            "default": one.default_in(PAGE),
        }
        for one in SHOWN
    ]  # fmt: skip


def formulations() -> dict[str, dict[str, Any]]:
    """For each formulation: its fields, its summary, the size of its basis, and the losses if not all."""
    out = {}
    for name, builder in FORMULATIONS.items():
        used = (*fields_of(name, ""), "labels", "ids")  # the last two of a csv
        out[name] = {
            "fields": [*used, *(one.name for one in OWN if not one.of or set(one.of) & set(used))],
            "about": (builder.__doc__ or "").strip().split("\n")[0],
            "basis": str(BASIS) if needs_basis(name) else "none",
            "losses": list(KINDS) if name == "distances" else [],
        }
    return out


def number_of(name: str, value: Any, whole: bool = False) -> Any:
    """The value as a finite float or an int; any other value raises a ProblemError that names the field."""
    return Field(name, "int" if whole else "float", 0, "", "").read(value)


def _read_no_other_file(own: Mapping[str, Any], files: Mapping[str, Path]) -> None:
    """An error if a field that may be a file names one that is not uploaded."""
    if "data" not in files:
        data = FIELDS["data"]
        chosen("data set", data.read(own.get("data", data.default))[:LONGEST], datasets.names())
    for name, kind in (("pairs", "a finite number"), ("anchors", "an integer")):
        given = own.get(name, FIELDS[name].default)
        if name not in files and isinstance(FIELDS[name].read(given), str):
            raise ProblemError(f"{name} must be {kind}, got {short(given)}")


def with_mistakes(pairs: Pairs, share: float, seed: int = 0) -> Pairs:
    """The same pairs, with the other kind for a share of those that need not hold, drawn by a seed."""
    must, soft = pairs.sign > 0, np.flatnonzero(np.isfinite(pairs.confidence))
    must[np.random.default_rng(seed).choice(soft, round(share * soft.size), replace=False)] ^= True
    weights = None if pairs.weights is None else pairs.weights[np.argsort(~must, kind="stable")]
    return Pairs(pairs.n, pairs.ends[must], pairs.ends[~must], weights)


def changer(share: float, seed: int) -> Change:
    """A step of `make` that changes the kind of a share of the pairs."""

    def change(script: Script, pairs: Shown) -> Shown:
        if pairs.value is None or not isinstance(pairs.value, Pairs):
            raise ProblemError("wrong pairs must be among drawn pairs, got a problem without them")
        script.imports.append(f"from {__name__} import with_mistakes")
        return script.do("pairs", with_mistakes, "with_mistakes", pairs, share, seed)

    return change


def audited(solution: Solution, labels: Index) -> dict[str, Any]:
    """The first pairs of the audit, and how many of the first w pairs are wrong, if w pairs are wrong."""
    found = audit_pairs(solution)
    i, j = found.pairs.T
    wrong = found.must != (labels[i] == labels[j])
    count = int(np.sum(wrong))
    rows = [
        {"pair": f"{i[k]} – {j[k]}", "kind": "must-link" if found.must[k] else "cannot-link"}
        | {name: getattr(found, name)[k] for name in ("value", "expected", "score")}
        | {"wrong": wrong[k]}
        for k in range(min(LISTED, len(found)))
    ]
    return {"wrong": count, "pairs": len(found), "found": int(np.sum(wrong[:count])), "rows": rows}
