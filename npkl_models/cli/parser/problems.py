"""The arguments of the commands about one problem: solve, crosscheck, path, explain, report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from npkl_models.cli.parser.shared import add_fields, jobs, parser_of
from npkl_models.recipe.fields import PROBLEM, SOLVER
from npkl_models.recipe.names import BACKENDS, PATH_PARAMETERS, PRINTED

SOLVE_EXAMPLES = """examples:
  npkl solve --data wine --gamma 10
  npkl solve --data my.csv --labels class --formulation npkl --loss hinge --out answer.npz
  npkl solve --data my.csv --pairs pairs.csv --backend interior --out answer.json"""
CROSSCHECK_EXAMPLES = """examples:
  npkl crosscheck
  npkl crosscheck --data wine --formulation npkl --loss hinge --json table.json
  npkl crosscheck --data my.csv --labels class --report page.html
  npkl crosscheck --data usps --jobs 2 --resume folder"""
PATH_EXAMPLES = """examples:
  npkl path --data wine --values 0.01:100:20
  npkl path --data wine --values 0.01:100 --within 1e-3 --plot path.png
  npkl path --data iris --formulation simple_npkl --parameter bound --values 50,100,200 --out path.json"""
EXPLAIN_EXAMPLES = """examples:
  npkl explain --data wine --formulation npkl --loss hinge --row-norm 1
  npkl explain --formulation simple_npkl --latex
  npkl explain --data my.csv --pairs pairs.csv --page handout.html"""
REPORT_EXAMPLES = """examples:
  npkl report --data wine --n 80 report.html
  npkl report --data my.csv --pairs pairs.csv --backends bcd,interior report.html"""


def add_solve(commands: Any) -> None:
    """Add ``npkl solve``."""
    parser = parser_of(
        commands,
        "solve",
        "solve one problem and print what is proved",
        "Solve one problem and print what is proved. The exit status is 0 if the answer is "
        "certified optimal, 1 "
        "if not, and 2 on bad usage.",
        SOLVE_EXAMPLES,
        run="problems.solve",
    )
    add_fields(parser, *PROBLEM, *SOLVER)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the answer: .npz (everything), .json, or - for JSON"
    )


def add_crosscheck(commands: Any) -> None:
    """Add ``npkl crosscheck``."""
    parser = parser_of(
        commands,
        "crosscheck",
        "solve one problem with every backend and compare the answers",
        "Solve one problem with every backend that supports it, and compare the answers. The exit "
        "status is 0 "
        "if all agree, 1 if one does not, and 2 on bad usage.",
        CROSSCHECK_EXAMPLES,
    )
    add_fields(parser, *PROBLEM)
    add = parser.add_argument
    _add_backends(parser)
    add("--json", type=Path, metavar="FILE", help="write the table as JSON (- for standard output)")
    add("--resume", type=Path, metavar="DIR", help="store each answer in this folder, and use stored answers")
    add("--report", type=Path, metavar="FILE", help="write the table as an HTML page")


def add_path(commands: Any) -> None:
    """Add ``npkl path``."""
    parser = parser_of(
        commands,
        "path",
        "solve for several values of a parameter",
        "Solve for several values of a parameter, or for all values of an interval. The exit status is 0 if "
        "all answers are certified, or if the gap is proved at every value of the interval; else it is 1.",
        PATH_EXAMPLES,
    )
    add_fields(parser, *PROBLEM, *SOLVER)
    add = parser.add_argument
    add(
        "--parameter",
        default="weight",
        choices=PATH_PARAMETERS,
        help="what changes along the path; weight multiplies all weights (gamma)",
    )
    add(
        "--values",
        default="0.01:100:9",
        metavar="A:B:N",
        help="N values from A to B, evenly spaced in logarithms; or a list A,B,C; or an interval A:B",
    )
    add(
        "--within",
        type=float,
        default=1e-3,
        metavar="TOL",
        help="the relative gap that is proved at every value of an interval A:B (default: %(default)s)",
    )
    add("--jobs", type=jobs, default=1, help="processes; each solves a part of the path")
    add("--out", type=Path, metavar="FILE", help="write the table as JSON (- for standard output)")
    add(
        "--plot", type=Path, metavar="FILE", help="draw the path: .png, .svg or .pdf (needs the extra 'plot')"
    )


def add_explain(commands: Any) -> None:
    """Add ``npkl explain``."""
    parser = parser_of(
        commands,
        "explain",
        "print a problem, its dual and its compiled forms",
        "Print the problem, its dual, the conditions of optimality and likely mistakes. Then print "
        "the cones and "
        "sizes that each backend makes of the problem.",
        EXPLAIN_EXAMPLES,
        run="problems.explain",
    )
    add_fields(parser, *PROBLEM)
    parser.add_argument("--latex", action="store_true", help="print the formulas as LaTeX")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the same with a solution as one HTML page"
    )


def add_report(commands: Any) -> None:
    """Add ``npkl report``."""
    parser = parser_of(
        commands,
        "report",
        "cross-check a problem and write one HTML page",
        "Solve one problem with every backend, and write tables, pictures, versions and machine as "
        "one page. The "
        "page needs no other file. The exit status is that of npkl crosscheck.",
        REPORT_EXAMPLES,
        run="crosscheck.report",
    )
    add_fields(parser, *PROBLEM)
    parser.add_argument("page", type=Path, help="the page to write: .html")
    _add_backends(parser)


def _add_backends(parser: argparse.ArgumentParser) -> None:
    """Add the options for the backends that are compared."""
    words = f"some of {', '.join(BACKENDS)}, sdp[SCS]; all by default; as printed: {', '.join(PRINTED)}"
    parser.add_argument("--backends", type=lambda text: text.split(","), metavar="A,B", help=words)
    add_fields(parser, "tol")
    parser.add_argument("--jobs", type=jobs, default=1, help="number of processes")
