"""The options of the low-rank backends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import chosen
from npkl_models.solve.options import FactorOptions, is_real, require

KERNELS = ("auto", "numpy", "numba")
METHODS = ("auto", "newton", "lbfgs")
POLISHERS = ("none", "newton", "bcd")


def positive(name: str, value: float) -> None:
    """Refuse what is no positive and finite number."""
    require(is_real(value) and 0 < value < np.inf, f"{name} must be > 0 and finite", value)


@dataclass(frozen=True, kw_only=True)
class BCDOptions(FactorOptions):
    """Options of bcd.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the sweeps, 20,000 by default.
    extrapolation : bool
        Anderson extrapolation every five sweeps, kept only when the objective falls.
    kernel : {"auto", "numpy", "numba"}
        Rows a colour at a time in numpy, or one by one in compiled code (numba; losses with slopes that
        are linear between two ends, as all of this library's). "auto" takes the compiled one where it can.
    newton : bool
        Go on with truncated Newton steps on V once sweeps gain less than a digit in a hundred.
    """

    extrapolation: bool = True
    kernel: str = "auto"
    newton: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.kernel in KERNELS, "kernel must be 'auto', 'numpy' or 'numba'", self.kernel)


@dataclass(frozen=True, kw_only=True)
class ADMMOptions(FactorOptions):
    """Options of admm.

    Parameters
    ----------
    rho : float
        First penalty on V = U.
    rho_floor : float, optional
        Smallest value that balancing may give it (10 in the source); None is 1.5 ||C||, below which the
        alternation may diverge. It is doubled, and the run begun again, when it does.
    sigma : float
        Penalty on the split of a loss that is not quadratic.
    relaxation : float
        Over-relaxation of V in the coupling, between 1 (none, as in the source) and 2. It is left for 1 where
        the residual has not halved in 200 iterations, and rho's floor raised where it has risen tenfold.
    polish : {"none", "newton", "bcd"}
        Who takes over once the residual is below 1e-3: truncated Newton on V, or sweeps of bcd (no
        regulariser). The solution's message says so.
    """

    rho: float = 10.0
    rho_floor: float | None = None
    sigma: float = 1.0
    relaxation: float = 1.6
    polish: str = "none"

    @property
    def as_stated(self) -> bool:
        return (self.rho, self.rho_floor, self.sigma) != (10.0, None, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        between = is_real(self.relaxation) and 1 <= self.relaxation < 2
        require(between, "relaxation must be at least 1 and below 2", self.relaxation)
        chosen("polish", self.polish, POLISHERS)
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
        Preconditioned truncated Newton, or limited-memory BFGS; "auto" begins with the latter and goes
        over to the former once a hundred steps gain less than a digit; on distances over centred kernels,
        whose graph preconditions it, it begins with the former.
    """

    method: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen("method", self.method, METHODS)
