"""What the printed algorithms on a factor have in common: the papers' rank, and a criterion of their own."""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.solve.options import FactorOptions, require


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


def positive(name: str, value: float | None) -> None:
    """Refuse a number that is not positive; None is none."""
    require(value is None or value > 0, f"{name} must be > 0", value)
