"""``npkl report``: the cross-check of a problem as one page."""

from __future__ import annotations

import argparse

from npkl_models.cli import output
from npkl_models.cli.arguments import problem_of
from npkl_models.cli.console import printer
from npkl_models.cli.progress import progress
from npkl_models.crosscheck.run import crosscheck


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
