"""``npkl solve``: solve one problem, print what is proved of the answer, and keep it."""

from __future__ import annotations

import argparse

from npkl_models.cli import output
from npkl_models.cli.arguments import asked
from npkl_models.cli.console import printer
from npkl_models.cli.progress import progress


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.out)
    found = asked(options)
    with progress(f"{found.problem.name}, n = {found.problem.n}"):
        solution = found.problem.solve(found.recipe.backend, **found.recipe.solving())
    printer().print(solution.summary(), markup=False, highlight=False, soft_wrap=True)
    if options.out is not None:
        output.write(options.out, solution)
    return output.status_of(solution)
