"""The record of a run: iterations, status, backends that were tried; and a solution as arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from npkl_models.errors import chosen
from npkl_models.files.fields import listed, number, text, whole
from npkl_models.linalg import Array
from npkl_models.linalg.owned import Owner, finite, owned, real_array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.storage import HISTORY


class Status(Enum):
    """Status of a solution; the value of each member is a sentence with advice.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.Status.ITERATION_LIMIT.value
    'stopped at max_iter: raise max_iter, or start from this solution'
    """

    OPTIMAL = "certified optimal within the tolerance"
    LOCALLY_SOLVED = (
        "stationary, but not certified within the tolerance: raise the rank, "
        "and look at certificate.min_eigenvalue"
    )
    INACCURATE = (
        "the solver stopped at a point that the certificate does not confirm within the "
        "tolerance: ask the solver for more accuracy, or use another solver"
    )
    FEASIBLE_POINT = "a point from elsewhere that meets the constraints; it is not certified optimal"
    INFEASIBLE_POINT = (
        "a point from elsewhere that misses the constraints, or a kernel that is not positive semidefinite: "
        "read certificate.missed and certificate.violation"
    )
    INFEASIBLE = "the constraints contradict each other: see problem.diagnose()"
    UNBOUNDED = "the objective has no lower bound: add a regulariser with a bound"
    ITERATION_LIMIT = "stopped at max_iter: raise max_iter, or start from this solution"
    TIME_LIMIT = "stopped at time_limit: raise time_limit, or start from this solution"
    STOPPED = "stopped by the callback or from the keyboard; the solution is the best point so far"
    FAILED = "the solver broke down: read solution.message, and try another backend"

    def __str__(self) -> str:
        return self.name


class Attempt(NamedTuple):
    """The record of a backend that was tried: its name, seconds, status and certified relative gap."""

    backend: str
    seconds: float
    status: Status
    gap: float

    def __str__(self) -> str:
        return f"{self.backend} {self.seconds:.2g} s, {self.status}, gap {self.gap:.1e}"


class Iterate(NamedTuple):
    """One row of a history; a callback receives an iterate with the current factor V.

    ``more`` holds further measurements of the backend, by the names of `History.columns`. ``backend`` is the
    name of the backend that runs; only a callback receives it.
    """

    iteration: int
    seconds: float
    objective: float
    bound: float
    residual: float
    rank: int
    V: Array | None = None
    more: Mapping[str, float] = {}
    backend: str = ""


@dataclass(frozen=True, repr=False)
class History(Owner):
    """The history of a run: columns of numbers over the iterations.

    Attributes
    ----------
    iteration, seconds, objective, bound, residual, rank : ndarray
        Standard columns; ``bound`` is nan in iterations without a bound.
    more : mapping of str to ndarray
        Further columns of the backend, such as the residuals of admm; nan in iterations without a number.
    """

    iteration: Array = field(default_factory=lambda: np.zeros(0))
    seconds: Array = field(default_factory=lambda: np.zeros(0))
    objective: Array = field(default_factory=lambda: np.zeros(0))
    bound: Array = field(default_factory=lambda: np.zeros(0))
    residual: Array = field(default_factory=lambda: np.zeros(0))
    rank: Array = field(default_factory=lambda: np.zeros(0))
    more: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in STANDARD:
            object.__setattr__(self, name, owned(getattr(self, name)))
        more = {name: owned(column) for name, column in self.more.items()}
        object.__setattr__(self, "more", more)

    @classmethod
    def of(cls, rows: Sequence[Iterate]) -> History:
        """Make a history from iterates in their order."""
        if not rows:
            return cls()
        table = np.array([row[:6] for row in rows], dtype=float)
        names = dict.fromkeys(name for row in rows for name in row.more)
        more = {name: np.array([row.more.get(name, np.nan) for row in rows], dtype=float) for name in names}
        own = dict(zip(STANDARD, table.T.copy(), strict=True))
        return cls(**own, more=more)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return (*STANDARD, *self.more)

    def __getitem__(self, name: str) -> Array:
        """The column with the given name."""
        chosen("column of this history", name, self.columns)
        return getattr(self, name) if name in STANDARD else self.more[name]

    def __len__(self) -> int:
        return int(self.iteration.size)

    def __repr__(self) -> str:
        return f"History({len(self)} rows)"

    def pack(self) -> dict[str, Array]:
        """The columns as arrays for a file."""
        return {f"{HISTORY}{name}": self[name] for name in self.columns}

    @classmethod
    def unpack(cls, data: Mapping[str, Array]) -> History:
        """Restore a history from the arrays of `pack`."""
        found = {name.removeprefix(HISTORY): data[name] for name in data if name.startswith(HISTORY)}
        own = {name: found.pop(name) for name in STANDARD}
        return cls(**own, more=found)


STANDARD = ("iteration", "seconds", "objective", "bound", "residual", "rank")
NUMBERS = ("reported_objective", "build_time", "solve_time", "kernel_min_eigenvalue")


def packed_arrays(V: Array | None, y: Multipliers | None, history: History) -> dict[str, Array]:
    """The arrays of a solution: factor, multipliers and history."""
    arrays = dict(history.pack())
    if V is not None:
        arrays["V"] = V
    if y is not None:
        arrays |= {f"y{k}": part for k, part in enumerate(y.terms)}
    return arrays


def unpacked(header: dict[str, Any], data: dict[str, Array], problem: Statement) -> dict[str, Any]:
    """The fields of a solution with checked types, except status and objective; or a KeyError."""
    y = [real_array(data[f"y{k}"], f"y{k}") for k in range(len(problem.terms))] if "y0" in data else None
    return {
        "backend": text(header, "backend"), "message": text(header, "message"),
        "V": finite(real_array(data["V"], "V"), "V") if "V" in data else None,
        "multipliers": None if y is None else problem.as_multipliers(problem.split_multipliers(y)),
        "history": History.unpack({k: real_array(data[k], k) for k in data if k.startswith(HISTORY)}),
        "iterations": whole(header, "iterations"), **{name: number(header, name) for name in NUMBERS},
    }  # fmt: skip


def attempts(header: dict[str, Any]) -> tuple[Attempt, ...]:
    """The attempts, with checked types."""
    rows = (dict(zip(Attempt._fields, row, strict=True)) for row in listed(header, "attempts"))
    return tuple(
        Attempt(text(one, "backend"), number(one, "seconds"), status_of(one), number(one, "gap"))
        for one in rows
    )


def status_of(found: Mapping[str, Any]) -> Status:
    """The status by its name."""
    return Status[chosen("status", text(found, "status"), Status.__members__)]
