"""A recipe: data, graph, pairs, formulation, loss, backend and options as one checked value."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npkl_models.data import tables
from npkl_models.errors import ProblemError, unknown
from npkl_models.formulations import FORMULATIONS
from npkl_models.problem import Problem
from npkl_models.recipe.fields import FIELDS, LONGEST, Fields
from npkl_models.recipe.made import Change, Made, make
from npkl_models.routes import get_backend


@dataclass(frozen=True)
class Recipe(Fields):
    """A problem and its solve as one value, of which problem, code and command are made.

    Its fields are those of `Fields`, with the words, defaults and ranges of `FIELDS` beside it.

    Raises
    ------
    ProblemError
        For a value out of range, and for one that the formulation or the data have no use for.
    UnsupportedError
        For a formulation, loss or backend that does not exist.

    Examples
    --------
    >>> from npkl_models.recipe.recipe import Recipe
    >>> recipe = Recipe(formulation="npkl", loss="hinge", n=20)
    >>> recipe.command()
    'npkl solve --n 20 --formulation npkl --loss hinge'
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.backend != "auto":
            get_backend(self.backend)
        self._refuse_idle(self.differing)

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the fields that data and formulation have a use for."""
        return fields_of(self.formulation, self.data)

    @property
    def differing(self) -> tuple[str, ...]:
        """Names of the fields that are not as their defaults."""
        return tuple(name for name, field in FIELDS.items() if getattr(self, name) != field.default)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], place: str = "") -> Recipe:
        """From values by name, as text or JSON has them; the others have the defaults of the place.

        A field that is idle is refused whatever its value, and so is a name that is none of a field.
        """
        for name in given:
            if name not in FIELDS:
                raise unknown("field", name[:LONGEST], FIELDS)
        found = cls(**given)
        found._refuse_idle(given)
        special = {name: FIELDS[name].default_in(place) for name in found.used if name not in given}
        return replace(found, **special)

    def to_dict(self) -> dict[str, Any]:
        """The fields in use, for JSON."""
        return {name: getattr(self, name) for name in self.used}

    def _refuse_idle(self, given: Iterable[str]) -> None:
        refuse_idle(f"{self.formulation} on {self.data}", self.used, given, _takers)

    def made(self, files: Mapping[str, Path] | None = None, change: Change | None = None) -> Made:
        """The problem with its lines of code; ``files`` and ``change`` as `make` has them."""
        return make(self, files or {}, change)

    def problem(self) -> Problem:
        """The problem."""
        return self.made().problem

    def solving(self, *backends: str) -> dict[str, Any]:
        """What is said of the solve, as keywords of `Problem.solve`, for its own backend or for others."""
        given = {"tol": self.tol, "time_limit": self.time_limit, "rigour": self.rigour}
        named = [get_backend(name) for name in backends or (self.backend,) if name != "auto"]
        if self.seed and any("random_state" in backend.option_names for backend in named):
            given["random_state"] = self.seed  # 0 is its default
        return {key: value for key, value in given.items() if value is not None}

    def solving_words(self, *backends: str) -> str:
        """The same as it is written."""
        return ", ".join(f"{key}={value!r}" for key, value in self.solving(*backends).items())

    def code(self) -> str:
        """The Python program that makes the problem and solves it."""
        solve = f"solution = problem.solve({self.backend!r}, {self.solving_words()})"
        return self.made().script.code(solve, "print(solution.summary())")

    def command(self, name: str = "solve") -> str:
        """The line of a shell that does the same; ``name`` is the command of npkl."""
        words = ["npkl", name]
        for key in self.differing:
            text = str(getattr(self, key))
            option = FIELDS[key].option
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]  # no option itself
        return shlex.join(words)


def fields_of(formulation: str, data: str) -> tuple[str, ...]:
    """Names of the fields that a formulation has a use for, on a set or file of such a name."""
    about = set(inspect.signature(FORMULATIONS[formulation]).parameters)
    if not needs_basis(formulation):
        about.discard("basis")
    if "L" in about and "reduce" not in about:
        about.add("basis")  # which can be taken, if there is none yet
    if tables.is_csv(data):
        about.add("csv")
    elif not tables.is_file(data):
        about.add("set")
    return tuple(name for name, field in FIELDS.items() if not field.of or about & set(field.of))


def needs_basis(formulation: str) -> bool:
    """Whether it has a basis, of the size that is asked for or another."""
    about = inspect.signature(FORMULATIONS[formulation]).parameters
    return "n_basis" in about or ("basis" in about and about["basis"].default is inspect.Parameter.empty)


def refuse_idle(
    subject: str, used: Collection[str], given: Iterable[str],
    elsewhere: Callable[[Collection[str]], str] = lambda idle: "",
) -> None:  # fmt: skip
    """Raise an error if a field is given that is not ``used``; the error says where ``elsewhere`` it is."""
    idle = [name for name in given if name not in used]
    if idle:
        raise ProblemError(
            f"the fields of {subject} must be among {', '.join(used)}, got {', '.join(idle)}{elsewhere(idle)}"
        )


def _takers(idle: Collection[str]) -> str:
    """Which formulations take the fields that this one fixes or does not have."""
    words = []
    for name in idle:
        takers = [form for form in sorted(FORMULATIONS) if name in fields_of(form, "iris")]
        if 0 < len(takers) < len(FORMULATIONS):
            words.append(f"{name} is a choice in {', '.join(takers)} and fixed, or absent, here")
    return f" ({'; '.join(words)})" if words else ""
