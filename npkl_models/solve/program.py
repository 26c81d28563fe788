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
from npkl_models.solve.cost import Allowance
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
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> program = problem.compile("sdp")
    >>> print(program.describe())
    primal SDP over K: one PSD cone of order 2 (3 unknowns), 1 loss values, ...
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
        if self.presolved is None:
            return solution
        y, found = self.presolved.undo((None, solution.multipliers))[1], solution.known_certificate
        if found is not None and y is not None:
            found = replace(found, multipliers=y)  # both problems have the same feasible kernels
        return replace(solution, problem=self.problem, multipliers=y, known_certificate=found)

    def _run(self, watch: RunMonitor) -> Claim:
        try:
            return in_statement(self.plan.run(watch), self.units)
        except BROKEN as error:
            if watch.of_callback(error):
                raise
            return Claim(None, None, Status.FAILED, message=f"{type(error).__name__}: {error}")

    def describe(self) -> str:
        """Cones and sizes, or factor sizes, and the memory they need."""
        words = self.plan.describe()
        if self.presolved is None:
            return words
        return f"{words}; the equalities restrict the kernel to a basis of {self.units.whole.order} columns"

    def __repr__(self) -> str:
        return f"Program({self.backend} for {self.problem!r})"
