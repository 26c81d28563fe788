"""The papers' algorithms as they are printed; each file can be read beside its paper.

The printed algorithms are backends, and their solutions have certificates. But they run only if the user
names them. `kl_admm` is Hu & Kwok (2013), `bcdkl` is Hu & Kwok (2015) with the baseline
of this paper, `simple_npkl` is Zhuang, Tsang & Hoi (2011), and `sqlp` is Wu (2011).
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
        Number of columns of V, which does not change. The default is the largest r with r(r+1)/2 <= m for m
        loss values; a pair counts in both orders if there are also losses on the diagonal.
    """

    rank: int | str = "pataki"

    @property
    def as_stated(self) -> bool:
        return True
