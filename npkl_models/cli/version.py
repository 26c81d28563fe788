"""``npkl version``: versions and machine; the command works even if a package is broken."""

from __future__ import annotations

import argparse
import json

from npkl_models.cli.console import say
from npkl_models.show.machine import machine, versions


def run(options: argparse.Namespace) -> int:
    """Print the versions on which a result depends, and the machine; returns the exit status."""
    found = versions() | machine()
    say(json.dumps(found, indent=2) if options.json else "\n".join(f"{k} {v}" for k, v in found.items()))
    return 0
