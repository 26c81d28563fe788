"""The recipe and the problem of a command, made from its arguments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npkl_models.cli.console import say
from npkl_models.errors import ProblemError
from npkl_models.files import saved
from npkl_models.files.gate import is_there
from npkl_models.problem import Problem
from npkl_models.recipe.fields import FIELDS, SOLVER
from npkl_models.recipe.recipe import Recipe, refuse_idle


@dataclass(frozen=True)
class Asked:
    """The problem of a command, and the recipe of its solve."""

    problem: Problem
    title: str
    recipe: Recipe
    made: str  # the Python code that makes the problem


def said(options: argparse.Namespace) -> dict[str, Any]:
    """The fields that are given on the command line, by name."""
    return {name: value for name, value in vars(options).items() if name in FIELDS}


def asked(options: argparse.Namespace) -> Asked:
    """The problem of the options; a saved problem is used as it is."""
    given = said(options)
    file = getattr(options, "problem", None)
    if file is not None:
        if "data" in given:
            raise ProblemError(f"a problem must be a file or --data, got {file} and --data {given['data']}")
        if not (is_program(file) or is_saved(file)):
            raise ProblemError(
                f"the problem must be a saved problem (.npz) or a file in SDPA's sparse format (.dat-s), "
                f"got {file}; points are --data FILE"
            )
        given["data"] = file
    if is_saved(given.get("data", "")) or is_program(given.get("data", "")):
        return _loaded(given)
    recipe = Recipe.from_dict(given)
    made = recipe.made()
    for words in (made.about, made.scales):
        if words:
            say(f"{recipe.data}: {words}")
    return Asked(made.problem, made.title, recipe, made.script.code())


def _loaded(given: Mapping[str, Any]) -> Asked:
    name, solving = given["data"], ("seed", *SOLVER)
    refuse_idle(f"{name}, a saved problem,", ("data", *solving), given)
    recipe = Recipe.from_dict({key: value for key, value in given.items() if key in solving})
    door = "from_sdpa" if is_program(name) else "load"
    code = f"import npkl_models as nm\n\nproblem = nm.Problem.{door}({name!r})\n"
    return Asked(getattr(Problem, door)(name), name, recipe, code)


def is_program(name: str) -> bool:
    """Whether a file has the name of one in SDPA's sparse format."""
    return name.endswith((".dat-s", ".dat-s.gz"))


def is_saved(name: str) -> bool:
    """Whether a file is a saved problem or solution, and not points."""
    return name.endswith(".npz") and is_there(Path(name)) and saved.is_saved(name)
