"""``npkl report``: the cross-check of a problem as one page."""

from __future__ import annotations

import argparse

from npkl_models.cli import output
from npkl_models.cli.arguments import asked
from npkl_models.cli.console import printer
from npkl_models.cli.progress import progress
from npkl_models.crosscheck.run import crosscheck


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.page, "the page", (".html", ".htm"))
    given = asked(options)
    with progress(f"{given.problem.name}, n = {given.problem.n}"):
        found = crosscheck(given.problem, options.backends, n_jobs=options.jobs, **given.recipe.solving())
    found.report(options.page, made=given.made)
    printer().print(f"{options.page}: {found.headline()}", markup=False, highlight=False, soft_wrap=True)
    return 0 if found.agrees else 1
