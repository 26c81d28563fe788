"""The interface of solvers that improve a factor by one iteration at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers

FIRST_LOOK = 1e3  # the first look comes once the residual is below this multiple of tol


class Engine(ABC):
    """Base class of solvers that improve a factor by one iteration at a time."""

    V: Array
    objective: float
    residual: float  # scale-free estimate of the relative gap that non-stationarity costs
    finisher: Engine | None = None  # the engine that has taken over
    note: str = ""  # a note on this run for the solution's message
    hopeless: bool = False  # the largest penalty is too small: constraints cost more with every move
    work: float = 0.0  # counted work of the iterations (`Allowance`); 0 if the engine does not count
    measured: Mapping[str, float] = {}  # further columns of the history
    first_look: float = FIRST_LOOK  # no certificate while the residual is above this multiple of tol
    met: bool | None = None  # whether the source's own criterion holds; None if the certificate decides

    @abstractmethod
    def iterate(self) -> None:
        """Do one iteration, and set V, objective and residual."""

    @abstractmethod
    def multipliers(self) -> Multipliers:
        """A dual point in the domain of the conjugates."""

    def grow(self, direction: Array) -> bool:
        """Leave a stationary point along a negative direction of the slack; False if this is not possible."""
        return False
