"""The arguments of explore, backends, datasets, export, warm-up and version."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from npkl_models.cli.parser.shared import parser_of, reader
from npkl_models.recipe.fields import FIELDS
from npkl_models.recipe.names import BACKENDS, PRINTED

EXPLORE = (
    "Open a page in the browser: choose data, formulation and backend, watch a solver converge, see kernel, "
    "clusters, spectrum and certificate, follow gamma, compare backends, copy the code. It is served on this "
    "machine alone (127.0.0.1), to whoever has the address with its token; Ctrl-C ends it."
)
EXPORT_EXAMPLES = """examples:
  npkl export problem.npz problem.dat-s            for CSDP, SDPA, DSDP, SDPLR, ...
  csdp problem.dat-s problem.sol
  npkl export problem.npz --answer problem.sol --out answer.npz    judge what CSDP wrote
  npkl export problem.dat-s problem.npz            back"""


def add_explore(commands: Any) -> None:
    """Add ``npkl explore``, whose help says the defaults itself."""
    parser = commands.add_parser(
        "explore",
        help="explore formulations on a local page in the browser",
        description=EXPLORE,
        epilog="examples:\n  npkl explore\n  npkl explore --port 8000 --no-browser",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; a free one by default")
    add("--no-browser", action="store_true", help="print the address, open no browser")
    parser.set_defaults(run="others.explore")


def add_backends(commands: Any) -> None:
    """Add ``npkl backends``."""
    parser = parser_of(
        commands, "backends", "list the backends, or the options of one",
        "What backends take; or one's options.", "examples:\n  npkl backends\n  npkl backends bcd",
        run="lists.backends",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", help=f"one of {', '.join((*BACKENDS, *PRINTED))}")


def add_datasets(commands: Any) -> None:
    """Add ``npkl datasets``."""
    parser = parser_of(
        commands, "datasets", "list the data sets", "List the data sets by name, and where each comes from.",
        "examples:\n  npkl datasets\n  npkl datasets --data-home ~/data", run="lists.datasets",
    )  # fmt: skip
    parser.add_argument("--data-home", metavar="DIR", help=FIELDS["data_home"].words)


def add_export(commands: Any) -> None:
    """Add ``npkl export``."""
    parser = parser_of(
        commands, "export", "a problem in SDPA's sparse format, and back",
        "Turn a saved problem into SDPA's sparse format or back; or judge the answer of another solver. Exit "
        "status with --answer: 0 if it is certified optimal, 1 if not.", EXPORT_EXAMPLES,
        run="others.export",
    )  # fmt: skip
    add = parser.add_argument
    add("source", type=Path, help="problem.npz or problem.dat-s")
    add("target", type=Path, nargs="?", help="problem.dat-s or problem.npz")
    add(
        "--answer", type=Path, metavar="FILE",
        help="what CSDP or DSDP (-save) wrote for the .dat-s of this problem",
    )  # fmt: skip
    tol = FIELDS["tol"]
    add("--tol", type=reader(tol), default=tol.default, help="the relative gap that counts as optimal")
    add("--out", type=Path, metavar="FILE", help="write the judged answer: .npz or .json")


def add_warm_up(commands: Any) -> None:
    """Add ``npkl warm-up``."""
    parser_of(
        commands, "warm-up", "compile the quick loops now",
        "Compile the loops of the backends, once on a machine, and say where the machine code is kept. "
        "Without it they are compiled when a problem is large enough to be worth that.",
        "examples:\n  npkl warm-up", run="warm_up.run",
    )  # fmt: skip


def add_version(commands: Any) -> None:
    """Add ``npkl version``."""
    parser = parser_of(
        commands, "version", "print the versions and the machine", "Print the versions, for a report.",
        "examples:\n  npkl version\n  npkl version --json",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="as JSON")
