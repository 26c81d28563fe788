"""The command ``npkl``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import npkl_models
from npkl_models.crosscheck.run import crosscheck
from npkl_models.crosscheck.table import COLUMNS, CrossCheck, cells
from npkl_models.data import datasets
from npkl_models.errors import NPKLError
from npkl_models.linalg import Array, Index
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.formulations import FORMULATIONS
from npkl_models.model.graph import laplacian
from npkl_models.model.losses import LOSSES
from npkl_models.model.pairs import Pairs
from npkl_models.model.problem import Problem
from npkl_models.solve.choice import Backend

NARROW_COLUMNS = ("backend", "status", "objective", "certified gap", "rigour", "seconds", "verdict")
WIDE = 120  # terminal columns that the whole table needs
BASIS = 20  # size of the basis of reg_pcp and reg_mvu
SUBSET = 60  # points of the second table, for an interior-point reference
AGREES, DISAGREES, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(arguments)
    errors = Console(stderr=True)
    try:
        return _crosscheck(options)
    except (NPKLError, OSError) as error:
        errors.print(f"npkl: {error}", style="red", markup=False, highlight=False)
        return USAGE
    except KeyboardInterrupt:
        errors.print("npkl: interrupted", style="red")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="npkl", description="Non-parametric kernel learning: exact and fast solvers, compared."
    )
    parser.add_argument("--version", action="version", version=npkl_models.__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    check = commands.add_parser(
        "crosscheck",
        help="solve one problem by every backend and compare the answers",
        description="Solve one problem by every backend that takes it and compare. Exit status: 0 if all "
        "agree, 1 if one does not, 2 on bad usage.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = check.add_argument
    add("--data", default="iris", metavar="NAME", help=f"one of {', '.join(datasets.names())}")
    add("--data-home", metavar="DIR", help=f"data folder; else ${datasets.FOLDER_VARIABLE}")
    add("--n", type=int, metavar="N", help="only N points, drawn at random")
    add("--formulation", default="pcp", choices=sorted(FORMULATIONS))
    add("--loss", default="squared_hinge", choices=sorted(LOSSES), help="not for pcp")
    add("--backends", metavar="A,B", help="names such as bcd,admm,sdp[SCS]; all by default")
    add("--gamma", type=float, default=1.0, help="weight of the pairs (C for simple_npkl)")
    add("--delta", type=float, default=0.1, help="shift of the Laplacian")
    add("--n-neighbors", type=int, default=5)
    add("--pairs", type=float, default=0.6, help="must-links and cannot-links, each this times n")
    add("--row-norm", type=float, metavar="b", help="row-norm bound, for npkl")
    add("--p", type=float, default=2.0, help="power of the trace regulariser, for simple_npkl")
    add("--bound", type=float, metavar="B", help="tr K^p <= B, for simple_npkl; n if no --penalty")
    add("--penalty", type=float, metavar="G", help="G/p tr K^p instead, for simple_npkl")
    add("--n-basis", type=int, metavar="S", help="K = QUQ' over S eigenvectors; 20 for reg_pcp and reg_mvu")
    add("--nu", type=float, default=100.0, help="weight of the distances, for reg_mvu")
    add("--tol", type=float, default=1e-6, help="target of the relative gap")
    add("--seed", type=int, default=0, help="of pairs, subset and starts")
    add("--jobs", type=int, default=1, help="processes")
    add("--json", type=Path, metavar="FILE", help="write the table as JSON")
    add("--report", type=Path, metavar="FILE", help="write the table as an HTML page")
    return parser


def _crosscheck(options: argparse.Namespace) -> int:
    console = Console()
    data = datasets.load(options.data, options.data_home)
    X, y = (data.X, data.y) if options.n is None else _subset(data.X, data.y, options.n, options.seed)
    backends = None if options.backends is None else options.backends.split(",")
    found = _run(console, _problem(X, y, options), backends, options)
    document: dict[str, Any] = json.loads(found.to_json())
    agrees = found.agrees
    _show(console, found, f"{data.name} ({data.origin})", backends is not None)
    if backends is None and len(y) > SUBSET:
        small = _problem(*_subset(X, y, SUBSET, options.seed), options)
        second = _run(console, small, None, options)
        _show(console, second, f"{data.name}, {SUBSET} points (interior point as the reference)", False)
        document["subset"] = json.loads(second.to_json())
        agrees = agrees and second.agrees
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=2), encoding="utf-8")
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

        given: dict[str, Any] = {"tol": options.tol}
        if any("random_state" in b.option_names for b in _chosen(backends)):
            given["random_state"] = options.seed
        return crosscheck(problem, backends, n_jobs=options.jobs, progress=progress, **given)


def _chosen(backends: Sequence[str] | None) -> list[Backend]:
    known = npkl_models.solve.choice()
    names = list(known) if backends is None else [label.split("[")[0] for label in backends]
    return [known[name] for name in names if name in known]


def _problem(X: Array, y: Index, options: argparse.Namespace) -> Problem:
    name, size = options.formulation, options.n_basis or BASIS
    if name == "mvu":
        return npkl_models.mvu(X, options.n_neighbors)
    if name == "reg_mvu":
        return npkl_models.reg_mvu(X, options.n_neighbors, size, options.nu)
    n = len(y)
    count = round(options.pairs * n)
    pairs = Pairs.from_labels(y, count, count, options.seed)
    L = laplacian(X, options.n_neighbors, shift=options.delta)
    if name == "hard_pcp":
        return npkl_models.hard_pcp(L, pairs)
    if name == "reg_pcp":
        return npkl_models.reg_pcp(eigenbasis(L, size), pairs)
    if name == "pcp":
        problem = npkl_models.pcp(L, pairs, gamma=options.gamma)
    elif name == "npkl":
        problem = npkl_models.npkl(
            L, pairs, loss=options.loss, gamma=options.gamma, row_norm=options.row_norm
        )
    else:
        bound = n if options.bound is None and options.penalty is None else options.bound
        problem = npkl_models.simple_npkl(
            L, pairs, loss=options.loss, C=options.gamma, p=options.p, bound=bound, penalty=options.penalty
        )
    return problem if options.n_basis is None else problem.with_basis(eigenbasis(L, options.n_basis))


def _subset(X: Array, y: Index, n: int, seed: int) -> tuple[Array, Index]:
    if not 2 <= n <= len(y):
        raise npkl_models.ProblemError(f"--n must be between 2 and {len(y)}, got {n}")
    chosen = np.sort(np.random.default_rng(seed).permutation(len(y))[:n])
    return X[chosen], y[chosen]


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


if __name__ == "__main__":
    sys.exit(main())
