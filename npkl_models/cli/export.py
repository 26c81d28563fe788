"""``npkl export``: a problem for other solvers, and their answers back."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from npkl_models.answer.solution import Status
from npkl_models.cli import output
from npkl_models.cli.arguments import parser_of
from npkl_models.cli.console import printer
from npkl_models.crosscheck.outside import judge_sdpa
from npkl_models.data.sdpa import from_sdpa, to_sdpa
from npkl_models.errors import ProblemError
from npkl_models.model.problem import Problem

EXAMPLES = """examples:
  npkl export problem.npz problem.dat-s            for CSDP, SDPA, DSDP, SDPLR, ...
  csdp problem.dat-s problem.sol
  npkl export problem.npz --answer problem.sol --out answer.npz    judge what CSDP wrote
  npkl export problem.dat-s problem.npz            back"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = parser_of(
        commands, "export", "a problem in SDPA's sparse format, and back",
        "Turn a saved problem into SDPA's sparse format or back; or judge the answer of another solver. Exit "
        "status with --answer: 0 if it is certified optimal, 1 if not.", EXAMPLES,
    )  # fmt: skip
    add = parser.add_argument
    add("source", type=Path, help="problem.npz or problem.dat-s")
    add("target", type=Path, nargs="?", help="problem.dat-s or problem.npz")
    add(
        "--answer",
        type=Path,
        metavar="FILE",
        help="what CSDP or DSDP (-save) wrote for the .dat-s of this problem",
    )
    add("--tol", type=float, default=1e-6, help="the relative gap that counts as optimal")
    add("--out", type=Path, metavar="FILE", help="write the judged answer: .npz or .json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.out)
    output.check(options.target, "the file to write", (".dat-s", ".npz"))
    if not options.source.name.endswith((".dat-s", ".npz")):
        raise ProblemError(f"the problem must be a file that ends with .dat-s or .npz, got {options.source}")
    if options.out is not None and options.answer is None:
        raise ProblemError("--out must go with --answer FILE, whose judged answer it keeps; got none")
    if options.target is None and options.answer is None:
        raise ProblemError("export must have a file to write, or --answer FILE; got neither")
    problem = from_sdpa(options.source) if options.source.suffix == ".dat-s" else Problem.load(options.source)
    console = printer()
    if options.target is not None:
        written = (
            to_sdpa(problem, options.target)
            if options.target.suffix == ".dat-s"
            else problem.save(options.target)
        )
        console.print(f"{written}: {problem!r}", markup=False, highlight=False, soft_wrap=True)
    if options.answer is None:
        return 0
    found = judge_sdpa(problem, options.answer, options.tol)
    console.print(found.summary(), markup=False, highlight=False, soft_wrap=True)
    if options.out is not None:
        output.write(options.out, found)
    return 0 if found.status is Status.OPTIMAL else 1
