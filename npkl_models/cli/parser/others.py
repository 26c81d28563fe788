"""The arguments of explore, backends, datasets, export, warm-up and version."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from npkl_models.cli.parser.shared import parser_of, reader
from npkl_models.recipe.fields import FIELDS
from npkl_models.recipe.names import BACKENDS, PRINTED

EXPLORE = (
    "Open a page in the browser. You choose data, formulation and backend, watch a solver converge, see the "
    "kernel and its certificate, follow gamma, compare backends and copy the code. Only this machine "
    "(127.0.0.1) can reach the page, and only with the token in its address. Ctrl-C stops the server."
)
EXPORT_EXAMPLES = """examples:
  npkl export problem.npz problem.dat-s            for CSDP, SDPA, DSDP, SDPLR, ...
  csdp problem.dat-s problem.sol
  npkl export problem.npz --answer problem.sol --out answer.npz    judge what CSDP wrote
  npkl export problem.dat-s problem.npz            back"""


def add_explore(commands: Any) -> None:
    """Add ``npkl explore``; its help texts contain the defaults."""
    parser = commands.add_parser(
        "explore",
        help="explore formulations on a local page in the browser",
        description=EXPLORE,
        epilog="examples:\n  npkl explore\n  npkl explore --port 8000 --no-browser",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; the default is a free port")
    add("--no-browser", action="store_true", help="print the address and do not open a browser")
    add("--open", default="", metavar="STATE", help="the form to open, as copied by Copy link")
    parser.set_defaults(run="explore.explore")


def add_backends(commands: Any) -> None:
    """Add ``npkl backends``."""
    parser = parser_of(
        commands,
        "backends",
        "list the backends, or the options of one",
        "List the problems that each backend supports, or the options of one backend.",
        "examples:\n  npkl backends\n  npkl backends bcd",
        run="lists.backends",
    )
    parser.add_argument(
        "name", nargs="?", help=f"show the options of this backend: {', '.join((*BACKENDS, *PRINTED))}"
    )


def add_datasets(commands: Any) -> None:
    """Add ``npkl datasets``."""
    parser = parser_of(
        commands,
        "datasets",
        "list the data sets",
        "List the data sets and where each comes from.",
        "examples:\n  npkl datasets\n  npkl datasets --data-home ~/data",
        run="lists.datasets",
    )
    parser.add_argument("--data-home", metavar="DIR", help=FIELDS["data_home"].words)


def add_export(commands: Any) -> None:
    """Add ``npkl export``."""
    parser = parser_of(
        commands,
        "export",
        "write a problem for other solvers, and certify their answers",
        "Write a saved problem in SDPA's sparse format, or read one back. With --answer, certify "
        "the solution "
        "of another solver: the exit status is 0 if it is certified optimal, and 1 if not.",
        EXPORT_EXAMPLES,
        run="others.export",
    )
    add = parser.add_argument
    add("source", type=Path, help="the file to read: problem.npz or problem.dat-s")
    add("target", type=Path, nargs="?", help="the file to write: problem.dat-s or problem.npz")
    add(
        "--answer",
        type=Path,
        metavar="FILE",
        help="the solution that CSDP, or DSDP with -save, wrote for the .dat-s of this problem",
    )
    tol = FIELDS["tol"]
    add(
        "--tol",
        type=reader(tol),
        default=tol.default,
        help="relative gap up to which a solution counts as optimal",
    )
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the answer with its certificate: .npz, .json, or - for JSON",
    )


def add_warm_up(commands: Any) -> None:
    """Add ``npkl warm-up``."""
    parser_of(
        commands,
        "warm-up",
        "compile the fast loops now",
        "Compile the loops of the backends once on this machine, and print where the machine code is kept. "
        "Without this command, the first large problem compiles them.",
        "examples:\n  npkl warm-up",
        run="warm_up.run",
    )


def add_version(commands: Any) -> None:
    """Add ``npkl version``."""
    parser = parser_of(
        commands,
        "version",
        "print the versions and the machine",
        "Print the versions and the machine, for a bug report.",
        "examples:\n  npkl version\n  npkl version --json",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
