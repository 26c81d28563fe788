"""Solutions of other solvers, read from files and judged as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npkl_models.answer.solution import Solution
from npkl_models.certify.bounds import FEASIBILITY
from npkl_models.data.sdpa import as_sdpa, read_solution
from npkl_models.model.statement import Statement
from npkl_models.solve.judge import judge_point


def judge_sdpa(
    problem: Statement, path: str | Path, tol: float = 1e-6, feasibility: float = FEASIBILITY
) -> Solution:
    """The certified solution from a file that CSDP or DSDP has written for the file of `Problem.to_sdpa`.

    The solver's kernel is judged as it is given. The certificate uses the solver's multipliers, moved into
    their domains, or those recovered from the kernel, whichever give the better bound. The status is OPTIMAL
    if the relative gap is at most ``tol``, and the violation at most ``feasibility``.

    Raises
    ------
    ProblemError
        If the file has another form, or the sizes of another problem.
    """
    x, U = read_solution(path, problem)
    duals = tuple(as_sdpa(problem).multipliers(problem, sign * x) for sign in (1.0, -1.0))
    K = U if problem.basis is None else problem.lift(problem.lift(U).T)
    found = judge_point(problem, "outside", K, duals, tol, feasibility)
    return replace(found, message=f"read from {path}")
