"""``npkl crosscheck``: solve one problem by every backend and compare the answers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from npkl_models.cli import output
from npkl_models.cli.arguments import is_saved, load, problem_of
from npkl_models.cli.console import printer
from npkl_models.crosscheck.run import crosscheck
from npkl_models.crosscheck.table import COLUMNS, CrossCheck, cells
from npkl_models.files.atomic import write_json
from npkl_models.problem import Problem
from npkl_models.routes import backends as known_backends
from npkl_models.solve.backend import PRINTED

NARROW_COLUMNS = ("backend", "status", "objective", "certified gap", "rigour", "seconds", "verdict")
WIDE = 120  # terminal columns that the whole table needs
SUBSET = 60  # points of the second table, for an interior-point reference
AGREES, DISAGREES = 0, 1


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.json, "--json", (".json",))
    output.check(options.report, "--report", (".html", ".htm"))
    console = printer()
    given = None if is_saved(options.data) else load(options)
    problem, title = problem_of(options) if given is None else (given.problem(), given.title)
    backends = None if options.backends is None else options.backends.split(",")
    found = _run(console, problem, backends, options)
    document: dict[str, Any] = json.loads(found.to_json())
    agrees = found.agrees
    _show(console, found, title, backends is not None)
    if given is not None and backends is None and given.share is not None and given.n > SUBSET:
        second = _run(console, given.subset(SUBSET).problem(), None, options)
        _show(console, second, f"{given.title}, {SUBSET} points (interior point as the reference)", False)
        document["subset"] = json.loads(second.to_json())
        agrees = agrees and second.agrees
    if options.json is not None:
        write_json(options.json, document, indent=2)
    if options.report is not None:
        found.report(options.report)
    console.print("all agree" if agrees else "NOT all agree", style="green" if agrees else "red")
    return AGREES if agrees else DISAGREES


def _run(
    console: Console, problem: Problem, backends: Sequence[str] | None, options: argparse.Namespace
) -> CrossCheck:
    with console.status("compiling") as status:

        def progress(label: str) -> None:
            status.update(f"{problem.name}, n = {problem.n}: {label} is running")

        known = known_backends() | known_backends(PRINTED)
        chosen = known_backends() if backends is None else [label.split("[")[0] for label in backends]
        given: dict[str, Any] = {"tol": options.tol}
        if any("random_state" in known[name].option_names for name in chosen if name in known):
            given["random_state"] = options.seed
        return crosscheck(
            problem, backends, n_jobs=options.jobs, progress=progress, folder=options.resume, **given
        )


def _show(console: Console, found: CrossCheck, title: str, named: bool) -> None:
    shown = COLUMNS if console.width >= WIDE else NARROW_COLUMNS
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in shown:
        left = name in ("backend", "status", "verdict")
        table.add_column(name, justify="left" if left else "right", no_wrap=name != "verdict")
    declined = {name: why for name, why in found.problem.compatible_backends().items() if why and not named}
    for row in (row for row in found.rows if row.backend not in declined):
        tone = "green" if row.verdict == "agrees" else "dim" if not row.ran else "red"
        text = dict(zip(COLUMNS, cells(row), strict=True))
        text["verdict"] = f"[{tone}]{escape(text['verdict'])}[/{tone}]"
        table.add_row(*(text[name] for name in shown))
    console.print(table)
    if declined:
        line = f"Not for this problem: {', '.join(declined)} (--json has the reasons)"
        console.print(line, style="dim", markup=False, highlight=False)
    console.print(f"{found.headline()}\n", markup=False, highlight=False)
