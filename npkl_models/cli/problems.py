"""``npkl solve`` and ``npkl explain``: one problem and its solution."""

from __future__ import annotations

import argparse

from npkl_models.cli import output
from npkl_models.cli.arguments import asked
from npkl_models.cli.console import printer, say
from npkl_models.show.letters import plain
from npkl_models.solve.choice import choose_backend


def solve(options: argparse.Namespace) -> int:
    """Solve one problem, print and store the solution with its certificate; returns the exit status."""
    output.check(options, out=output.ANSWER, json=output.JSON)
    found = asked(options)
    with output.progress(f"{found.problem.name}, n = {found.problem.n}"):
        solution = found.problem.solve(found.recipe.backend, **found.recipe.solving())
    return output.told(solution, options)


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
