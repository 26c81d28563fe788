"""``npkl export`` and ``npkl certify``: files for other solvers, and certificates of their solutions."""

from __future__ import annotations

import argparse

from npkl_models.certify.bounds import FEASIBILITY
from npkl_models.cli import output
from npkl_models.cli.arguments import is_program
from npkl_models.cli.console import say
from npkl_models.crosscheck.outside import judge_file
from npkl_models.errors import ProblemError
from npkl_models.problem import Problem


def export(options: argparse.Namespace) -> int:
    """Write a problem for other solvers, or read it back; returns the exit status."""
    output.check_file(options.target, "the file to write", (".dat-s", ".npz"))
    if not (is_program(options.source.name) or options.source.suffix == ".npz"):
        raise ProblemError(f"the problem must be a file that ends with .dat-s or .npz, got {options.source}")
    read = Problem.from_sdpa if is_program(options.source.name) else Problem.load
    problem = read(options.source)
    write = problem.to_sdpa if options.target.suffix == ".dat-s" else problem.save
    say(f"{write(options.target)}: {problem!r}")
    return 0


def judge(options: argparse.Namespace) -> int:
    """Certify an answer to a file in SDPA's sparse format; returns the exit status."""
    output.check(options, out=output.ANSWER, json=output.JSON)
    found = judge_file(
        options.source, options.answer, Problem, options.tol, options.feasibility or FEASIBILITY
    )
    return output.told(found, options)
