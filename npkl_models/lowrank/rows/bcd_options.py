"""The options of bcd."""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.errors import UnsupportedError, unknown
from npkl_models.lowrank.rows.free import UPDATES
from npkl_models.lowrank.rows.sweeps import KERNELS
from npkl_models.solve.options import FactorOptions, require


@dataclass(frozen=True, kw_only=True)
class BCDOptions(FactorOptions):
    """Options of bcd.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the sweeps, 20,000 by default.
    nonsmooth : {"multipliers", "row_qp"}
        How a loss with a kink is handled: by the method of multipliers, or by the row programs of the
        source, which descend but may stall away from a minimum.
    extrapolation : bool
        Anderson extrapolation every five sweeps, kept only when the objective falls.
    kernel : {"auto", "numpy", "numba"}
        Rows a colour at a time in numpy, or one by one in compiled code (numba; losses with slopes that
        are linear between two ends, as all of this library's). "auto" takes the compiled one where it can.
    newton : bool
        Go on with truncated Newton steps on V once sweeps gain less than a digit in a hundred.
    epsilon : float, optional
        Stop as printed, once a sweep changes V by at most this share of its norm, in place of the
        certificate, which is made at the end and names the status. The rank does not grow then.
    reshuffle : bool
        Draw the order of the rows anew before every sweep, as printed.
    labelled_first : bool
        Take the rows of points with pairs (or a loss on the diagonal) before the others, as printed.
    unlabelled : {"rows", "step", "block"}
        How the others are updated: one by one, eq. (13); all by one step of eq. (17); or all exactly, by one
        sparse solve. The last two come after the rows with pairs, and take no row norms.
    eliminate : bool
        BCD-NPKL, eqs. (35)-(37): the Schur complement of the cost over the points with pairs, formed
        and dense, and sweeps over these alone (no row norms).
    """

    nonsmooth: str = "multipliers"
    extrapolation: bool = True
    kernel: str = "auto"
    newton: bool = True
    epsilon: float | None = None
    reshuffle: bool = False
    labelled_first: bool = False
    unlabelled: str = "rows"
    eliminate: bool = False

    @property
    def as_stated(self) -> bool:
        printed = self.nonsmooth != "multipliers" or self.unlabelled != "rows" or self.epsilon is not None
        return printed or self.reshuffle or self.labelled_first or self.eliminate

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nonsmooth not in ("multipliers", "row_qp"):
            raise UnsupportedError(f"nonsmooth must be 'multipliers' or 'row_qp', got {self.nonsmooth!r}")
        if self.kernel not in KERNELS:
            raise UnsupportedError(f"kernel must be 'auto', 'numpy' or 'numba', got {self.kernel!r}")
        if self.unlabelled not in UPDATES:
            raise unknown("unlabelled", self.unlabelled, UPDATES)
        require(self.epsilon is None or self.epsilon > 0, "epsilon must be > 0", self.epsilon)
        rule = (
            "labelled_first must be False and unlabelled 'rows' with eliminate, which takes these points out"
        )
        others = (self.labelled_first, self.unlabelled)
        require(not self.eliminate or others == (False, "rows"), rule, others)
