"""The options of the low-rank backends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import chosen
from npkl_models.solve.options import FactorOptions, is_real, require

METHODS = ("auto", "newton", "lbfgs")


def positive(name: str, value: float) -> None:
    """Raise an error unless the value is a positive and finite number."""
    require(is_real(value) and 0 < value < np.inf, f"{name} must be > 0 and finite", value)


@dataclass(frozen=True, kw_only=True)
class BCDOptions(FactorOptions):
    """Options of bcd.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of iterations (sweeps and Newton steps), 20,000 by default.
    extrapolation : bool
        Whether to try an Anderson extrapolation every six sweeps; it is kept only if the objective falls.
    newton : bool
        Whether truncated Newton steps on V may take over from slow sweeps.
    """

    extrapolation: bool = True
    newton: bool = True


@dataclass(frozen=True, kw_only=True)
class ADMMOptions(FactorOptions):
    """Options of admm.

    Parameters
    ----------
    rho : float
        Initial penalty on V = U.
    rho_floor : float, optional
        Smallest value of rho that balancing may choose (10 in the source). None is 1.5 ||C||, below which the
        alternation may diverge. If the run diverges, the floor is doubled and the run begins again.
    sigma : float
        Penalty on the split of a loss that is not quadratic.
    relaxation : float
        Over-relaxation of V in the coupling, from 1 (none, as in the source) to below 2. It is set to 1 if
        the residual has not halved in 200 iterations. The floor of rho is raised if the residual has risen
        tenfold.
    """

    rho: float = 10.0
    rho_floor: float | None = None
    sigma: float = 1.0
    relaxation: float = 1.6

    @property
    def as_stated(self) -> bool:
        return (self.rho, self.rho_floor, self.sigma) != (10.0, None, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        between = is_real(self.relaxation) and 1 <= self.relaxation < 2
        require(between, "relaxation must be at least 1 and below 2", self.relaxation)
        positive("rho", self.rho)
        positive("sigma", self.sigma)
        if self.rho_floor is not None:
            positive("rho_floor", self.rho_floor)


@dataclass(frozen=True, kw_only=True)
class BurerMonteiroOptions(FactorOptions):
    """Options of burer_monteiro and hybrid.

    Parameters
    ----------
    method : {"auto", "newton", "lbfgs"}
        Descent method: preconditioned truncated Newton ("newton") or limited-memory BFGS ("lbfgs"). "auto"
        begins with "lbfgs", and changes to "newton" once a hundred steps gain less than a digit. For
        distances over centred kernels, whose graph gives a preconditioner, "auto" begins with "newton".
    """

    method: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen("method", self.method, METHODS)
