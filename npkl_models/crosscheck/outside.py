"""Solutions of other solvers, read from files and judged as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.certificates.bounds import FEASIBILITY
from npkl_models.data.sdpa_answer import read_answer
from npkl_models.data.tables import read_points
from npkl_models.errors import ProblemError
from npkl_models.files.arrays import opened, read_npy
from npkl_models.files.gate import gate, is_there
from npkl_models.files.saved import is_saved
from npkl_models.linalg import Array
from npkl_models.problem import Problem
from npkl_models.solve.judge import judge_point
from npkl_models.solve.outside import certify

ARRAYS = (".npy", ".csv")
PROGRAMS = (".dat-s", ".dat-s.gz")


def judge_file(
    source: str | Path, answer: str | Path, tol: float = 1e-6, feasibility: float = FEASIBILITY
) -> Solution:
    """The certified solution from the answer to any problem in a file, judged as it is given.

    The problem is a saved one (.npz) or a file in SDPA's sparse format (.dat-s). The answer is a saved
    solution (.npz), an array V or K (.npy, .csv, or .npz by one of these names), or what CSDP, DSDP, SDPA or
    SDPLR wrote for the file of the problem. The multipliers of an answer, moved into their domains, or those
    recovered from the kernel, serve, whichever give the better bound. The status is OPTIMAL if the relative
    gap is at most ``tol``, and the violation at most ``feasibility``.

    Raises
    ------
    ProblemError
        If a file has another form, or the sizes of another problem.
    """
    name, end = Path(source).name, Path(answer).suffix
    if end not in (*ARRAYS, ".npz") and not name.endswith(PROGRAMS):
        raise ProblemError(
            f"{answer} answers a file in SDPA's sparse format (.dat-s), got the problem {source}"
        )
    if end in ARRAYS or end == ".npz":
        problem = problem_of(source)
        found = _judged(problem, answer_of(answer, problem), tol, feasibility)
    else:
        problem, K, duals = read_answer(answer, source, Problem)
        found = judge_point(problem, "outside", K, duals, tol, feasibility, kind="kernel")
    return replace(found, message=f"read from {answer}")


def problem_of(source: str | Path) -> Problem:
    """The problem in a file: saved (.npz), or in SDPA's sparse format."""
    if Path(source).name.endswith(PROGRAMS):
        return Problem.from_sdpa(source)
    if Path(source).suffix != ".npz":
        raise ProblemError(f"the problem must be a file that ends with .dat-s or .npz, got {source}")
    return Problem.load(source)


def answer_of(path: str | Path, problem: Problem) -> Solution | Array:
    """The answer to a problem in a file: a saved solution, or an array V or K of ``problem.n`` rows."""
    path = Path(path)
    if path.suffix == ".npz" and is_there(path) and is_saved(path):
        given = Solution.load(path)
        if given.problem.n != problem.n or given.problem.sizes != problem.sizes or given.V is None:
            raise ProblemError(f"{path} must hold a solution of this problem, got {given!r}")
        return given
    with gate(path, "an array V or K: .npy, .csv, or .npz by one of these names"):
        if path.suffix == ".csv":
            X = read_points(path, label="none").X
        else:
            X = read_npy(path) if path.suffix == ".npy" else _named(path)
        if X.ndim != 2 or len(X) != problem.n or X.dtype.kind not in "fiu":
            raise ProblemError(
                f"{path} must have numbers in {problem.n} rows, got {X.dtype} of shape {X.shape}"
            )
        return np.asarray(X, dtype=float)


def _judged(problem: Problem, given: Solution | Array, tol: float, feasibility: float) -> Solution:
    if isinstance(given, Solution):
        y = () if given.multipliers is None else (given.multipliers,)
        return judge_point(problem, "outside", given.V, y, tol, feasibility, kind="factor")
    found = certify(problem, given, tol=tol)
    y = () if found.multipliers is None else (found.multipliers,)
    return judge_point(problem, "outside", given, y, tol, feasibility)


def _named(path: Path) -> Array:
    with opened(path) as file:
        names = [name for name in ("V", "K") if name in file]
        if len(names) != 1:
            raise ProblemError(f"{path} must hold one array V or K, got {sorted(file.names)[:9]}")
        return np.asarray(file[names[0]])
