"""``npkl path``: the same problem for several values of a parameter, with warm starts."""

from __future__ import annotations

import argparse

import numpy as np

import npkl_models.show.plots as plots
from npkl_models.answer.solution import Status
from npkl_models.cli import output
from npkl_models.cli.console import new_table, printer, say
from npkl_models.cli.problems import asked
from npkl_models.errors import ProblemError
from npkl_models.path import Path as Answers
from npkl_models.path import regularization_path

COLUMNS = ("objective", "certified gap", "rigour", "rank", "iterations", "seconds", "status")


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options, out=output.JSON, json=output.JSON, plot=output.PICTURE)
    grid = values(options.values)
    whole = isinstance(grid, tuple)
    given = asked(options)
    solving = given.recipe.solving()
    if whole:
        solving["tol"] = options.within
    with output.progress(
        f"{given.problem.name}, n = {given.problem.n}, {options.parameter} {options.values}"
    ):
        found = regularization_path(
            given.problem, options.parameter, grid, given.recipe.backend, n_jobs=options.jobs, **solving
        )
    _show(found, given.title)
    rows = [
        {found.parameter: value, **output.described(solution)}
        for value, solution in zip(found.values.tolist(), found.solutions, strict=True)
    ]
    for path in (options.out, options.json):
        if path is not None:
            output.write_document(path, rows)
    if options.plot is not None:
        drawn = plots.envelopes(found)[0] if whole else plots.path(found)
        output.write_picture(options.plot, drawn)
    if whole:
        say(str(found))
        return 1 if found.uncovered else 0
    return 0 if all(solution.status is Status.OPTIMAL for solution in found.solutions) else 1


def values(text: str) -> list[float] | tuple[float, float]:
    """The numbers of ``A:B:N`` or ``A,B,C`` as a list, or the two ends of the interval ``A:B``."""
    try:
        if ":" in text:
            first, last, *count = text.split(":")
            if not count:
                return float(first), float(last)
            return list(map(float, np.geomspace(float(first), float(last), int(*count))))
        return [float(part) for part in text.split(",")]
    except (ValueError, TypeError):
        raise ProblemError(
            f"--values must be A:B or A:B:N with positive A and B, or A,B,C; got {text!r}"
        ) from None


def _show(found: Answers, title: str) -> None:
    table = new_table((found.parameter, *COLUMNS), title, right=(found.parameter, *COLUMNS[:-1]))
    for value, solution in zip(found.values, found.solutions, strict=True):
        gap = solution.certificate if solution.V is not None else None
        table.add_row(
            f"{value:.4g}", f"{solution.objective:.8g}", "" if gap is None else f"{gap.relative_gap:.1e}",
            "" if gap is None else gap.rigour, str(solution.rank), str(solution.iterations),
            f"{solution.solve_time:.2f}", str(solution.status),
        )  # fmt: skip
    printer().print(table)
