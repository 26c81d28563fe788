"""A backend as a value: the problems that it supports, its cost, and its plan of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from npkl_models.errors import SolverError, UnsupportedError
from npkl_models.feasibility.faces import Face, face_of
from npkl_models.model.statement import Statement
from npkl_models.model.units import Units, binary_units, own_units
from npkl_models.presolve.steps import FACES
from npkl_models.solve.cost import Cost
from npkl_models.solve.options import Options, in_units, parse_options
from npkl_models.solve.program import Plan, Program
from npkl_models.solve.takes import Takes
from npkl_models.solve.watch import BROKEN, quiet

PRINTED = "printed"  # the family of the backends that run only if they are named


UNKNOWN = Cost(float("inf"), 0.0, "does not state its cost")  # no automatic choice takes such a backend


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

    Examples
    --------
    >>> import npkl_models as nm
    >>> bcd = nm.backends()["bcd"]
    >>> bcd.family
    'lowrank'
    >>> bcd.option_names[:3]
    ('tol', 'feasibility', 'max_iter')
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

    def compile(self, problem: Statement, **options: Any) -> Program:
        """Check problem and options, and make a program.

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
        presolved = FACES.apply(problem) if FACES.accepts(problem) else None
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
