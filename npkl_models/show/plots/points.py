"""Pictures of the points in the plane, with graph, pairs and clusters; maps of objects and of sensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

import npkl_models.show.plots.style as style
from npkl_models.answer.coordinates import coordinates
from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import real_array, real_matrix
from npkl_models.model.pairs import Pairs
from npkl_models.model.statement import Statement

MOST_EDGES = 20_000  # the largest number of edges that a picture shows
MOST_PAIRS = 2_000  # the largest number of pairs of a kind that a picture of clusters shows
WIDEST = 3.0  # the line width of the largest multiplier, in typographic points
NAMED = 60  # most objects whose names are written
PLANE = {"xlabel": "first eigenvector of the centred K", "ylabel": "second eigenvector"}


def layout(solution: Solution) -> Array:
    """Coordinates (n x 2) along the two leading eigenvectors of the centred kernel; zero beyond the rank."""
    return coordinates(solution, 2)


def embedding(solution: Solution, labels: ArrayLike | None = None, ax: Any = None, edges: Any = None) -> Any:
    """Plot the points along the two leading eigenvectors of the centred kernel.

    Parameters
    ----------
    labels : array_like of shape (n,), optional
        Classes or clusters, shown by colour and marker.
    edges : bool or sparse matrix (n, n), optional
        Graph to draw below the points; True takes that of the problem's cost matrix.
    """
    X = layout(solution)
    number, names = style.classes(labels, len(X))
    ax = style.axes(ax, 5.2, 4.4)
    _lines(ax, X, graph_edges(solution.problem, edges), color=style.FAINT, linewidth=0.4, alpha=0.5)
    size = float(np.clip(3000 / len(X), 3, 24))
    colors, markers = style.PALETTE, style.MARKERS
    for k, name in enumerate(names):
        own = number == k
        color, marker = colors[k % len(colors)], markers[(k + k // len(colors)) % len(markers)]
        label = name if 1 < len(names) <= style.MOST_CLASSES else None
        ax.scatter(*X[own].T, s=size, color=color, marker=marker, linewidths=0, alpha=0.85, label=label)
    ax.set(**PLANE)
    style.small_legend(ax, markerscale=float(np.sqrt(24 / size)))
    return ax


def clusters(solution: Solution, labels: ArrayLike, pairs: Pairs | None = None, ax: Any = None) -> Any:
    """Plot the points by cluster in the plane of `layout`, and the pairs as lines.

    Must-links are solid lines, and cannot-links dashed lines. Of more than 2,000 pairs of a kind, 2,000
    evenly chosen pairs are drawn.
    """
    given = np.asarray(labels)
    names = [f"cluster {label}" for label in given.tolist()] if given.ndim == 1 else labels
    if pairs is not None and pairs.n != solution.problem.n:
        raise ProblemError(f"pairs must be over the {solution.problem.n} points, got pairs over {pairs.n}")
    ax = embedding(solution, names, ax)
    if pairs is None:
        return ax
    X = layout(solution)
    cannot = ("cannot", pairs.cannot_link, style.VERMILION, "dashed")
    for name, ends, color, line in (("must", pairs.must_link, style.BLUE, "solid"), cannot):
        words = f"{len(ends)} {name}-link{'s' if len(ends) > 1 else ''}"
        shown = {"linestyles": line, "linewidths": 0.6, "alpha": 0.45, "zorder": 0, "label": words}
        _lines(ax, X, style.evenly(ends, MOST_PAIRS), colors=color, **shown)
    style.small_legend(ax)
    return ax


def pair_multipliers(solution: Solution, ax: Any = None) -> Any:
    """Plot the pairs as lines on the embedding; the wider a line, the more the pair shapes the kernel.

    The width of a line is proportional to the multiplier of the certificate. A pair whose loss is zero, and
    not at its kink, has the multiplier zero and no line.
    """
    X = layout(solution)
    pairs, held, y = _multipliers(solution)
    ax = style.axes(ax, 5.2, 4.4)
    _lines(ax, X, graph_edges(solution.problem, True), color=style.FAINT, linewidth=0.4, alpha=0.35)
    largest = float(np.abs(y).max(initial=0.0)) or 1.0
    kinds = ((held, style.BLUE, "-", "held together"), (~held, style.VERMILION, "--", "kept apart"))
    for kind, color, line, name in kinds:
        shown = kind & (np.abs(y) > style.LEAST * largest)
        order = np.argsort(np.abs(y[shown]))
        width = WIDEST * np.abs(y[shown])[order] / largest
        if shown.any():
            many = f"{name}: {int(shown.sum())} of {int(kind.sum())}"
            _lines(ax, X, pairs[shown][order], color=color, linewidth=width, alpha=0.6, linestyle=line)
            ax.plot([], [], color=color, linestyle=line, label=many)
    ax.scatter(*X.T, s=6, color=ax.xaxis.label.get_color(), linewidths=0, zorder=3)
    ax.set(**PLANE)
    title = f"pairs, width by |y| (widest: {largest:.3g})"
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2, "borderaxespad": 0}
    style.small_legend(ax, title=title, title_fontsize="small", alignment="left", columnspacing=1.0, **above)
    return ax


def graph_edges(problem: Statement, edges: Any) -> Index:
    """The edges (m, 2) to draw, at most `MOST_EDGES`; True takes the graph of the cost matrix."""
    if edges is None or edges is False:
        return np.zeros((0, 2), dtype=np.intp)
    given, n = real_matrix(problem.cost if edges is True else edges, "edges"), problem.n
    if given.shape != (n, n):
        raise ProblemError(f"edges must be True or a matrix of shape ({n}, {n}), got {given.shape}")
    found = np.stack(sp.triu(given, k=1).tocoo().coords, axis=1)
    return style.evenly(found, MOST_EDGES).astype(np.intp)


def _multipliers(solution: Solution) -> tuple[Any, ...]:
    """Pairs (m, 2) of all terms, whether each has a positive target, and their multipliers."""
    problem, y = solution.problem, solution.certificate.multipliers
    wanted = [*(term.target for term in problem.losses), *(part.value for part in problem.constraints)]
    found = []
    for part, target, own in zip(problem.terms, wanted, y.terms, strict=True):
        if len(part.functional.indices) == 2:
            pairs = np.stack(part.functional.indices, axis=1)
            distinct = pairs[:, 0] != pairs[:, 1]
            found.append((pairs[distinct], (target > 0)[distinct], own[distinct]))
    if not any(len(pairs) for pairs, _, _ in found):
        raise ProblemError(f"a problem must have pairs for a picture of their multipliers, got {problem!r}")
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def _lines(ax: Any, X: Array, edges: Index, **look: Any) -> None:
    if len(edges):
        from matplotlib.collections import LineCollection

        ax.add_collection(LineCollection(list(X[edges]), **({"zorder": 1} | look)))
        ax.autoscale_view()


def objects(points: ArrayLike, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Plot objects by their first two coordinates, with the names of the first 60.

    Parameters
    ----------
    points : array_like of shape (n, d)
        Coordinates, such as ``OrdinalEmbedding.embedding_``.
    names : sequence of str, optional
        Names of the objects; their numbers by default.
    """
    ax = network(points, names=names, ax=ax)
    ax.set_aspect("auto")
    return ax


def network(
    positions: ArrayLike, pairs: tuple[Index, Index] | None = None, *, names: Sequence[str] | None = None,
    anchors: ArrayLike | None = None, deviation: ArrayLike | None = None, labels: ArrayLike | None = None,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Plot sensors by their first two coordinates, with lines between those that measured their distance.

    Parameters
    ----------
    positions : array_like of shape (n, d)
        Positions, such as ``Localisation.positions_``.
    pairs : tuple (i, j) of int arrays, optional
        The measured pairs.
    names : sequence of str, optional
        Names of the sensors, of which the first 60 are written; their numbers by default.
    anchors : array_like of int, optional
        Numbers of the anchors, which are drawn as squares.
    deviation : array_like of shape (n,), optional
        Standard deviations of the positions, such as ``Localisation.uncertainty_``, which are drawn as
        circles to scale. A NaN draws no circle.
    labels : array_like of shape (n,), optional
        Classes or clusters of the sensors, shown by colour.
    """
    Z = real_array(positions, "points")
    if Z.ndim != 2:
        raise ProblemError(f"points must have shape (n, d), got {Z.shape}")
    n = len(Z)
    if names is not None and len(names) != n:
        raise ProblemError(f"names must be as many as points, {n}, got {len(names)}")
    Z = np.pad(Z[:, :2], ((0, 0), (0, max(2 - Z.shape[1], 0))))
    number, classed = style.classes(labels, n)
    ax = style.axes(ax, 5.2, 4.4)
    fixed = np.zeros(n, dtype=bool)
    if anchors is not None:
        fixed[np.asarray(anchors)] = True
    if pairs is not None and len(pairs[0]):
        ax.plot(*np.stack([Z[pairs[0]], Z[pairs[1]]]).transpose(2, 0, 1), color="0.88", lw=0.5, zorder=0)
    if deviation is not None:
        _circles(ax, Z, real_array(deviation, "deviation"))
    for k, name in enumerate(classed):
        own = ~fixed & (number == k)
        label = "sensor" if len(classed) == 1 else name if len(classed) <= style.MOST_CLASSES else None
        ax.scatter(*Z[own].T, s=14, color=style.PALETTE[k % len(style.PALETTE)], linewidths=0, label=label)
    ax.scatter(*Z[fixed].T, s=26, marker="s", color="black", linewidths=0, label="anchor")
    if fixed.any() or len(classed) > 1:
        style.small_legend(ax)
    for said, at in zip(list(range(n) if names is None else names)[:NAMED], Z, strict=False):
        ax.annotate(str(said), at, textcoords="offset points", xytext=(3, 3), fontsize=7)
    ax.set(xlabel="first coordinate", ylabel="second coordinate")
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def _circles(ax: Any, Z: Any, deviation: Any) -> None:
    """Circles of one standard deviation."""
    from matplotlib.collections import EllipseCollection

    if deviation.shape != (len(Z),):
        raise ProblemError(f"deviation must have shape ({len(Z)},), got {deviation.shape}")
    own = np.isfinite(deviation)
    width = 2 * deviation[own]
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": style.FAINT, "linewidths": 0.6, "units": "xy"}
    look |= {"offsets": Z[own], "offset_transform": ax.transData}
    ax.add_collection(EllipseCollection(width, width, np.zeros(width.size), **look))
