"""``npkl explain``: a problem, its dual, the conditions of optimality, and what each backend makes of it."""

from __future__ import annotations

import argparse

from npkl_models.cli import output
from npkl_models.cli.arguments import asked
from npkl_models.cli.console import printer
from npkl_models.cli.progress import progress
from npkl_models.show.letters import plain
from npkl_models.solve.choice import choose_backend


def run(options: argparse.Namespace) -> int:
    """Print it; returns the exit status."""
    output.check(options.page, "--page", (".html", ".htm"))
    given = asked(options)
    problem, title = given.problem, given.title
    if options.page is not None:
        with progress(f"{problem.name}, n = {problem.n}"):
            problem.handout(options.page)
        printer().print(f"{options.page}: {title}", markup=False, highlight=False, soft_wrap=True)
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
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    return 0
