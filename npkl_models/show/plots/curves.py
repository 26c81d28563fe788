"""Pictures of runs, of paths along a parameter, of a cross-check, and of an audit of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import npkl_models.show.plots.style as style
from npkl_models.answer.solution import Solution
from npkl_models.certificates.certificate import together
from npkl_models.errors import ProblemError, chosen, optional
from npkl_models.linalg import Array, Index, Mask

AGAINST = {"seconds": "seconds", "iterations": "iteration"}
PATH_QUANTITIES = {"objective": "objective", "relative_gap": "certified relative gap", "rank": "rank of K"}


def convergence(
    solutions: Solution | Mapping[str, Solution] | Iterable[Solution],
    ax: Any = None,
    against: str = "seconds",
) -> Any:
    """Plot how objective and bound of several solutions converge.

    Lines show how far the objectives are above the best certified bound of all solutions. Markers show how
    far the bounds during the runs are below the best objective. Both distances are relative.

    Parameters
    ----------
    solutions : Solution, or mapping of str to Solution, or iterable of Solution
        Solutions of one problem. Without labels, the names of the backends are the labels.
    against : {"seconds", "iterations"}
        Quantity on the horizontal axis.
    """
    chosen("value of against", against, AGAINST)
    shown = style.named(solutions)
    proofs = [solution.certificate for solution in shown.values() if solution.V is not None]
    best, objective = together(proofs)
    if not np.isfinite(best):
        raise ProblemError("at least one solution must have a certified bound, got none")
    objective = objective if np.isfinite(objective) else min(one.objective for one in proofs)
    bound = min(best, objective)  # a point that misses constraints a little may be below the bound
    scale = next(iter(shown.values())).problem.size(bound, objective)
    ax = style.axes(ax)
    for k, (label, solution) in enumerate(shown.items()):
        color, history = style.PALETTE[k % len(style.PALETTE)], solution.history
        x = history[AGAINST[against]]
        above = _positive((history.objective - bound) / scale)
        ax.plot(x, above, "o-" if len(history) <= 2 else "-", color=color, markersize=5, label=label)
        made = np.isfinite(history.bound)
        below = _positive((objective - history.bound[made]) / scale)
        look = {"marker": style.MARKERS[k % len(style.MARKERS)], "markersize": 6, "markerfacecolor": "none"}
        ax.plot(x[made], below, color=color, linestyle="none", **look)
    said = "relative distance to the best bound\n(hollow: of a bound to the best objective)"
    ax.set(yscale="log", xlabel=AGAINST[against], ylabel=said)
    style.small_legend(ax)
    return ax


def rank_history(solutions: Solution | Mapping[str, Solution] | Iterable[Solution], ax: Any = None) -> Any:
    """Plot the number of columns of the factor over the iterations, for solutions as in `convergence`."""
    shown = style.named(solutions)
    ax = style.axes(ax)
    for k, (label, solution) in enumerate(shown.items()):
        history = solution.history
        look = {"color": style.PALETTE[k % len(style.PALETTE)], "marker": "o" if len(history) <= 2 else ""}
        ax.step(history.iteration, history.rank, where="post", label=label, **look)
    ax.set_xlabel("iteration")
    style.counted(ax, "columns of the factor V")
    style.small_legend(ax)
    return ax


def path(path: Any, ax: Any = None, quantity: str = "objective") -> Any:
    """Plot a quantity along a path of `regularization_path`: "objective", "relative_gap" or "rank".

    Three axes show all of them, and ``quantity`` is ignored.
    """
    several = ax is not None and np.ndim(ax) > 0
    names = tuple(PATH_QUANTITIES) if several else (chosen("quantity of a path", quantity, PATH_QUANTITIES),)
    wide = np.all(path.values > 0) and path.values[-1] > 10 * path.values[0]
    for one, name in zip(np.ravel(ax) if several else [style.axes(ax)], names, strict=True):
        values = getattr(path, name)
        if name == "relative_gap":
            values = np.maximum(np.abs(values), style.SMALLEST)
            one.set_yscale("log")
        style.axes(one).plot(path.values, values, color=style.PALETTE[0], marker="o", markersize=4)
        one.set(xscale="log" if wide else "linear", xlabel=path.parameter, ylabel=PATH_QUANTITIES[name])
        if name == "rank":
            style.counted(one, PATH_QUANTITIES[name])
    return ax if several else one


def envelopes(path: Any, ax: Sequence[Any] | Array | None = None) -> Array:
    """Plot what a path proves at every value of its parameter.

    The first axes show the upper and the lower bound on the optimum, with a mark for each stored kernel. The
    second axes show the proved relative gap, and the tolerance of the path as a line. The third axes show the
    rank of the best stored kernel. The path is one of `regularization_path` along "bound", "penalty" or
    "weight", and ``ax`` are three axes.
    """
    if path.values.size < 2:
        raise ProblemError("a path must have at least two values to be drawn between them, got one")
    if ax is None:
        plt = optional("matplotlib.pyplot", "plot", "plot")
        ax = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")[1]
    every = np.asarray(ax, dtype=object).ravel()
    if every.size != 3:
        raise ProblemError(f"ax must be three matplotlib axes, got {every.size}")
    low, high = path.values[0], path.values[-1]
    values = np.union1d(np.clip(np.geomspace(low, high, style.POINTS), low, high), path.values)
    cover = path.cover
    upper, lower, gaps = (
        np.where(np.isfinite(found), found, np.nan)
        for found in (cover.upper(values), cover.lower(values), cover.gaps(values))
    )
    bounds, gap, rank = (style.axes(one) for one in every)
    bounds.plot(values, upper, color=style.BLUE, label="upper bound")
    bounds.plot(values, lower, color=style.ORANGE, linestyle="--", label="lower bound")
    bounds.plot(path.values, path.objective, "o", color=style.BLUE, markersize=4, label="stored kernel")
    bounds.set_ylabel("optimum")
    style.small_legend(bounds)
    gap.plot(values, np.maximum(gaps, style.SMALLEST), color=style.BLUE)
    if path.tol is not None:
        gap.axhline(path.tol, color=style.FAINT, linestyle=":")
    gap.set(yscale="log", ylabel="proved relative gap")
    rank.step(values, path.rank[cover.best(values)], where="post", color=style.BLUE)
    style.counted(rank, "rank of K")
    for one in every:
        one.set(xlabel=path.parameter, xscale="log" if high > 10 * low else "linear")
    return every


def _positive(values: Array) -> Array:
    """The values for a logarithmic axis; nan where a value is negative."""
    return np.where(values >= 0, np.maximum(values, style.SMALLEST), np.nan)


def crosscheck(check: Any, ax: Any = None) -> Any:
    """Plot the certified gap of each backend that ran, with rigour, seconds and an adverse verdict."""
    ran = [row for row in check.rows if row.ran]
    if not ran:
        raise ProblemError("a cross-check must have a backend that ran to be drawn, got none")
    ax = style.axes(ax, 6.5, 0.9 + 0.4 * len(ran))
    height = np.arange(len(ran))[::-1]
    gaps = [float(np.clip(row.relative_gap, 2 * style.SMALLEST, 1.0)) for row in ran]
    agree = [row.verdict == "agrees" for row in ran]
    color = [style.BLUE if good else style.VERMILION for good in agree]
    bars = ax.barh(height, np.array(gaps) - style.SMALLEST, left=style.SMALLEST, height=0.6, color=color)
    for bar, y, row, gap, good in zip(bars, height, ran, gaps, agree, strict=True):
        words = f"{row.rigour}, {row.seconds:.2g} s" + ("" if good else f", {row.verdict}")
        if not good:
            bar.set_hatch("//")
        ax.text(gap * 1.5, y, words, va="center", fontsize="small")
    ax.set_yticks(height, [row.backend for row in ran])
    ax.tick_params(axis="y", length=0)
    reach = (style.SMALLEST, max(gaps) * 1e6)
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
    ax = style.axes(ax, 6.5, 3.6)
    top = int(np.ceil(share * len(found)))
    shown = found.score if found.wrong is None else found.wrong
    foot = style.LEAST * max(float(shown.max(initial=0.0)), 1e-300)
    place, height = np.arange(1, len(found) + 1), np.maximum(shown, foot)
    ax.axvspan(0.5, top + 0.5, color=style.FAINT, alpha=0.15, linewidth=0)
    for name, own, marker in (("must-link", found.must, "o"), ("cannot-link", ~found.must, "v")):
        ax.scatter(place[own], height[own], s=14, color=style.BLUE, marker=marker, linewidths=0, label=name)
        hit = own & wrong
        ax.scatter(
            place[hit], height[hit], s=30, color=style.VERMILION, marker=marker, linewidths=0, zorder=3
        )
    if wrong.any():
        words = f"wrong: {int(wrong[:top].sum())} of {int(wrong.sum())} in the top {100 * share:.0f} %"
        ax.scatter([], [], s=30, color=style.VERMILION, linewidths=0, label=words)
    said = "score" if found.wrong is None else "probability that the pair is wrong"
    ax.set(yscale="log", xlabel="pair, the most suspicious first", ylabel=said)
    style.small_legend(ax)
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
