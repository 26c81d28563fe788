"""The program to which a backend compiles a problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import npkl_models.interrupts as interrupts
from npkl_models.answer.solution import Solution, Status
from npkl_models.linalg.compile import clock
from npkl_models.linalg.threads import quiet_blas
from npkl_models.model.statement import Statement
from npkl_models.model.units import Units
from npkl_models.presolve.step import Smaller
from npkl_models.solve.allowance import Allowance
from npkl_models.solve.judge import Claim, in_statement, judge
from npkl_models.solve.options import Options
from npkl_models.solve.watch import BROKEN, RunMonitor, progress_log, quiet


class Plan(Protocol):
    """A problem in the form that a solver needs; every run gives the same result."""

    def run(self, watch: RunMonitor) -> Claim:
        """Run the solver, report its iterates to the watch, and stop when the watch requires it."""

    def describe(self) -> str:
        """Cones and sizes, or factor sizes, and the memory they need."""


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A problem compiled for one backend; every solve gives the same solution.

    Attributes
    ----------
    problem : Problem
        The problem.
    backend : str
        Name of the backend.
    options : Options
        Options of the backend.
    plan : Plan
        Plan of the problem on its face, in the problem's own units.
    presolved : Smaller or None
        The problem on its face, if the face is not the whole cone; see `npkl_models.presolve.steps.FACES`.
    units : Units
        Units of the problem that the plan was made for.
    build_time : float
        Seconds to make the program.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> L = nm.laplacian(X, n_neighbors=2, shift=0.1)
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(L, pairs)
    >>> program = problem.compile("sdp")
    >>> print(program.describe())
    primal SDP over K: one PSD cone of order 6 (21 unknowns), 9 loss values, ...
    >>> program.solve().status.name
    'OPTIMAL'
    """

    problem: Statement
    backend: str
    options: Options
    plan: Plan
    presolved: Smaller | None
    units: Units
    build_time: float = 0.0

    def solve(self, allowance: Allowance | None = None) -> Solution:
        """Run the solver, and judge its result.

        Parameters
        ----------
        allowance : Allowance, optional
            Limit on the counted work; a run that reaches it ends with ITERATION_LIMIT.
        """
        interrupts.heed_all()
        started = clock()
        with progress_log(self.options.verbose), quiet(), quiet_blas(self.problem.order):
            watch = RunMonitor(self.options, self.backend, self.units, allowance)
            solution = judge(self.units.whole, self.backend, self._run(watch), watch)
        solution = replace(solution, build_time=self.build_time, solve_time=clock() - started)
        return solution if self.presolved is None else self._undone(solution, self.presolved)

    def _run(self, watch: RunMonitor) -> Claim:
        try:
            return in_statement(self.plan.run(watch), self.units)
        except BROKEN as error:
            if watch.of_callback(error):
                raise
            return Claim(None, None, Status.FAILED, message=f"{type(error).__name__}: {error}")

    def _undone(self, solution: Solution, presolved: Smaller) -> Solution:
        """The solution of the stated problem; both problems have the same feasible kernels."""
        y, found = solution.multipliers, solution.known_certificate
        y = presolved.undo((None, y))[1]
        if found is not None and y is not None:
            found = replace(found, multipliers=y)
        return replace(solution, problem=self.problem, multipliers=y, known_certificate=found)

    def describe(self) -> str:
        """Cones and sizes, or factor sizes, and the memory they need."""
        words = self.plan.describe()
        if self.presolved is None:
            return words
        return f"{words}; on a face with a basis of {self.units.whole.order} columns"

    def __repr__(self) -> str:
        return f"Program({self.backend} for {self.problem!r})"
