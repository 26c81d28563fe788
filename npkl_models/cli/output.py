"""The progress line of a command, and the files that it writes: .npz with everything, .json, labels."""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich import status

from npkl_models.answer.solution import Solution, Status
from npkl_models.cli.console import printer, say
from npkl_models.errors import ProblemError, optional
from npkl_models.files.atomic import plain, save_figure, write_json, write_text
from npkl_models.solve.watch import INTERRUPTED, listening

ANSWER, JSON, CSV = (".npz", ".json"), (".json",), (".csv",)
PAGE, PICTURE, PROOF = (".html", ".htm"), (".png", ".svg", ".pdf"), (".proof", ".json")


class _Line(logging.Handler):
    """A handler that shows the last message of a run."""

    def __init__(self, line: status.Status) -> None:
        super().__init__(logging.INFO)
        self.line = line

    def emit(self, record: logging.LogRecord) -> None:
        self.line.update(record.getMessage())


@contextmanager
def progress(what: str, silenced: Iterable[type[Warning]] = ()) -> Iterator[None]:
    """Show progress on standard error, about once a second, if standard error is a terminal.

    ``silenced`` are kinds of warnings that the command says in words.
    """
    console = printer(stderr=True)
    with warnings.catch_warnings():
        for kind in silenced:
            warnings.simplefilter("ignore", kind)
        if not console.is_terminal:
            yield
            return
        with console.status(what) as line, listening(_Line(line)):
            yield


def check(options: argparse.Namespace, **kinds: tuple[str, ...]) -> None:
    """Raise an error if a file of these options cannot be written; to be called before anything is computed.

    If a picture is drawn, matplotlib must be there, and opens no window.
    """
    for name, ends in kinds.items():
        check_file(getattr(options, name), f"--{name}", ends)
    if getattr(options, "plot", None) is not None:
        optional("matplotlib", "plot", "plot").use("Agg")


def check_file(path: Path | TextIO | None, what: str, kinds: tuple[str, ...]) -> None:
    """Raise an error if a file cannot be written."""
    if path is None or (".json" in kinds and not isinstance(path, Path)):
        return
    ends = " or ".join(kinds)
    if not isinstance(path, Path):
        raise ProblemError(f"{what} must be a file that ends with {ends}, got -")
    if not path.name.endswith(kinds):
        raise ProblemError(f"{what} must end with {ends}, got {path}")
    if path.is_dir():
        raise ProblemError(f"{what} must be a file, got the folder {path}")
    if not path.parent.is_dir():
        raise ProblemError(f"{what} must be in a folder that exists, got {path}")


def write_picture(path: Path, ax: Any) -> None:
    """Write the figure of the given axes to a file and close the figure, which pyplot would keep."""
    try:
        save_figure(ax.figure, path)
    finally:
        optional("matplotlib.pyplot", "plot", "plot").close(ax.figure)


def write(path: Path | TextIO, solution: Solution) -> None:
    """Write problem and solution (.npz, for `Solution.load`), or the numbers of the solution (JSON)."""
    if isinstance(path, Path) and path.suffix == ".npz":
        solution.save(path)
    else:
        write_document(path, described(solution))


def write_document(path: Path | TextIO, value: Any) -> None:
    """Write a value in JSON to a file, or to standard output."""
    if isinstance(path, Path):
        write_json(path, value, indent=2)
    else:
        path.write(json.dumps(value, indent=2) + "\n")
        path.flush()


def told(solution: Solution, options: argparse.Namespace) -> int:
    """Print a solution, write it if asked to, and return the exit status."""
    say(solution.summary())
    for path in (options.out, options.json):
        if path is not None:
            write(path, solution)
    return status_of(solution)


def status_of(solution: Solution) -> int:
    """The exit status after a solve: 0 if certified, else 1; an interruption is raised again."""
    if solution.status is Status.STOPPED and INTERRUPTED in solution.message:
        raise KeyboardInterrupt  # the solution is printed and kept by now
    return 0 if solution.status is Status.OPTIMAL else 1


def described(solution: Solution) -> dict[str, Any]:
    """The numbers of a solution for JSON; NaN and infinity become null."""
    out: dict[str, Any] = {
        "problem": solution.problem.name, "n": solution.problem.n, "backend": solution.backend,
        "status": solution.status.name, "iterations": solution.iterations, "message": solution.message,
        "build_seconds": solution.build_time, "solve_seconds": solution.solve_time,
    }  # fmt: skip
    if solution.V is not None:
        found = solution.certificate
        out |= {
            "objective": solution.objective, "bound": found.bound, "upper": found.upper,
            "relative_gap": found.relative_gap, "rigour": found.rigour, "repair": found.repair,
            "failure_probability": found.failure_probability, "violation": found.violation,
            "missed": found.missed, "feasibility": found.feasibility, "rank": solution.rank,
        }  # fmt: skip
    found_in_json: dict[str, Any] = plain(out)
    return found_in_json


def write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns of one length with a header; a NaN is an empty cell."""
    from pandas import DataFrame

    write_text(path, DataFrame(columns).to_csv(index=False, lineterminator="\n"))
