"""A recipe: data, graph, pairs, formulation, loss, backend and options as one checked value."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npkl_models.data import tables
from npkl_models.errors import ProblemError, unknown
from npkl_models.formulations import FORMULATIONS
from npkl_models.recipe.fields import FIELDS, LONGEST, Fields
from npkl_models.recipe.made import FROM_POINTS, Change, Made, make, told_by
from npkl_models.routes import get_backend


@dataclass(frozen=True)
class Recipe(Fields):
    """A problem and its solve as one value, from which problem, code and command are made.

    The fields are those of `Fields`; `FIELDS` has their texts, defaults and ranges.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.backend != "auto":
            get_backend(self.backend)
        self._refuse_idle(self.differing)

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the fields that data and formulation use."""
        found = fields_of(self.formulation, self.data)
        return found if told_by(self) is None else tuple(name for name in found if name not in FROM_POINTS)

    @property
    def differing(self) -> tuple[str, ...]:
        """The names of the fields whose value is not the default."""
        return tuple(name for name, field in FIELDS.items() if getattr(self, name) != field.default)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], place: str = "") -> Recipe:
        """Make a recipe from values by name, as text or JSON; other fields have the defaults of the place."""
        for name in given:
            if name not in FIELDS:
                raise unknown("field", name[:LONGEST], FIELDS)
        found = cls(**given)
        found._refuse_idle(given)
        special = {name: FIELDS[name].default_in(place) for name in found.used if name not in given}
        return replace(found, **special)

    def _refuse_idle(self, given: Iterable[str]) -> None:
        refuse_idle(f"{self.formulation} on {told_by(self) or self.data}", self.used, given)

    def made(self, files: Mapping[str, Path] | None = None, change: Change | None = None) -> Made:
        """The problem with its lines of code; ``files`` and ``change`` are as in `make`."""
        return make(self, files or {}, change)

    def solving(self, *backends: str) -> dict[str, Any]:
        """The keywords of `Problem.solve`, for the recipe's own backend or for the given ones."""
        given = {name: getattr(self, name) for name in ("tol", "feasibility", "time_limit", "rigour")}
        named = [get_backend(name) for name in backends or (self.backend,) if name != "auto"]
        if self.seed and any("random_state" in backend.option_names for backend in named):
            given["random_state"] = self.seed  # 0 is the default of random_state
        return {key: value for key, value in given.items() if value is not None}

    def command(self, name: str = "solve") -> str:
        """The shell command that does the same; ``name`` is the command of npkl."""
        words = ["npkl", name]
        for key in self.differing:
            text = str(getattr(self, key))
            option = FIELDS[key].option
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]  # "-1" is no option
        return shlex.join(words)


def fields_of(formulation: str, data: str) -> tuple[str, ...]:
    """The names of the fields that a formulation uses on a data set or a file of this name."""
    about = set(inspect.signature(FORMULATIONS[formulation]).parameters)
    if not needs_basis(formulation):
        about.discard("basis")
    if "L" in about and "reduce" not in about:
        about.add("basis")  # a basis can be added to a problem without a basis
    if tables.is_csv(data):
        about.add("csv")
    elif not tables.is_file(data):
        about.add("set")
    return tuple(name for name, field in FIELDS.items() if not field.of or about & set(field.of))


def needs_basis(formulation: str) -> bool:
    """Whether a formulation always has a basis."""
    about = inspect.signature(FORMULATIONS[formulation]).parameters
    return "n_basis" in about or ("basis" in about and about["basis"].default is inspect.Parameter.empty)


def refuse_idle(subject: str, used: Collection[str], given: Iterable[str]) -> None:
    """Raise an error if a given field is not ``used``."""
    idle = [name for name in given if name not in used]
    if idle:
        raise ProblemError(
            f"{subject} must be given only what it uses, got {', '.join(idle)}; it uses {', '.join(used)}"
        )
