"""``npkl solve``, ``explain``, ``export``, ``certify`` and ``check``: a problem, its answer, their files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npkl_models import checker
from npkl_models.certificates.bounds import FEASIBILITY
from npkl_models.cli import output
from npkl_models.cli.console import printer, say
from npkl_models.crosscheck.outside import judge_file
from npkl_models.errors import ProblemError
from npkl_models.files import saved
from npkl_models.files.gate import is_there
from npkl_models.problem import Problem
from npkl_models.recipe.fields import FIELDS, SOLVER
from npkl_models.recipe.recipe import Recipe, refuse_idle
from npkl_models.show.letters import plain
from npkl_models.solve.choice import choose_backend


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


def solve(options: argparse.Namespace) -> int:
    """Solve one problem, print and store the solution with its certificate; returns the exit status."""
    output.check(options, out=output.ANSWER, json=output.JSON, proof=output.PROOF)
    found = asked(options)
    solving = found.recipe.solving()
    with output.progress(f"{found.problem.name}, n = {found.problem.n}"):
        solution = found.problem.solve(found.recipe.backend, **solving)
    status = output.told(solution, options)
    if options.proof is not None:
        proof = solution.proof(**{name: solving[name] for name in ("tol",) if name in solving})
        proof.save(options.proof)
        say("\n".join([f"{options.proof}: {proof!r}", *proof.check()]))
    return status


def explain(options: argparse.Namespace) -> int:
    """Print a problem, its dual and its compiled forms, or write a page; returns the exit status."""
    output.check(options, page=output.PAGE)
    given = asked(options)
    problem, title = given.problem, given.title
    if options.page is not None:
        with output.progress(f"{problem.name}, n = {problem.n}"):
            problem.handout(options.page)
        say(f"{options.page}: {title}")
        return 0
    explained, dual = problem.explain(), problem.dual()
    parts = [("The problem", explained.text), ("Its dual", dual.text)]
    if options.latex:
        source = "\n".join(
            [dual.latex, dual.slack, *(f"{name}: {latex}" for name, latex in dual.definitions)]
        )
        parts = [("The problem", explained.latex), ("Its dual", source)]
    conditions = "\n".join(
        f"{name}: {latex if options.latex else plain(latex)}" for name, latex in dual.conditions
    )
    findings = "\n".join(str(finding) for finding in problem.diagnose()) or "nothing was found"
    parts += [
        ("Conditions of optimality", conditions), ("What may be wrong with it", findings),
        ("By each backend", str(explained.forms)), ("The choice", str(choose_backend(problem))),
    ]  # fmt: skip
    console = printer()
    console.print(title, style="bold", markup=False)
    for name, text in parts:
        console.print(f"\n{name}", style="bold")
        say(text)
    return 0


def export(options: argparse.Namespace) -> int:
    """Write a problem for other solvers, or read it back; returns the exit status."""
    output.check_file(options.target, "the file to write", (".dat-s", ".npz"))
    if not (is_program(options.source.name) or options.source.suffix == ".npz"):
        raise ProblemError(f"the problem must be a file that ends with .dat-s or .npz, got {options.source}")
    read = Problem.from_sdpa if is_program(options.source.name) else Problem.load
    problem = read(options.source)
    write = problem.to_sdpa if options.target.suffix == ".dat-s" else problem.save
    say(f"{write(options.target)}: {problem!r}")
    return 0


def judge(options: argparse.Namespace) -> int:
    """Certify an answer to a problem in a file; returns the exit status."""
    output.check(options, out=output.ANSWER, json=output.JSON)
    found = judge_file(options.source, options.answer, options.tol, options.feasibility or FEASIBILITY)
    return output.told(found, options)


def check(options: argparse.Namespace) -> int:
    """Check a proof file as `npkl_models.checker` does; returns its exit status."""
    return checker.main([str(options.proof), *["--exact"] * options.exact])
