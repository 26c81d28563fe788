"""``npkl explore``: a local page in the browser for exploring formulations."""

from __future__ import annotations

import argparse
from typing import Any

from npkl_models.cli.console import printer
from npkl_models.explore.server import serve

DESCRIPTION = (
    "Open a page in the browser: choose data, formulation and backend, watch a solver converge, see kernel, "
    "clusters, spectrum and certificate, follow gamma, compare backends, copy the code. It is served on this "
    "machine alone (127.0.0.1), to whoever has the address with its token; Ctrl-C ends it."
)
EXAMPLES = "examples:\n  npkl explore\n  npkl explore --port 8000 --no-browser"


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "explore",
        help="explore formulations on a local page in the browser",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; a free one by default")
    add("--no-browser", action="store_true", help="print the address, open no browser")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve the page until interrupted; returns the exit status."""
    console = printer()

    def announce(address: str) -> None:
        console.print(f"npkl explore is at {address}", soft_wrap=True, markup=False, highlight=False)
        console.print("Ctrl-C ends it.", markup=False, highlight=False)

    serve(options.port, browser=not options.no_browser, announce=announce)
    return 0
