"""The options of admm."""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.errors import UnsupportedError, unknown
from npkl_models.solve.options import FactorOptions

POLISHERS = ("none", "newton", "bcd")


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
        if not 1 <= self.relaxation < 2:
            raise UnsupportedError(f"relaxation must be at least 1 and below 2, got {self.relaxation!r}")
        if self.polish not in POLISHERS:
            raise unknown("polish", self.polish, POLISHERS)
        for name in ("rho", "rho_floor", "sigma"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UnsupportedError(f"{name} must be > 0, got {value!r}")
