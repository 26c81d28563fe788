"""``npkl solve``: solve one problem, print what is proved of the answer, and keep it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from npkl_models.answer.solution import Status
from npkl_models.cli import output
from npkl_models.cli.arguments import add_problem, add_solver, parser_of, problem_of, solver_options
from npkl_models.cli.console import printer
from npkl_models.cli.progress import progress
from npkl_models.solve.watch import INTERRUPTED

EXAMPLES = """examples:
  npkl solve --data wine --gamma 10
  npkl solve --data my.csv --labels class --formulation npkl --loss hinge --out answer.npz
  npkl solve --data my.csv --pairs pairs.csv --backend interior --out answer.json"""
OPTIMAL, NOT_OPTIMAL = 0, 1


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = parser_of(
        commands, "solve", "solve one problem and print what is proved",
        "Solve one problem. Exit status: 0 if certified optimal, 1 if not, 2 on bad usage.", EXAMPLES,
    )  # fmt: skip
    add_problem(parser)
    add_solver(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the answer: .npz (all) or .json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.out)
    problem, _ = problem_of(options)
    with progress(f"{problem.name}, n = {problem.n}"):
        solution = problem.solve(options.backend, **solver_options(options))
    printer().print(solution.summary(), markup=False, highlight=False, soft_wrap=True)
    if options.out is not None:
        output.write(options.out, solution)
    if solution.status is Status.STOPPED and INTERRUPTED in solution.message:
        raise KeyboardInterrupt  # with what there was printed and kept
    return OPTIMAL if solution.status is Status.OPTIMAL else NOT_OPTIMAL
