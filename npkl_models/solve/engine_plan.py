"""Plans whose run is the loop of an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from npkl_models.answer.solution import Status
from npkl_models.errors import UnsupportedError
from npkl_models.model.statement import Statement
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise
from npkl_models.solve.cost import last_seconds
from npkl_models.solve.engine import Engine
from npkl_models.solve.judge import Claim
from npkl_models.solve.looks import Run
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.watch import BROKEN, RunMonitor


@dataclass(frozen=True)
class EnginePlan(ABC):
    """Base class of plans that run an engine; the engine is made when the run begins.

    Examples
    --------
    >>> import npkl_models as nm
    >>> sorted(nm.EnginePlan.__abstractmethods__)
    ['describe', 'engine']
    """

    problem: Statement
    options: IterativeOptions
    iterations: ClassVar[int]  # limit on the iterations if max_iter is None

    @abstractmethod
    def engine(self) -> Engine:
        """Make the engine at its starting point."""

    @abstractmethod
    def describe(self) -> str:
        """Describe the sizes, and the memory that they need."""

    def run(self, watch: RunMonitor) -> Claim:
        """Iterate until the point is certified, or a limit is reached."""
        try:
            engine = self.engine()
        except BROKEN as error:
            return Claim(None, None, Status.FAILED, message=f"{type(error).__name__}: {error}")
        S = self.problem.slack(engine.multipliers()) if watch.rigour == "proved" else None
        if S is not None and not can_factorise(self.problem.restrict(S)):
            raise UnsupportedError(
                "rigour='proved' needs a factorisation of the dual slack; the slack of order "
                f"{self.problem.order} is too large (above {DENSE_CHOLESKY}) and not sparse enough; "
                "use rigour='probable'"
            )
        watch.expect(last_seconds(self.problem), cut=self.problem.order > DENSE_CHOLESKY)
        run = Run(self.problem, engine, watch)
        status = watch.attempt(lambda: run.until(self.options.max_iter or self.iterations))
        return run.claim(status)
