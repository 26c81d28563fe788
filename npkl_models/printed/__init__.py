"""The papers' algorithms as they are in print, each in a file to be read beside its paper.

They are backends like all others, and their solutions have certificates. But they are used only if they are
named. `kl_admm` is Hu & Kwok (2013), `bcdkl` is Hu & Kwok (2015), `bcd_npkl` is the baseline of that paper,
`simple_npkl` is Zhuang, Tsang & Hoi (2011), and `sqlp` is Wu (2011).
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
        Number of columns of V, which does not change. By default the largest r with r(r+1)/2 <= m for m loss
        values; a pair counts in both orders if there are also losses on the diagonal.
    """

    rank: int | str = "pataki"

    @property
    def as_stated(self) -> bool:
        return True
