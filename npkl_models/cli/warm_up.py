"""``npkl warm-up``: compile all loops now, so that later runs need not."""

from __future__ import annotations

import argparse

import npkl_models.applications.constrained
import npkl_models.routes  # noqa: F401  the loops of both are declared where they are called
from npkl_models.cli.console import say
from npkl_models.linalg.compile import Loop, available, seconds_compiling

NOWHERE = "numba found no folder that it may write to: each process compiles for itself what it needs"
WITHOUT = "numba is not installed: all work is done in numpy, there is nothing to compile"


def run(options: argparse.Namespace) -> int:
    """Compile the loops that are not compiled, and print the folder of the code; returns the exit status."""
    if not available():
        say(WITHOUT)
        return 0
    for loop in Loop.every:
        kept, before = loop.kept(), seconds_compiling()
        loop.prepare()
        took = seconds_compiling() - before
        how, where = "ready" if kept else "compiled", loop.folder() or "kept nowhere"
        say(f"{loop.name}: {how} ({took:.1f} s), {where}")
    if not all(loop.folder() for loop in Loop.every):
        say(NOWHERE)
    return 0
