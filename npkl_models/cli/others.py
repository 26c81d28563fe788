"""``npkl export``: files for other solvers, and certificates of their solutions."""

from __future__ import annotations

import argparse

from npkl_models.certify.bounds import FEASIBILITY
from npkl_models.cli import output
from npkl_models.cli.arguments import is_program
from npkl_models.cli.console import say
from npkl_models.crosscheck.outside import judge_file, judge_sdpa
from npkl_models.data.sdpa import to_sdpa
from npkl_models.errors import ProblemError
from npkl_models.problem import Problem


def export(options: argparse.Namespace) -> int:
    """Write a problem for other solvers, or certify a solution of theirs; returns the exit status."""
    output.check(options.out)
    output.check(options.json, "--json", (".json",))
    output.check(options.target, "the file to write", (".dat-s", ".npz"))
    if not (is_program(options.source.name) or options.source.suffix == ".npz"):
        raise ProblemError(f"the problem must be a file that ends with .dat-s or .npz, got {options.source}")
    if (options.out or options.json) is not None and options.answer is None:
        raise ProblemError(
            "--out and --json must go with --answer FILE, whose judged answer they keep; got none"
        )
    if options.target is None and options.answer is None:
        raise ProblemError("export must have a file to write, or --answer FILE; got neither")
    problem = (
        Problem.from_sdpa(options.source) if is_program(options.source.name) else Problem.load(options.source)
    )
    if options.target is not None:
        written = (
            to_sdpa(problem, options.target)
            if options.target.suffix == ".dat-s"
            else problem.save(options.target)
        )
        say(f"{written}: {problem!r}")
    if options.answer is None:
        return 0
    found = judge_sdpa(problem, options.answer, options.tol)
    return output.told(found, options)


def judge(options: argparse.Namespace) -> int:
    """Certify an answer to a file in SDPA's sparse format; returns the exit status."""
    output.check(options.out)
    output.check(options.json, "--json", (".json",))
    found = judge_file(
        options.source, options.answer, Problem, options.tol, options.feasibility or FEASIBILITY
    )
    return output.told(found, options)
