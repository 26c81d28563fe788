"""The regularisers and their registry: none (here) and tr K^p (`trace_power`); and bounds on row norms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import positive_number
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Entries
from npkl_models.model.reading import ROOT
from npkl_models.model.regularizer import Regularizer, linear_support
from npkl_models.model.trace_cones import Cvx, CvxSupport
from npkl_models.model.trace_power import TracePower

__all__ = ["REGULARIZERS", "NoRegularizer", "Regularizer", "RowNormBound", "TracePower"]


@dataclass(frozen=True)
class NoRegularizer(Regularizer):
    """No regulariser: R = 0.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> R = nm.NoRegularizer()
    >>> R.support(np.array([-1.0, 0.0])), R.support(np.array([-1.0, 0.5]))
    (0.0, inf)
    """

    name = "none"
    latex = ""
    latex_dual = ("", r"S \succeq 0")
    vacuous = True

    def latex_optimality(self, S: str, K: str) -> str:
        return rf"{S} \succeq 0,\; {S} {K} = 0"

    def violation(self, eigenvalues: Array, more: float = 0.0) -> float:
        return 0.0

    def rescale(self, V: Array) -> Array:
        return V

    def support(self, eigenvalues: Array) -> float:
        return linear_support(eigenvalues, 0.0)

    def cvxpy_primal(self, K: Cvx) -> tuple[Cvx, list[Cvx]]:
        return 0.0, []

    def cvxpy_support(self, S: Cvx) -> CvxSupport:
        return CvxSupport(0.0, S, [])


@dataclass(frozen=True)
class RowNormBound:
    """A bound on row norms, K_ii <= b^2 for every point, so the rows of a factor have norm at most b.

    A problem takes it in the place of a regulariser, and holds it as a `Constraint` on the diagonal.

    Source: Hu & Kwok, IEEE TNNLS 26 (2015), eq. (29).
    """

    b: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", positive_number(self.b, "row-norm bound b"))
        if not 1 / ROOT <= self.b <= ROOT:
            raise ProblemError(f"row-norm bound b must be between 1e-150 and 1e150, got {self.b}")

    def constraint(self, n: int) -> Constraint:
        """The upper bound b^2 on the diagonal of a kernel of n points."""
        every = np.arange(n)
        return Constraint(Entries(n, (every, every)), upper=self.b**2, name="row norms")


REGULARIZERS: dict[str, type[Regularizer]] = {cls.name: cls for cls in (NoRegularizer, TracePower)}
