"""What a cell of a page says: its number of draws, a spread of two draws or more, differences of the same draws.

A cell is "87.5 ± 8.4 (10)": mean, standard deviation and number of draws; "87.5 (1)" of one draw; "(10, 3 cut)"
where three runs ended at a time limit; "87.5 (fixed)" where nothing is drawn; "- [a]" where there is no run,
for the reason [a] below the table. All cells of a row are of the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

Runs = Mapping[int, Mapping[str, Any]]


class Notes:
    """Reasons of cells without a run, each by a letter."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def empty(self, reason: str) -> str:
        """The cell."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"- [{chr(ord('a') + self.reasons.index(reason))}]"

    def text(self) -> str:
        """A paragraph of all reasons, or nothing."""
        lines = (f"[{chr(ord('a') + k)}] {reason}" for k, reason in enumerate(self.reasons))
        return "No run: " + "; ".join(lines) + "." if self.reasons else ""


def not_here(name: str) -> str:
    """The reason of a cell whose runs were not asked for, or have failed."""
    return f"{name} is not among the runs that are kept"


def paragraphs(*parts: str) -> str:
    """Those that hold anything."""
    return "\n\n".join(part for part in parts if part)


def draws(found: Mapping[str, Any], prefix: str) -> dict[int, Mapping[str, Any]]:
    """The runs whose key is ``prefix`` and a seed, by seed."""
    return {
        int(key[len(prefix) :]): one for key, one in found.items()
        if key.startswith(prefix) and key[len(prefix) :].isdigit() and isinstance(one, dict)
    }  # fmt: skip


def said(values: Sequence[float], digits: int = 1, cut: int = 0) -> str:
    """Mean, standard deviation, number of draws, and how many of them were cut."""
    kept = np.asarray(values, dtype=float)
    kept = kept[np.isfinite(kept)]
    remarks = [str(kept.size)]
    remarks += [f"{cut} cut"] if cut else []
    remarks += [f"{len(values) - kept.size} failed"] if kept.size < len(values) else []
    if not kept.size:
        return f"none ({', '.join(remarks[1:])})"
    spread = f" ± {kept.std(ddof=1):.{digits}f}" if kept.size > 1 else ""
    return f"{kept.mean():.{digits}f}{spread} ({', '.join(remarks)})"


def apart_of(differences: Sequence[float], digits: int = 1) -> str:
    """The mean of differences draw by draw, and its standard error."""
    apart = np.asarray(differences, dtype=float)
    error = f" ± {apart.std(ddof=1) / np.sqrt(apart.size):.{digits}f}" if apart.size > 1 else ""
    return f"{apart.mean():+.{digits}f}{error} ({apart.size})"


def fixed(value: float, digits: int = 1) -> str:
    """A figure of which nothing is drawn."""
    return f"{value:.{digits}f} (fixed)"


class Row:
    """Methods on the same draws: those that all methods with a run have.

    Parameters
    ----------
    found : mapping
        The results by their keys.
    prefixes : mapping
        The beginning of the keys of each method, up to the seed.
    notes : Notes
    why : callable
        ``why(method)`` says why it has no run.
    """

    def __init__(
        self, found: Mapping[str, Any], prefixes: Mapping[str, str], notes: Notes, why: Callable[[str], str]
    ) -> None:
        runs = {name: draws(found, prefix) for name, prefix in prefixes.items()}
        some = [set(own) for own in runs.values() if own]
        self.seeds = sorted(set.intersection(*some)) if some else []
        self.runs, self.notes, self.why = runs, notes, why

    def __bool__(self) -> bool:
        return bool(self.seeds)

    def values(self, name: str, what: str) -> list[float]:
        """A figure of each draw."""
        return [float(self.runs[name][seed].get(what, np.nan)) for seed in self.seeds]

    def cell(self, name: str, what: str, digits: int = 1) -> str:
        """The cell of a method."""
        if not self.runs[name]:
            return self.notes.empty(self.why(name))
        cut = sum(self.runs[name][seed].get("status") == "TIME_LIMIT" for seed in self.seeds)
        return said(self.values(name, what), digits, cut)

    def cells(self, what: str, digits: int = 1) -> list[str]:
        """The cells of all methods."""
        return [self.cell(name, what, digits) for name in self.runs]

    def difference(self, name: str, other: str, what: str, digits: int = 1) -> str:
        """The mean of the difference draw by draw, and its standard error."""
        for one in (name, other):
            if not self.runs[one]:
                return self.notes.empty(self.why(one))
        return apart_of(np.subtract(self.values(name, what), self.values(other, what)), digits)

    def comparable(self, name: str, what: str) -> str:
        """Whether a method has the best mean, or a paired t-test at 95 % does not tell it from that one."""
        if not self.runs[name]:
            return self.notes.empty(self.why(name))
        series = {one: self.values(one, what) for one, own in self.runs.items() if own}
        best = max(series, key=lambda one: float(np.mean(series[one])))
        if name == best:
            return "best"
        if len(self.seeds) < 2:
            return "one draw"
        if np.ptp(np.subtract(series[best], series[name])) == 0:  # the test divides by the spread
            return "comparable" if np.array_equal(series[best], series[name]) else "differs"
        return "differs" if ttest_rel(series[best], series[name]).pvalue < 0.05 else "comparable"
