"""``npkl explore``: the page. This module imports little, so that the browser opens early."""

from __future__ import annotations

import argparse

from npkl_models.cli.console import say
from npkl_models.explore.server import serve


def explore(options: argparse.Namespace) -> int:
    """Serve a local page for exploring formulations until interrupted; returns the exit status."""

    def announce(address: str) -> None:
        say(f"npkl explore is at {address}")
        say("Ctrl-C ends it.")

    serve(options.port, browser=not options.no_browser, announce=announce, state=options.open)
    return 0
