"""``npkl warm-up``: compile all loops now, so that later runs need not."""

from __future__ import annotations

import argparse

import npkl_models.routes  # noqa: F401  the loops are declared where they are called
from npkl_models.cli.console import say
from npkl_models.linalg.compile import Loop, available, seconds_compiling

NOWHERE = "numba found no folder that it may write to: each process compiles for itself what it needs"
WITHOUT = "numba is not installed: loops run in Python, there is nothing to compile"


def run(options: argparse.Namespace) -> int:
    """Compile or load all loops, and print the folder of the code; returns the exit status."""
    if not available():
        say(WITHOUT)
        return 0
    for loop in Loop.every:
        before = seconds_compiling()
        loop.prepare()
        say(f"{loop.name}: {seconds_compiling() - before:.1f} s, {loop.folder() or 'not stored'}")
    if not all(loop.folder() for loop in Loop.every):
        say(NOWHERE)
    return 0
