"""A cross-check as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.show.plots.style import BLUE, VERMILLION, axes

LEFT = 1e-16  # where the bars begin


class Ran(Protocol):
    """A row of a cross-check, as far as it is drawn."""

    @property
    def ran(self) -> bool: ...
    @property
    def backend(self) -> str: ...
    @property
    def relative_gap(self) -> float: ...
    @property
    def rigour(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def verdict(self) -> str: ...


class Tabled(Protocol):
    """What is drawn of a cross-check; see `npkl_models.CrossCheck`."""

    @property
    def rows(self) -> Sequence[Ran]: ...


def crosscheck(check: Tabled, ax: Any = None) -> Any:
    """Certified gap of each backend that ran, its rigour and seconds, and its verdict unless it agrees.

    Parameters
    ----------
    check : CrossCheck
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ProblemError
        If no backend left a point.
    MissingDependencyError
        Without matplotlib.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> ax = plots.crosscheck(nm.crosscheck(problem, ["burer_monteiro", "interior"]))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['burer_monteiro', 'interior']
    """
    ran = [row for row in check.rows if row.ran]
    if not ran:
        raise ProblemError("a cross-check must have a row that ran to be drawn, got none")
    ax = axes(ax, 6.5, 0.9 + 0.4 * len(ran))
    height = np.arange(len(ran))[::-1]
    gaps = [float(np.clip(row.relative_gap, 2 * LEFT, 1.0)) for row in ran]
    agree = [row.verdict == "agrees" for row in ran]
    bars = ax.barh(
        height, [gap - LEFT for gap in gaps], left=LEFT, height=0.6,
        color=[BLUE if good else VERMILLION for good in agree],
    )  # fmt: skip
    for bar, y, row, gap, good in zip(bars, height, ran, gaps, agree, strict=True):
        words = f"{row.rigour}, {row.seconds:.2g} s" + ("" if good else f", {row.verdict}")
        if not good:
            bar.set_hatch("//")
        ax.text(gap * 1.5, y, words, va="center", fontsize="small")
    ax.set_yticks(height, [row.backend for row in ran])
    ax.tick_params(axis="y", length=0)
    ax.set_xscale("log")
    ax.set_xlim(LEFT, max(gaps) * 1e6)
    ax.set_xticks([tick for tick in 10.0 ** np.arange(-15, 1, 3) if tick <= max(gaps) * 1e3])
    ax.set_xlabel("certified relative gap (less is better)")
    return ax


plot_crosscheck = crosscheck
"""The same, by its older name."""
