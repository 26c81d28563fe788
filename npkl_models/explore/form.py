"""What the page asks for: a recipe, files of the reader's own, and a number of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npkl_models.data import datasets
from npkl_models.errors import ProblemError, chosen, unknown
from npkl_models.formulations import FORMULATIONS
from npkl_models.recipe.fields import FIELDS, LONGEST, PAGE, Field, Fields, short
from npkl_models.recipe.names import BASIS
from npkl_models.recipe.recipe import Recipe, fields_of, needs_basis
from npkl_models.routes import backends

CLUSTERS = Field(
    "clusters", "int | None", None, "of kernel k-means", "solver", label="Clusters", empty="as classes", low=1
)
SHOWN = (*(one for one in FIELDS.values() if one.label), CLUSTERS)
FILES = {"data": "data_file", "pairs": "pairs_file"}
"""For each field that may be a file, the one with the key of an upload instead."""


@dataclass(frozen=True)
class Form:
    """The page's fields, checked."""

    recipe: Recipe
    clusters: int | None
    files: Mapping[str, Path]
    """Where the uploaded files of the recipe are."""

    @classmethod
    def of(cls, given: Mapping[str, Any], uploads: Mapping[str, Path]) -> Form:
        """From what the page sent, and its uploads by key: no other file of this machine is read."""
        known = [*(one.name for one in SHOWN), *FILES.values()]
        for name in given:
            if name not in known:
                raise unknown("field", name[:LONGEST], known)
        own = {name: value for name, value in given.items() if name in FIELDS}
        files = {}
        for name, upload in FILES.items():
            key = given.get(upload, "")
            if key not in (None, ""):
                files[name] = _uploaded(upload, key, uploads)
                own[name] = files[name].name
        if "data" not in files:
            data = FIELDS["data"]
            chosen("data set", data.read(own.get("data", data.default))[:LONGEST], datasets.names())
        if "pairs" not in files and isinstance(FIELDS["pairs"].read(own.get("pairs", 1)), str):
            raise ProblemError(f"pairs must be a finite number, got {short(own['pairs'])}")
        return cls(Recipe.from_dict(own, PAGE), CLUSTERS.read(given.get(CLUSTERS.name)), files)

    @property
    def problem_alone(self) -> tuple[Recipe, Mapping[str, Path]]:
        """The part of it that says the problem, not the solve."""
        plain = Fields()
        return replace(
            self.recipe, backend=plain.backend, tol=plain.tol, time_limit=plain.time_limit
        ), self.files


def controls() -> list[dict[str, Any]]:
    """The fields for the page, each with its label, choices and default."""
    names = {"data": datasets.names(), "backend": ["auto", *backends()]}
    return [
        {
            "name": one.name, "label": one.label, "part": one.part, "whole": one.whole, "empty": one.empty,
            "choices": names.get(one.name, list(one.choices)), "default": one.default_in(PAGE),
        }
        for one in SHOWN
    ]  # fmt: skip


def formulations() -> dict[str, dict[str, Any]]:
    """Each formulation with the fields that it has a use for, its first line, and the size of its basis."""
    return {
        name: {
            "fields": [*fields_of(name, ""), CLUSTERS.name],
            "about": (builder.__doc__ or "").strip().split("\n")[0],
            "basis": str(BASIS) if needs_basis(name) else "none",
        }
        for name, builder in FORMULATIONS.items()
    }


def number_of(name: str, value: Any, whole: bool = False) -> Any:
    """The value as a finite float or an int, or a ProblemError that names it."""
    return Field(name, "int" if whole else "float", 0, "", "").read(value)


def _uploaded(name: str, key: Any, uploads: Mapping[str, Path]) -> Path:
    if not isinstance(key, str):
        raise ProblemError(f"{name} must be text, got {short(key)}")
    if key not in uploads:
        raise ProblemError(f"the uploaded file {key[:LONGEST]!r} is no longer here; load it again")
    return uploads[key]
