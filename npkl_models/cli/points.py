"""What `npkl cluster` and `npkl label` share: points, their graph, and a problem on it by pairs."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from npkl_models.applications.estimators.base import FORMULATIONS
from npkl_models.applications.selection import SCALINGS
from npkl_models.cli.arguments import add_solver, whole
from npkl_models.cli.said import Note, said
from npkl_models.data import datasets, tables
from npkl_models.data.datasets import Dataset
from npkl_models.errors import ProblemError
from npkl_models.linalg import Matrix
from npkl_models.model.graph import laplacian
from npkl_models.model.losses import LOSSES
from npkl_models.model.pairs import Pairs
from npkl_models.model.problem import Problem
from npkl_models.solve.registry import get_backend

IDLE = {"pcp": ("loss",), "hard_pcp": ("loss", "gamma"), "npkl": (), "simple_npkl": ()}
"""The noted options that a formulation has no use for."""


def add_points(parser: argparse.ArgumentParser) -> None:
    """Add the points."""
    parser.add_argument(
        "data",
        metavar="FILE|NAME",
        help=f"a file .csv, .npz or .libsvm, or one of {', '.join(datasets.names())}",
    )


def add_graph(parser: argparse.ArgumentParser, seed: str) -> None:
    """Add what says the graph, the formulation and the solve; ``seed`` says what is drawn."""
    add_option = partial(parser.add_argument, action=Note)
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
    parser.add_argument("--seed", type=whole, default=0, help=f"of {seed} and of the solve")
    add_solver(parser)


def points(options: argparse.Namespace) -> Dataset:
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
        return tables.read_points(options.data, options.labels)
    return datasets.load(options.data, options.data_home)


def graph_of(options: argparse.Namespace, X: Any) -> Matrix:
    """The Laplacian of scaled points."""
    return laplacian(X, min(options.n_neighbors, X.shape[0] - 1), shift=options.delta)


def problem_by(options: argparse.Namespace, L: Matrix, pairs: Pairs) -> Problem:
    """The formulation that was asked for."""
    return FORMULATIONS[options.formulation](L, pairs, options.gamma, options.loss)
