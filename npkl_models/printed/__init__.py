"""The papers' algorithms as they are in print, each in a file to be read beside its paper.

They are backends like the others, and the certificate says what their answers are worth; but nothing takes
them unless they are named. `kl_admm` is Hu & Kwok (2013), `bcdkl` Hu & Kwok (2015), `bcd_npkl` the baseline
of that paper, `simple_npkl` Zhuang, Tsang & Hoi (2011), `sqlp` Wu (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.solve.options import FactorOptions


@dataclass(frozen=True, kw_only=True)
class PrintedFactorOptions(FactorOptions):
    """Options of the printed algorithms on a factor.

    Parameters
    ----------
    rank : "auto", "pataki" or int
        Columns of V, which stay as many as they are: by default the largest r with r(r+1)/2 <= m for m loss
        values; a pair counts in both orders where there are losses on the diagonal too.
    """

    rank: int | str = "pataki"

    @property
    def as_stated(self) -> bool:
        return True
