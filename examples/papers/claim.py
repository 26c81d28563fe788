"""A claim of a paper and the verdict of the runs on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cells import Notes, Row

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """In how many of how many cases it holds, and the figures that say so."""

    held: int
    cases: int
    figure: str

    def word(self, often: bool = False) -> str:
        """Yes, no or in part; where the paper says "often", more than half of the cases are enough."""
        if self.held == self.cases or (often and 2 * self.held > self.cases):
            return "yes"
        return "no" if 2 * self.held < self.cases else "in part"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes
    ----------
    where : str
        Section, table or figure of the paper.
    words : str
        What it says, in our words.
    item : str
        The table or figure whose runs decide.
    judge : callable
        The verdict from the results of the item; None if they do not decide.
    often : bool
        The paper says "often", "usually" or "generally".
    """

    where: str
    words: str
    item: str
    judge: Callable[[Results], Verdict | None]
    often: bool = False


def cases(found: Iterable[tuple[str, bool]], what: str = "") -> Verdict | None:
    """Of cases by name, whether each holds; those that do not are named."""
    every = list(found)
    against = [name for name, holds in every if not holds]
    named = f"; not {', '.join(against[:6])}{' ...' if len(against) > 6 else ''}" if against else ""
    figure = f"{len(every) - len(against)} of {len(every)}{' ' + what if what else ''}{named}"
    return Verdict(len(every) - len(against), len(every), figure) if every else None


def rows(
    found: Results, methods: Iterable[str], names: Iterable[str], middle: str = ""
) -> list[tuple[str, Row]]:
    """The rows of sets on which all of the methods were run, on the same draws."""
    out = []
    for name in names:
        row = Row(found, {m: f"{name}, {middle}{m}, " for m in methods}, Notes(), str)
        if row and all(row.runs.values()):
            out.append((name, row))
    return out


def sets_of(found: Results) -> list[str]:
    """The sets that were run, in their order."""
    return list(dict.fromkeys(key.split(", ")[0] for key in found))


def above(row: Row, one: str, other: str, what: str, level: float = 0.0) -> bool:
    """Whether one's mean is above the other's on the same draws, by more than ``level`` standard errors."""
    apart = np.subtract(row.values(one, what), row.values(other, what))
    error = apart.std(ddof=1) / np.sqrt(apart.size) if apart.size > 1 else 0.0
    return bool(apart.mean() > level * error)


def beats(
    one: str, other: str, what: str, found: Results, names: Iterable[str] | None = None
) -> Verdict | None:
    """One is above the other (less, of seconds) on each set."""
    every = rows(found, (one, other), names or sets_of(found))
    pair = (other, one) if what == "seconds" else (one, other)
    return cases(((name, above(row, *pair, what)) for name, row in every), "sets")


def level(one: str, other: str, found: Results) -> Verdict | None:
    """One is not told from the other, or above it, by a paired test on each set."""
    every = rows(found, (one, other), sets_of(found))
    return cases(
        ((name, not above(row, other, one, "accuracy", 2.0)) for name, row in every),
        "sets: level, or less than two standard errors below",
    )
