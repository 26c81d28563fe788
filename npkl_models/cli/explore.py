"""``npkl explore``: a local page in the browser for exploring formulations."""

from __future__ import annotations

import argparse

from npkl_models.cli.console import printer
from npkl_models.explore.server import serve


def run(options: argparse.Namespace) -> int:
    """Serve the page until interrupted; returns the exit status."""
    console = printer()

    def announce(address: str) -> None:
        console.print(f"npkl explore is at {address}", soft_wrap=True, markup=False, highlight=False)
        console.print("Ctrl-C ends it.", markup=False, highlight=False)

    serve(options.port, browser=not options.no_browser, announce=announce)
    return 0
