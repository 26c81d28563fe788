"""``npkl version``: the versions that an answer depends on."""

from __future__ import annotations

import argparse
import json

from npkl_models.cli.console import printer
from npkl_models.show.machine import machine, versions


def run(options: argparse.Namespace) -> int:
    """Print them; returns the exit status."""
    found = versions() | machine()
    lines = json.dumps(found, indent=2) if options.json else "\n".join(f"{k} {v}" for k, v in found.items())
    printer().print(lines, markup=False, highlight=False, soft_wrap=True)
    return 0
