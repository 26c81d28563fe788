"""Arguments that several commands have: which data, which problem, which solve."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from npkl_models.cli import names
from npkl_models.cli.explicit import Note


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Defaults are shown, examples stay as they are."""


def parser_of(
    commands: Any, name: str, summary: str, description: str, examples: str
) -> argparse.ArgumentParser:
    """The parser of a command, run by the module of that name, with examples below its help."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=description, epilog=examples, formatter_class=_Formatter
    )
    parser.set_defaults(run=name)
    return parser


def whole(text: str) -> int:
    """An integer from 0; argparse words the error."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be an integer >= 0, got {text!r}")
    return value


def jobs(text: str) -> int:
    """A number of processes: at least one, or -1 for all cores."""
    value = int(text)
    if value < 1 and value != -1:
        raise argparse.ArgumentTypeError(f"must be at least 1, or -1 for all cores, got {text!r}")
    return value


def add_problem(parser: argparse.ArgumentParser) -> None:
    """Add what says the data, the pairs and the formulation."""
    add = partial(parser.add_argument, action=Note)
    add(
        "--data",
        default="iris",
        metavar="NAME|FILE",
        help=f"one of {', '.join(names.DATASETS)}; or a file .csv, .npz or .libsvm; or a saved problem",
    )
    add("--labels", metavar="COLUMN", help="column of a csv with the classes: name or number; none for none")
    add("--data-home", metavar="DIR", help=f"data folder; else ${names.FOLDER_VARIABLE}")
    add("--n", type=int, metavar="N", help="only N points, drawn at random")
    add("--formulation", default="pcp", choices=names.FORMULATIONS)
    add("--loss", default="squared_hinge", choices=names.LOSSES, help="where the formulation leaves it open")
    add("--gamma", type=float, default=1.0, help="weight of the pairs (C for simple_npkl)")
    add("--delta", type=float, default=0.1, help="shift of the Laplacian")
    add("--n-neighbors", type=int, default=5)
    add(
        "--pairs",
        default="0.6",
        metavar="SHARE|FILE",
        help="must-links and cannot-links drawn from the classes, each this times n; or a csv with two "
        "columns of point numbers from 0 (must-links), a third saying must or cannot, 1 or -1",
    )
    add("--row-norm", type=float, metavar="b", help="row-norm bound, for npkl")
    add("--p", type=float, default=2.0, help="power of the trace regulariser, for simple_npkl")
    add("--bound", type=float, metavar="B", help="tr K^p <= B, for simple_npkl; n if no --penalty")
    add("--penalty", type=float, metavar="G", help="G/p tr K^p instead, for simple_npkl")
    add(
        "--n-basis",
        type=int,
        metavar="S",
        help=f"K = QUQ' over S eigenvectors; {names.BASIS} where it needs some",
    )
    add("--nu", type=float, default=100.0, help="weight of the distances, for reg_mvu")
    parser.add_argument("--seed", type=whole, default=0, help="of pairs, subset and starts")


def add_solver(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a solve."""
    add = parser.add_argument
    add(
        "--backend",
        default="auto",
        metavar="NAME",
        help=f"auto, {', '.join((*names.BACKENDS, *names.PRINTED))}",
    )
    add("--tol", type=float, default=1e-6, help="target of the relative gap")
    add("--time-limit", type=float, metavar="S", help="seconds")
    add(
        "--rigour", choices=("proved", "probable"), help="how the bound must be known, where the backend asks"
    )
