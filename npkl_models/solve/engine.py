"""The interface of solvers that improve a factor by one iteration at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from npkl_models.answer.solution import Status
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers

PATIENCE = 400  # an engine counts as stuck after so many iterations without a better residual
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
    verdict: Status | None = None  # INFEASIBLE or UNBOUNDED, if the iterates say so
    moving: bool = False  # whether the last iteration gained something that the residual does not show
    patience: float = PATIENCE  # iterations without a better residual after which the engine counts as stuck
    bound: float = float("nan")  # a lower bound that the engine itself knows, for the history

    @property
    def shown(self) -> Array | None:
        """The factor of the last iterate, for a callback."""
        return self.V

    @property
    def rank(self) -> int:
        """The number of columns, for the history."""
        return self.V.shape[1]

    @abstractmethod
    def iterate(self) -> None:
        """Do one iteration, and set V, objective and residual."""

    @abstractmethod
    def multipliers(self) -> Multipliers:
        """A dual point in the domain of the conjugates."""

    def grow(self, direction: Array) -> bool:
        """Leave a stationary point along a negative direction of the slack; False if this is not possible."""
        return False
