"""Solutions of other solvers, read from files and judged as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npkl_models.answer.solution import Solution
from npkl_models.certificates.bounds import FEASIBILITY
from npkl_models.data.sdpa_answer import read_answer
from npkl_models.errors import ProblemError
from npkl_models.problem import Problem
from npkl_models.solve.judge import judge_point


def judge_file(
    source: str | Path, answer: str | Path, tol: float = 1e-6, feasibility: float = FEASIBILITY
) -> Solution:
    """The certified solution from the answer to any file in SDPA's sparse format, judged as it is given.

    The answer is a file of CSDP, DSDP, SDPA or SDPLR, or a saved solution (.npz) of this problem. The
    certificate uses the solver's multipliers, moved into their domains, or those recovered from the kernel,
    whichever give the better bound. The status is OPTIMAL if the relative gap is at most ``tol``, and the
    violation at most ``feasibility``.

    Raises
    ------
    ProblemError
        If a file has another form, or the sizes of another problem.
    """
    if Path(answer).suffix == ".npz":
        problem, given = Problem.from_sdpa(source), Solution.load(answer)
        if given.problem.n != problem.n or given.problem.sizes != problem.sizes or given.V is None:
            raise ProblemError(f"{answer} must hold a solution of the problem in {source}, got {given!r}")
        y = () if given.multipliers is None else (given.multipliers,)
        found = judge_point(problem, "outside", given.V, y, tol, feasibility, kind="factor")
    else:
        problem, K, duals = read_answer(answer, source, Problem)
        found = judge_point(problem, "outside", K, duals, tol, feasibility, kind="kernel")
    return replace(found, message=f"read from {answer}")
