"""A backend as a value, with the problems that it supports, its cost and its plan; and its programs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import npkl_models.interrupts as interrupts
from npkl_models.answer.solution import Solution, Status
from npkl_models.errors import SolverError, UnsupportedError
from npkl_models.feasibility.faces import Face, face_of
from npkl_models.linalg.compile import clock
from npkl_models.linalg.threads import quiet_blas
from npkl_models.model.misses import misses, worst
from npkl_models.model.statement import Statement
from npkl_models.model.units import Units, binary_units, own_units
from npkl_models.presolve.steps import FACES, Smaller
from npkl_models.solve.cost import Allowance, Cost
from npkl_models.solve.judge import Claim, in_statement, judge
from npkl_models.solve.options import Options, in_units, parse_options
from npkl_models.solve.takes import Takes
from npkl_models.solve.watch import BROKEN, RunMonitor, progress_log, quiet

PRINTED = "printed"  # the family of the backends that run only if they are named
UNKNOWN = Cost(float("inf"), 0.0, "does not state its cost")  # no automatic choice takes such a backend


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
        if found is not None and y is not None:  # both problems have the same feasible kernels
            missed, name = worst(misses(self.problem, found.point))  # in memory, the face meets less exactly
            if missed > found.violation:
                found = replace(found, violation=missed, missed=name)
            found = replace(found, multipliers=y)
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


@dataclass(frozen=True)
class Backend:
    """A backend: a solver, the problems that it supports, its options and its predicted cost.

    Attributes
    ----------
    name : str
        Name of the backend.
    family : str
        Family, such as "conic", "lowrank" or "spectral". Backends of the family "printed" are used only if
        they are named.
    summary : str
        Summary in one line.
    takes : Takes
        The problems that the backend supports, as data.
    plan : callable
        Function (Problem, options) -> Plan.
    options : type
        Dataclass of the options.
    cost : callable
        Function Problem -> Cost, for the choice between backends. It never raises an error.
    """

    name: str
    family: str
    summary: str
    takes: Takes
    plan: Callable[[Statement, Any], Plan]
    options: type[Options] = Options
    cost: Callable[[Statement], Cost] = lambda problem: UNKNOWN

    def __repr__(self) -> str:
        return f"Backend({self.name}: {self.summary})"

    def compile(self, problem: Statement, *, faces: bool = True, **options: Any) -> Program:
        """Check problem and options, and make a program.

        Without ``faces`` the problem is not restricted to the face of its equalities. Then each of them has a
        multiplier of its own, as a program of CVXPY needs, whose variables are the multipliers.

        Raises
        ------
        UnsupportedError
            If the backend does not support the problem, or does not know an option.
        """
        started = time.perf_counter()
        parsed = parse_options(self.options, options, self.name)
        reason = self.reason(problem)
        if reason is not None:
            raise UnsupportedError(f"{self.name} cannot take this problem: it {reason}")
        presolved = FACES.apply(problem) if faces and FACES.accepts(problem) else None
        whole = problem if presolved is None else presolved.problems[0]
        with quiet():
            try:
                units = Units(whole, whole) if parsed.as_stated else own_units(whole)
                plan = self.plan(units.problem, in_units(parsed, units))
            except BROKEN as error:
                raise SolverError(f"{self.name} could not set the problem up: {error}") from error
        return Program(problem, self.name, parsed, plan, presolved, units, time.perf_counter() - started)

    def reason(self, problem: Statement) -> str | None:
        """Why this backend does not support the problem on its face; None if it does."""
        return self.reason_on(face_of(binary_units(problem).problem))

    def reason_on(self, face: Face) -> str | None:
        """The same for a face that is known."""
        reason = self.takes.refusal(face.problem)
        if reason is None or face.whole:
            return reason
        return f"{reason} (its equalities have no strictly feasible kernel, so it is solved in a basis)"

    @property
    def by_name(self) -> bool:
        """Whether the backend is used only if it is named; no default chooses it, and no table lists it."""
        return self.family == PRINTED

    @property
    def option_names(self) -> tuple[str, ...]:
        """Names of the options of the backend."""
        return tuple(f.name for f in fields(self.options))
