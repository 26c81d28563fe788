"""The regularisers and their registry: none, row norms (here), and tr K^p (`trace_power`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import positive_number
from npkl_models.model.regularizer import ROUND, SMALLEST, Regularizer, inside, linear_support, parameter
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

    def violation(self, eigenvalues: Array, diagonal: Array, more: float = 0.0) -> float:
        return 0.0

    def rescale(self, V: Array) -> Array:
        return V

    def support(self, eigenvalues: Array, n: int | None = None) -> float:
        return linear_support(eigenvalues, 0.0)

    def cvxpy_primal(self, K: Cvx, diagonal: Cvx) -> tuple[Cvx, list[Cvx], Cvx | None]:
        return 0.0, [], None

    def cvxpy_support(self, S: Cvx, n: int, lift: Callable[[Cvx], Cvx]) -> CvxSupport:
        return CvxSupport(0.0, S, [], None)


@dataclass(frozen=True)
class RowNormBound(Regularizer):
    """A bound on row norms: K_ii <= b^2 for every point, so the rows of a factor have norm at most b.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> R = nm.RowNormBound(1.0)
    >>> R.violation(np.zeros(0), diagonal=np.array([1.0, 4.0]))  # a row of norm 2 is one too long
    1.0
    """

    b: float = 1.0
    name = "row_norm"

    @property
    def row_radius(self) -> float:
        return self.b

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", positive_number(self.b, "row-norm bound b"))
        if not SMALLEST <= self.b <= 1 / SMALLEST:
            raise ProblemError(f"row-norm bound b must be between 1e-150 and 1e150, got {self.b}")

    def rescaled(self, cost: float, kernel: float) -> RowNormBound:
        return RowNormBound(self.b / float(np.sqrt(kernel)))

    @property
    def latex(self) -> str:
        return rf"K_{{ii}} \le {self.b**2:g}"

    @property
    def latex_dual(self) -> tuple[str, str]:
        return rf"{self.b**2:g} \sum_i d_i", r"S \succeq 0,\; d \ge 0"

    def latex_optimality(self, S: str, K: str) -> str:
        slack = rf"d \ge 0,\; d_i ({self.b**2:g} - K_{{ii}}) = 0"
        return rf"{S} \succeq 0,\; {S} {K} = 0,\; {slack}"

    @property
    def words(self) -> str:
        return f"K_ii <= {self.b**2:g}"

    def violation(self, eigenvalues: Array, diagonal: Array, more: float = 0.0) -> float:
        top = float(np.sqrt(np.max(diagonal, initial=0.0) + more))
        return max(0.0, top / self.b - 1) if top == top else float("inf")

    def rescale(self, V: Array) -> Array:
        norms = np.sqrt(np.einsum("ir,ir->i", V, V))
        most = inside(V) * self.b
        return V * (most / np.maximum(norms, most))[:, None] if (norms > most).any() else V

    def trace_bound(self, n: int) -> float:
        return n * self.b**2

    def support(self, eigenvalues: Array, n: int | None = None) -> float:
        """Upper bound b^2 n max(0, lambda_max(Z)), from equal row multipliers.

        The exact support is the minimum of b^2 sum d over d >= 0 with Diag(d) >= Z, itself an SDP.
        """
        points = eigenvalues.size if n is None else n  # over a basis Z has fewer rows than points
        return self.b**2 * points * max(0.0, float(np.max(eigenvalues, initial=0.0))) * (1 + 8 * ROUND)

    def cvxpy_primal(self, K: Cvx, diagonal: Cvx) -> tuple[Cvx, list[Cvx], Cvx | None]:
        rows = diagonal <= parameter("b_squared", self.b**2)
        return 0.0, [], rows

    def cvxpy_support(self, S: Cvx, n: int, lift: Callable[[Cvx], Cvx]) -> CvxSupport:
        import cvxpy as cp

        d = cp.Variable(n, nonneg=True)
        return CvxSupport(self.b**2 * cp.sum(d), S + lift(d), [], d)


REGULARIZERS: dict[str, type[Regularizer]] = {
    cls.name: cls for cls in (NoRegularizer, TracePower, RowNormBound)
}
