"""``npkl solve``, ``npkl explain``, ``npkl export`` and ``npkl explore``: one problem and its answer."""

from __future__ import annotations

import argparse

from npkl_models.cli import output
from npkl_models.cli.arguments import asked
from npkl_models.cli.console import printer, say
from npkl_models.crosscheck.outside import judge_sdpa
from npkl_models.data.sdpa import from_sdpa, to_sdpa
from npkl_models.errors import ProblemError
from npkl_models.explore.server import serve
from npkl_models.problem import Problem
from npkl_models.show.letters import plain
from npkl_models.solve.choice import choose_backend


def solve(options: argparse.Namespace) -> int:
    """Solve one problem, print what is proved of the answer, and keep it; returns the exit status."""
    output.check(options.out)
    found = asked(options)
    with output.progress(f"{found.problem.name}, n = {found.problem.n}"):
        solution = found.problem.solve(found.recipe.backend, **found.recipe.solving())
    say(solution.summary())
    if options.out is not None:
        output.write(options.out, solution)
    return output.status_of(solution)


def explain(options: argparse.Namespace) -> int:
    """Print a problem, its dual and its compiled forms, or write a page; returns the exit status."""
    output.check(options.page, "--page", output.PAGE)
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
    """Write a problem for other solvers, or judge an answer of theirs; returns the exit status."""
    output.check(options.out)
    output.check(options.target, "the file to write", (".dat-s", ".npz"))
    if not options.source.name.endswith((".dat-s", ".npz")):
        raise ProblemError(f"the problem must be a file that ends with .dat-s or .npz, got {options.source}")
    if options.out is not None and options.answer is None:
        raise ProblemError("--out must go with --answer FILE, whose judged answer it keeps; got none")
    if options.target is None and options.answer is None:
        raise ProblemError("export must have a file to write, or --answer FILE; got neither")
    problem = from_sdpa(options.source) if options.source.suffix == ".dat-s" else Problem.load(options.source)
    if options.target is not None:
        written = (
            to_sdpa(problem, options.target)
            if options.target.suffix == ".dat-s"
            else problem.save(options.target)
        )
        say(f"{written}: {problem!r}")
    if options.answer is None:
        return 0
    found = judge_sdpa(problem, options.answer, options.tol)
    say(found.summary())
    if options.out is not None:
        output.write(options.out, found)
    return output.status_of(found)


def explore(options: argparse.Namespace) -> int:
    """Serve a local page for exploring formulations until interrupted; returns the exit status."""

    def announce(address: str) -> None:
        say(f"npkl explore is at {address}")
        say("Ctrl-C ends it.")

    serve(options.port, browser=not options.no_browser, announce=announce)
    return 0
