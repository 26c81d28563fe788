"""The options of bcd."""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.errors import UnsupportedError
from npkl_models.lowrank.rows.sweeps import KERNELS
from npkl_models.solve.options import FactorOptions


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
        if self.kernel not in KERNELS:
            raise UnsupportedError(f"kernel must be 'auto', 'numpy' or 'numba', got {self.kernel!r}")
