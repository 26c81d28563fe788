"""``npkl crosscheck``: one problem with every backend, as a table or a page."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console
from rich.markup import escape

from npkl_models.cli import output
from npkl_models.cli.console import new_table, printer, say
from npkl_models.cli.problems import asked
from npkl_models.crosscheck.outside import answer_of
from npkl_models.crosscheck.run import crosscheck
from npkl_models.crosscheck.table import COLUMNS, LEFT, NARROW_COLUMNS, CrossCheck, cells
from npkl_models.errors import ProblemError
from npkl_models.problem import Problem
from npkl_models.routes import backends as known_backends

WIDE = 120  # terminal columns that the whole table needs


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options, json=output.JSON, report=output.PAGE)
    console = printer()
    given, names = asked(options), options.backends
    problem = given.problem
    with console.status("compiling") as status:

        def progress(label: str) -> None:
            status.update(f"{problem.name}, n = {problem.n}: {label} is running")

        chosen = known_backends() if names is None else [label.split("[")[0] for label in names]
        found = crosscheck(
            problem, names, _points(options.point, problem), n_jobs=options.jobs, progress=progress,
            folder=options.resume,
            **given.recipe.solving(*chosen),
        )  # fmt: skip
    _show(console, found, given.title, names is not None)
    if options.json is not None:
        output.write_document(options.json, json.loads(found.to_json()))
    if options.report is not None:
        found.report(options.report, made=given.made)
    agrees = found.agrees
    console.print("all agree" if agrees else "NOT all agree", style="green" if agrees else "red")
    return 0 if agrees else 1


def _points(given: list[str], problem: Problem) -> dict[str, Any]:
    """The answers of NAME=FILE by name."""
    out: dict[str, Any] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not (name and equals and path):
            raise ProblemError(f"--point must be NAME=FILE, got {one!r}")
        if name in out:
            raise ProblemError(f"--point must have names of their own, got {name!r} twice")
        out[name] = answer_of(path, problem)
    return out


def _show(console: Console, found: CrossCheck, title: str, named: bool) -> None:
    shown = COLUMNS if console.width >= WIDE else NARROW_COLUMNS
    table = new_table(shown, title, right={*shown} - {*LEFT})
    declined = {name: why for name, why in found.problem.compatible_backends().items() if why and not named}
    for row in (row for row in found.rows if row.backend not in declined):
        tone = "green" if row.verdict == "agrees" else "dim" if not row.ran else "red"
        text = dict(zip(COLUMNS, cells(row), strict=True))
        text["verdict"] = f"[{tone}]{escape(text['verdict'])}[/{tone}]"
        table.add_row(*(text[name] for name in shown))
    console.print(table)
    if declined:
        line = f"Not for this problem: {', '.join(declined)} (--json has the reasons)"
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    say(f"{found.headline()}\n")
