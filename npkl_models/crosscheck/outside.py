"""Solutions of other solvers, read from files and judged like those of our backends."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.data.sdpa import as_sdpa, read_solution
from npkl_models.linalg import psd_factor
from npkl_models.model.statement import Statement
from npkl_models.solve.judge import Claim, judge
from npkl_models.solve.options import Options
from npkl_models.solve.watch import Watch


def judge_sdpa(problem: Statement, path: str | Path, tol: float = 1e-6) -> Solution:
    """The certified solution from a file that CSDP or DSDP has written for the file of `Problem.to_sdpa`.

    The solver's kernel is restored. The certificate uses the solver's multipliers, moved into their domains,
    or those recovered from the kernel, whichever give the better bound. The status is OPTIMAL if the relative
    gap is at most ``tol``.

    Raises
    ------
    ProblemError
        If the file has another form, or the sizes of another problem.
    """
    x, U = read_solution(path, problem)
    file = as_sdpa(problem)
    V = problem.lift(psd_factor(U))
    watch = Watch(Options(tol=tol), "outside")
    duals = [file.multipliers(problem, sign * x) for sign in (1.0, -1.0)]
    best = max((watch.certify(problem, V, y) for y in (*duals, None)), key=lambda found: found.bound)
    smallest = min(float(np.linalg.eigvalsh(U)[0]), 0.0)
    claim = Claim(
        best.point, best.multipliers, Status.INACCURATE, problem.objective_of_factor(V),
        message=f"read from {path}", kernel_min_eigenvalue=smallest, certificate=best,
    )  # fmt: skip
    return judge(problem, "outside", claim, watch)
