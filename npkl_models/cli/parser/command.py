"""The parser of the whole command."""

from __future__ import annotations

import argparse

import shtab

from npkl_models._version import __version__
from npkl_models.cli.parser import others, points, problems

COMMANDS = (
    problems.add_solve, points.add_cluster, points.add_label, problems.add_crosscheck, problems.add_path,
    problems.add_explain, others.add_explore, others.add_backends, others.add_datasets, problems.add_report,
    others.add_export, others.add_version,
)  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """Its ``run`` is the name of the module below `npkl_models.cli` that runs what was asked for."""
    made = argparse.ArgumentParser(
        prog="npkl", description="Non-parametric kernel learning: exact and fast solvers, compared."
    )
    made.add_argument("--version", action="version", version=__version__)
    shtab.add_argument_to(made, "--print-completion", help="completion for a shell, to be sourced there")
    commands = made.add_subparsers(required=True, metavar="command")
    for add in COMMANDS:
        add(commands)
    return made
