"""``npkl report``: the cross-check of a problem as one page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from npkl_models.cli import output
from npkl_models.cli.arguments import add_problem, jobs, parser_of, problem_of
from npkl_models.cli.console import printer
from npkl_models.cli.progress import progress
from npkl_models.crosscheck.run import crosscheck

EXAMPLES = """examples:
  npkl report --data wine --n 80 report.html
  npkl report --data my.csv --pairs pairs.csv --backends bcd,interior report.html"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = parser_of(
        commands, "report", "cross-check a problem and write one HTML page",
        "Solve one problem by every backend and write tables, figures, versions and machine as one page that "
        "needs nothing else. Exit status as crosscheck's.", EXAMPLES,
    )  # fmt: skip
    add_problem(parser)
    add = parser.add_argument
    add("page", type=Path, help="the file to write, .html")
    add("--backends", metavar="A,B", help="all by default")
    add("--tol", type=float, default=1e-6, help="target of the relative gap")
    add("--jobs", type=jobs, default=1, help="processes")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.page, "the page", (".html", ".htm"))
    problem, _ = problem_of(options)
    backends = None if options.backends is None else options.backends.split(",")
    with progress(f"{problem.name}, n = {problem.n}"):
        found = crosscheck(problem, backends, n_jobs=options.jobs, tol=options.tol)
    found.report(options.page)
    printer().print(f"{options.page}: {found.headline()}", markup=False, highlight=False, soft_wrap=True)
    return 0 if found.agrees else 1
