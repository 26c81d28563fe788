"""The options of admm."""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.errors import UnsupportedError, unknown
from npkl_models.solve.options import FactorOptions, require

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
        Over-relaxation of V in the coupling, between 1 (none, as printed) and 2. It is left for 1 where the
        residual has not halved in 200 iterations, and rho's floor raised where it has risen tenfold (not with
        ``epsilon``).
    polish : {"none", "newton", "bcd"}
        Who takes over once the residual is below 1e-3: truncated Newton on V, or sweeps of bcd (no
        regulariser). The solution's message says so.
    epsilon : float, optional
        Stop as printed, once both residuals of eq. (14) are below it, in place of the certificate, which
        is made at the end and names the status. The rank does not grow then.
    independent : bool
        Draw U apart from V at the start, as printed; else U = V there.
    printed_d : bool
        Take the right-hand side d_i as printed, with T_ij v_i, which is wrong (quadratic losses): the limit
        is no stationary point.
    checks : bool
        Check Lemma 1 and Proposition 1 at every iterate; further columns of the history, and the outcome in
        the message (quadratic losses, relaxation 1).
    """

    rho: float = 10.0
    rho_floor: float | None = None
    sigma: float = 1.0
    relaxation: float = 1.6
    polish: str = "none"
    epsilon: float | None = None
    independent: bool = False
    printed_d: bool = False
    checks: bool = False

    @property
    def as_stated(self) -> bool:
        own = (self.rho, self.rho_floor, self.sigma, self.epsilon) != (10.0, None, 1.0, None)
        return own or self.independent or self.printed_d or self.checks

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.relaxation < 2:
            raise UnsupportedError(f"relaxation must be at least 1 and below 2, got {self.relaxation!r}")
        if self.polish not in POLISHERS:
            raise unknown("polish", self.polish, POLISHERS)
        for name in ("rho", "rho_floor", "sigma", "epsilon"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UnsupportedError(f"{name} must be > 0, got {value!r}")
        rule = "polish must be 'none' with epsilon, which is about V and U"
        require(self.epsilon is None or self.polish == "none", rule, self.polish)
        rule = "relaxation must be 1 with checks, since Lemma 1 is about the plain alternation"
        require(not self.checks or self.relaxation == 1, rule, self.relaxation)
