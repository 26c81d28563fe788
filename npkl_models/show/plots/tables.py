"""Pictures of a cross-check and of an audit of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask
from npkl_models.show.plots.style import BLUE, FAINT, SMALLEST, VERMILION, axes, small_legend

FOOT = 1e-6  # the axis of an audit begins at this share of the largest score


class Ran(Protocol):
    """The parts of a row of a cross-check that are drawn."""

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
    """The parts of a cross-check that are drawn; see `npkl_models.CrossCheck`."""

    @property
    def rows(self) -> Sequence[Ran]: ...


def crosscheck(check: Tabled, ax: Any = None) -> Any:
    """Plot the certified gap of each backend that ran, with rigour, seconds, and the verdict if it disagrees.

    Parameters
    ----------
    check : CrossCheck
        The cross-check.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ProblemError
        If no backend returned a point.

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
        raise ProblemError("a cross-check must have a backend that ran to be drawn, got none")
    ax = axes(ax, 6.5, 0.9 + 0.4 * len(ran))
    height = np.arange(len(ran))[::-1]
    gaps = [float(np.clip(row.relative_gap, 2 * SMALLEST, 1.0)) for row in ran]
    agree = [row.verdict == "agrees" for row in ran]
    bars = ax.barh(
        height, [gap - SMALLEST for gap in gaps], left=SMALLEST, height=0.6,
        color=[BLUE if good else VERMILION for good in agree],
    )  # fmt: skip
    for bar, y, row, gap, good in zip(bars, height, ran, gaps, agree, strict=True):
        words = f"{row.rigour}, {row.seconds:.2g} s" + ("" if good else f", {row.verdict}")
        if not good:
            bar.set_hatch("//")
        ax.text(gap * 1.5, y, words, va="center", fontsize="small")
    ax.set_yticks(height, [row.backend for row in ran])
    ax.tick_params(axis="y", length=0)
    ax.set_xscale("log")
    ax.set_xlim(SMALLEST, max(gaps) * 1e6)
    ax.set_xticks([tick for tick in 10.0 ** np.arange(-15, 1, 3) if tick <= max(gaps) * 1e3])
    ax.set_xlabel("certified relative gap (less is better)")
    return ax


plot_crosscheck = crosscheck
"""The function `crosscheck` under its older name."""


class Audited(Protocol):
    """The parts of an audit that are drawn; see `npkl_models.applications.audit.Audit`."""

    @property
    def pairs(self) -> Index: ...
    @property
    def must(self) -> Mask: ...
    @property
    def score(self) -> Array: ...
    @property
    def wrong(self) -> Array | None: ...
    def __len__(self) -> int: ...


def audit(found: Audited, flipped: ArrayLike | None = None, share: float = 0.1, ax: Any = None) -> Any:
    """Plot the scores of an audit, or its probabilities, the most suspicious pair first.

    Parameters
    ----------
    found : Audit
        The audit.
    flipped : array_like of int, shape (f, 2), optional
        Pairs that are known to be wrong. They have another colour, and the legend shows how many of them are
        in the shaded share.
    share : float
        Share of all pairs that is shaded, the first ones; above 0 and at most 1.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ProblemError
        If a flipped pair is not a pair of the audit, or if the share is out of range.

    Notes
    -----
    The axis is logarithmic, down to 1e-6 of the largest score or probability. Smaller ones, and zeros, are
    drawn at the lower end.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.audit import audit_pairs
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 2), (3, 5), (1, 4)], cannot_link=[(2, 3), (0, 5)])
    >>> found = audit_pairs(nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs).solve())
    >>> ax = plots.audit(found, flipped=[(1, 4)], share=0.2)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['must-link', 'cannot-link', 'wrong: 1 of 1 in the top 20 %']
    """
    if not 0 < share <= 1:
        raise ProblemError(f"share must be above 0 and at most 1, got {share}")
    wrong = _among(found, flipped)
    ax = axes(ax, 6.5, 3.6)
    top = int(np.ceil(share * len(found)))
    shown = found.score if found.wrong is None else found.wrong
    foot = FOOT * max(float(shown.max(initial=0.0)), 1e-300)
    place, height = np.arange(1, len(found) + 1), np.maximum(shown, foot)
    ax.axvspan(0.5, top + 0.5, color=FAINT, alpha=0.15, linewidth=0)
    for name, own, marker in (("must-link", found.must, "o"), ("cannot-link", ~found.must, "v")):
        ax.scatter(place[own], height[own], s=14, color=BLUE, marker=marker, linewidths=0, label=name)
        hit = own & wrong
        ax.scatter(place[hit], height[hit], s=30, color=VERMILION, marker=marker, linewidths=0, zorder=3)
    if wrong.any():
        words = f"wrong: {int(wrong[:top].sum())} of {int(wrong.sum())} in the top {100 * share:.0f} %"
        ax.scatter([], [], s=30, color=VERMILION, linewidths=0, label=words)
    ax.set_yscale("log")
    ax.set_xlabel("pair, the most suspicious first")
    ax.set_ylabel("score" if found.wrong is None else "probability that the pair is wrong")
    small_legend(ax)
    return ax


def _among(found: Audited, flipped: ArrayLike | None) -> Mask:
    """Which pairs of the audit are flipped."""
    table: Index = np.asarray([] if flipped is None else flipped)
    if not table.size:
        return np.zeros(len(found), dtype=bool)
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
        raise ProblemError(f"flipped must be integers of shape (f, 2), got {table.dtype} of {table.shape}")
    table = np.sort(table, axis=1)
    same = (np.sort(found.pairs, axis=1)[:, None, :] == table[None, :, :]).all(axis=2)
    if not same.any(axis=0).all():
        strange = table[~same.any(axis=0)][:5].tolist()
        raise ProblemError(f"flipped must be pairs of the audit, got {strange}")
    return same.any(axis=1)
