"""Pictures of a cross-check and of an audit of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Index, Mask
from npkl_models.show.plots.style import BLUE, FAINT, SMALLEST, VERMILION, axes, small_legend

FOOT = 1e-6  # the axis of an audit begins at this share of the largest score


def crosscheck(check: Any, ax: Any = None) -> Any:
    """Plot the certified gap of each backend that ran, with rigour, seconds and an adverse verdict."""
    ran = [row for row in check.rows if row.ran]
    if not ran:
        raise ProblemError("a cross-check must have a backend that ran to be drawn, got none")
    ax = axes(ax, 6.5, 0.9 + 0.4 * len(ran))
    height = np.arange(len(ran))[::-1]
    gaps = [float(np.clip(row.relative_gap, 2 * SMALLEST, 1.0)) for row in ran]
    agree = [row.verdict == "agrees" for row in ran]
    color = [BLUE if good else VERMILION for good in agree]
    bars = ax.barh(height, np.array(gaps) - SMALLEST, left=SMALLEST, height=0.6, color=color)
    for bar, y, row, gap, good in zip(bars, height, ran, gaps, agree, strict=True):
        words = f"{row.rigour}, {row.seconds:.2g} s" + ("" if good else f", {row.verdict}")
        if not good:
            bar.set_hatch("//")
        ax.text(gap * 1.5, y, words, va="center", fontsize="small")
    ax.set_yticks(height, [row.backend for row in ran])
    ax.tick_params(axis="y", length=0)
    reach = (SMALLEST, max(gaps) * 1e6)
    ax.set(xscale="log", xlim=reach, xlabel="certified relative gap (less is better)")
    ax.set_xticks([tick for tick in 10.0 ** np.arange(-15, 1, 3) if tick <= max(gaps) * 1e3])
    return ax


def audit(found: Any, flipped: ArrayLike | None = None, share: float = 0.1, ax: Any = None) -> Any:
    """Plot the scores of an audit, or its probabilities, the most suspicious pair first.

    Parameters
    ----------
    found : Audit
    flipped : array_like of int, shape (f, 2), optional
        Pairs that are known to be wrong. They have another colour, and the legend shows how many of them are
        in the shaded share.
    share : float
        Share of all pairs that is shaded, the first ones; above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ProblemError(f"share must be above 0 and at most 1, got {share}")
    wrong = _among(found.pairs, np.asarray(() if flipped is None else flipped))
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
    said = "score" if found.wrong is None else "probability that the pair is wrong"
    ax.set(yscale="log", xlabel="pair, the most suspicious first", ylabel=said)
    small_legend(ax)
    return ax


def _among(pairs: Index, flipped: Index) -> Mask:
    """Which pairs are flipped."""
    if flipped.size and (flipped.ndim != 2 or flipped.shape[1] != 2 or flipped.dtype.kind not in "iu"):
        got = f"{flipped.dtype} of {flipped.shape}"
        raise ProblemError(f"flipped must be integers of shape (f, 2), got {got}")
    known, wanted = ([frozenset(pair) for pair in given.tolist()] for given in (pairs, flipped))
    if strange := [pair for pair, ends in zip(flipped.tolist(), wanted, strict=True) if ends not in known]:
        raise ProblemError(f"flipped must be pairs of the audit, got {strange[:5]}")
    return np.array([ends in wanted for ends in known], dtype=bool)
