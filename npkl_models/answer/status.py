"""How a solve ended, and who was tried."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Status(Enum):
    """Outcome of a solve; the text is the advice.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.Status.ITERATION_LIMIT.value
    'stopped at max_iter: raise it, or start from this solution'
    """

    OPTIMAL = "certified optimal within the tolerance"
    LOCALLY_SOLVED = (
        "stationary, but not certified within the tolerance: raise the rank or lower tol, "
        "and look at certificate.min_eigenvalue"
    )
    INACCURATE = (
        "the solver stopped with a point that its certificate does not confirm within the "
        "tolerance: ask the solver for more accuracy or use another"
    )
    INFEASIBLE = "the constraints contradict each other: see problem.diagnose()"
    UNBOUNDED = "the objective has no lower bound: add a regulariser with a bound"
    ITERATION_LIMIT = "stopped at max_iter: raise it, or start from this solution"
    TIME_LIMIT = "stopped at time_limit: raise it, or start from this solution"
    STOPPED = "stopped by the callback or from the keyboard; this is the best point so far"
    FAILED = "the solver broke down: see the message, and try another backend"

    def __str__(self) -> str:
        return self.name


class Attempt(NamedTuple):
    """A backend that was tried: for how long, how it ended, and the relative gap that was certified."""

    backend: str
    seconds: float
    status: Status
    gap: float

    def __str__(self) -> str:
        return f"{self.backend} {self.seconds:.2g} s, {self.status}, gap {self.gap:.1e}"
