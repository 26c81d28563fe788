"""A backend as a value: what it takes, what it costs, and how it plans a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from npkl_models.errors import SolverError, UnsupportedError
from npkl_models.model.statement import Statement
from npkl_models.presolve.faces import face_of
from npkl_models.presolve.units import Units, binary_units, own_units
from npkl_models.solve.cost import Cost
from npkl_models.solve.options import Options, in_units, parse_options
from npkl_models.solve.program import Plan, Program
from npkl_models.solve.takes import Takes
from npkl_models.solve.watch import BROKEN, quiet

PRINTED = "printed"  # the family of the backends that are taken by their names alone


def unknown_cost(problem: Statement) -> Cost:
    """Of a backend that does not state its cost: it is not chosen automatically."""
    return Cost(float("inf"), 0.0, "does not state its cost")


@dataclass(frozen=True)
class Backend:
    """A way to solve a problem.

    Attributes
    ----------
    name : str
    family : str
        "conic", "lowrank", "spectral", or another; those of "printed" are taken by their names alone.
    summary : str
        One line.
    takes : Takes
        The problems it can take, as data.
    plan : callable
        (Problem, options) -> Plan.
    options : type
        The dataclass of its options.
    cost : callable
        Problem -> Cost, for the choice between backends. It never raises.

    Examples
    --------
    >>> import npkl_models as nm
    >>> bcd = nm.backends()["bcd"]
    >>> bcd.family
    'lowrank'
    >>> bcd.option_names[:3]
    ('tol', 'max_iter', 'time_limit')
    """

    name: str
    family: str
    summary: str
    takes: Takes
    plan: Callable[[Statement, Any], Plan]
    options: type[Options] = Options
    cost: Callable[[Statement], Cost] = unknown_cost

    def __repr__(self) -> str:
        return f"Backend({self.name}: {self.summary})"

    def compile(self, problem: Statement, **options: Any) -> Program:
        """Check problem and options, and set the program up.

        Raises
        ------
        UnsupportedError
            If the backend cannot take the problem, or does not know an option.
        """
        started = time.perf_counter()
        parsed = parse_options(self.options, options, self.name)
        reason = self.reason(problem)
        if reason is not None:
            raise UnsupportedError(f"{self.name} cannot take this problem: it {reason}")
        face = face_of(problem)
        with quiet():
            try:
                units = Units(face.problem, face.problem) if parsed.as_stated else own_units(face.problem)
                plan = self.plan(units.problem, in_units(parsed, units))
            except BROKEN as error:
                raise SolverError(f"{self.name} could not set the problem up: {error}") from error
        return Program(problem, self.name, parsed, plan, face, units, time.perf_counter() - started)

    def reason(self, problem: Statement) -> str | None:
        """Why this backend cannot take the problem, None if it can, on its face."""
        face = face_of(binary_units(problem).problem)
        reason = self.takes.refusal(face.problem)
        if reason is None or face.whole:
            return reason
        return f"{reason} (its equalities leave no interior and are met by a basis)"

    @property
    def by_name(self) -> bool:
        """Whether it is taken by its name alone: no default chooses it, and no table lists it unasked."""
        return self.family == PRINTED

    @property
    def option_names(self) -> tuple[str, ...]:
        """Names of the options it takes."""
        return tuple(f.name for f in fields(self.options))
