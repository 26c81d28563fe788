"""``npkl cluster``: from a table and pairs to a label for each point, by a kernel that is proved optimal."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.applications.estimators.base import FORMULATIONS
from npkl_models.applications.estimators.side import landmark_pairs
from npkl_models.applications.selection import SCALINGS
from npkl_models.cli import output
from npkl_models.cli.arguments import add_solver, parser_of, solver_options, whole
from npkl_models.cli.console import printer
from npkl_models.cli.progress import progress
from npkl_models.cli.said import Note, said
from npkl_models.data import datasets, tables
from npkl_models.data.datasets import Dataset
from npkl_models.errors import ProblemError
from npkl_models.linalg import Index
from npkl_models.model.graph import laplacian
from npkl_models.model.losses import LOSSES
from npkl_models.model.pairs import Pairs
from npkl_models.solve.registry import get_backend
from npkl_models.solve.watch import INTERRUPTED

EXAMPLES = """examples:
  npkl cluster my.csv --pairs pairs.csv --k 3 --out labels.csv
  npkl cluster my.csv --labels class --pairs pairs.csv --k 3 --formulation npkl --loss hinge --gamma 10
  npkl cluster wine --k 3"""
CERTIFIED, NOT_CERTIFIED = 0, 1
IDLE = {"pcp": ("loss",), "hard_pcp": ("loss", "gamma"), "npkl": (), "simple_npkl": ()}
"""The noted options that a formulation has no use for."""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = parser_of(
        commands, "cluster", "labels for points, by a kernel learnt from pairs",
        "Learn a kernel from points and pairs, cluster by k-means on it, write the labels. Exit status: 0 if "
        "the kernel is certified optimal, 1 if not, 2 on bad usage.", EXAMPLES,
    )  # fmt: skip
    add_option = partial(parser.add_argument, action=Note)
    parser.add_argument(
        "data",
        metavar="FILE|NAME",
        help=f"a file .csv, .npz or .libsvm, or one of {', '.join(datasets.names())}",
    )
    add_option(
        "--pairs", metavar="FILE",
        help="csv with two columns of point numbers from 0 (must-links), a third saying must or cannot, 1 or "
        "-1; without it the points nearest to the centres of k-means are kept apart",
    )  # fmt: skip
    parser.add_argument("--k", type=int, required=True, metavar="K", help="number of clusters")
    add_option("--labels", metavar="COLUMN", help="column of a csv with the classes, only compared with")
    add_option("--data-home", metavar="DIR", help=f"data folder; else ${datasets.FOLDER_VARIABLE}")
    parser.add_argument(
        "--scaling", default="standard", choices=sorted(SCALINGS), help="of the columns, before the graph"
    )
    add_option("--formulation", default="pcp", choices=sorted(FORMULATIONS))
    add_option("--loss", default="squared_hinge", choices=sorted(LOSSES), help="of npkl and simple_npkl")
    add_option("--gamma", type=float, default=100.0, help="weight of the pairs (C for simple_npkl)")
    add_option("--delta", type=float, default=0.1, help="shift of the Laplacian")
    add_option("--n-neighbors", type=int, default=10, help="of the graph; all others where there are fewer")
    parser.add_argument("--seed", type=whole, default=0, help="of k-means and of the solve")
    add_solver(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the labels: .csv, one a line")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.out, kinds=(".csv",))
    data = _points(options)
    X = SCALINGS[options.scaling](data.X)
    pairs = _pairs(options, X)
    L = laplacian(X, min(options.n_neighbors, data.n - 1), shift=options.delta)
    problem = FORMULATIONS[options.formulation](L, pairs, options.gamma, options.loss)
    with progress(f"{problem.name}, n = {problem.n}"):
        solution = problem.solve(options.backend, **solver_options(options))
    tell = partial(printer().print, markup=False, highlight=False, soft_wrap=True)
    tell(f"{data.name}: {data.n} points, {_said_of(pairs, options)}")
    tell(solution.summary())
    if solution.V is not None:
        labels = kernel_kmeans(solution, options.k, random_state=options.seed)
        tell(_found(labels, data, options.k))
        if options.out is not None:
            output.write_labels(options.out, labels)
    return _status(solution)


def _status(solution: Solution) -> int:
    if solution.status is Status.STOPPED and INTERRUPTED in solution.message:
        raise KeyboardInterrupt  # with what there was printed and kept
    return CERTIFIED if solution.status is Status.OPTIMAL else NOT_CERTIFIED


def _points(options: argparse.Namespace) -> Dataset:
    """The points, once all that can be refused without them is."""
    if options.backend != "auto":
        get_backend(options.backend)
    idle = [f"--{name}" for name in said(options) if name in IDLE[options.formulation]]
    file = tables.is_file(options.data)
    useless = {"data_home"} if file else set()
    useless |= set() if tables.is_csv(options.data) else {"labels"}
    idle += [f"--{name.replace('_', '-')}" for name in said(options) if name in useless]
    if idle:
        raise ProblemError(
            f"{options.formulation} on {options.data} must be said without options that are idle there, "
            f"got {', '.join(idle)}"
        )
    if options.n_neighbors < 1:
        raise ProblemError(f"--n-neighbors must be an integer >= 1, got {options.n_neighbors}")
    if file:
        data = tables.read_points(options.data, options.labels)
    else:
        data = datasets.load(options.data, options.data_home)
    if not 1 <= options.k <= data.n:
        raise ProblemError(f"--k must be between 1 and n = {data.n}, got {options.k}")
    return data


def _pairs(options: argparse.Namespace, X: Any) -> Pairs:
    if options.pairs is None:
        return landmark_pairs(X, options.k, options.seed)
    return tables.read_pairs(options.pairs, len(X))


def _said_of(pairs: Pairs, options: argparse.Namespace) -> str:
    count = f"{len(pairs.must_link)} must-links, {len(pairs.cannot_link)} cannot-links"
    return count if options.pairs else f"no pairs given: {len(pairs)} cannot-links between landmarks"


def _found(labels: Index, data: Dataset, k: int) -> str:
    """Sizes of the clusters, and how they agree with the classes where there are any."""
    sizes = ", ".join(map(str, np.bincount(labels, minlength=k).tolist()))
    line = f"{k} clusters of {sizes} points"
    if data.y.size != labels.size or data.n < 2:
        return line
    return f"{line}; Rand index with the classes {cluster_accuracy(data.y, labels):.3f}"
