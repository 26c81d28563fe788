"""Pictures of the points in the plane, with graph, pairs and clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.answer.coordinates import coordinates
from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import real_array, real_matrix
from npkl_models.model.pairs import Pairs
from npkl_models.model.statement import Statement
from npkl_models.show.plots.style import (
    BLUE,
    FAINT,
    MARKERS,
    MOST_CLASSES,
    PALETTE,
    VERMILION,
    axes,
    classes,
    evenly,
    small_legend,
)

MOST_EDGES = 20_000  # the largest number of edges that a picture shows
MOST_PAIRS = 2_000  # the largest number of pairs of a kind that a picture of clusters shows
WIDEST = 3.0  # the line width of the largest multiplier, in typographic points
LEAST = 1e-6  # multipliers below this share of the largest one are not drawn


def layout(solution: Solution) -> Array:
    """Coordinates of the points along the two leading eigenvectors of the centred kernel.

    Parameters
    ----------
    solution : Solution
        The solution.

    Returns
    -------
    ndarray of shape (n, 2)
        The coordinates. The largest entry in absolute value of each column is positive. A column beyond the
        rank is zero.

    Raises
    ------
    SolverError
        If the solution has no kernel.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> plots.layout(problem.solve()).shape
    (6, 2)
    """
    return coordinates(solution, 2)


def embedding(solution: Solution, labels: ArrayLike | None = None, ax: Any = None, edges: Any = None) -> Any:
    """Plot the points along the two leading eigenvectors of the centred kernel.

    Parameters
    ----------
    solution : Solution
        The solution.
    labels : array_like of shape (n,), optional
        Classes or clusters, shown by colour and marker.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.
    edges : bool, sparse matrix (n, n) or array_like of shape (m, 2), optional
        Edges to draw below the points; True takes the graph of the problem's cost matrix.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SolverError
        If the solution has no kernel.
    ProblemError
        If the number of labels is not the number of points, or if the edges have another form.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> ax = plots.embedding(problem.solve(), labels=[0, 0, 0, 1, 1, 1], edges=True)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1']
    """
    X = layout(solution)
    number, names = classes(labels, len(X))
    ax = axes(ax, 5.2, 4.4)
    _lines(ax, X, graph_edges(solution.problem, edges), color=FAINT, linewidth=0.4, alpha=0.5)
    size = float(np.clip(3000 / len(X), 3, 24))
    for k, name in enumerate(names):
        own = number == k
        color, marker = PALETTE[k % len(PALETTE)], MARKERS[(k + k // len(PALETTE)) % len(MARKERS)]
        label = name if 1 < len(names) <= MOST_CLASSES else None
        ax.scatter(*X[own].T, s=size, color=color, marker=marker, linewidths=0, alpha=0.85, label=label)
    _name_axes(ax)
    small_legend(ax, markerscale=float(np.sqrt(24 / size)))
    return ax


def clusters(solution: Solution, labels: ArrayLike, pairs: Pairs | None = None, ax: Any = None) -> Any:
    """Plot the points by cluster in the plane of `layout`, and the pairs as lines.

    Parameters
    ----------
    solution : Solution
        The solution.
    labels : array_like of shape (n,)
        Clusters, shown by colour and marker.
    pairs : Pairs, optional
        Pairs to draw: must-links as solid lines, cannot-links as dashed lines. Of more than 2,000 pairs of a
        kind, 2,000 evenly chosen pairs are drawn.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SolverError
        If the solution has no kernel.
    ProblemError
        If labels or pairs are over another number of points.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> solution = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs).solve()
    >>> ax = plots.clusters(solution, [0, 0, 0, 1, 1, 1], pairs)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['cluster 0', 'cluster 1', '2 must-links', '1 cannot-link']
    """
    given = np.asarray(labels)
    names = [f"cluster {label}" for label in given.tolist()] if given.ndim == 1 else labels
    if pairs is not None and pairs.n != solution.problem.n:
        raise ProblemError(f"pairs must be over the {solution.problem.n} points, got pairs over {pairs.n}")
    ax = embedding(solution, names, ax)
    if pairs is None:
        return ax
    X = layout(solution)
    kinds = (
        ("must-link", pairs.must_link, BLUE, "solid"),
        ("cannot-link", pairs.cannot_link, VERMILION, "dashed"),
    )  # fmt: skip
    for name, ends, color, style in kinds:
        words = f"{len(ends)} {name}{'s' if len(ends) > 1 else ''}"
        shown = {"linestyles": style, "linewidths": 0.6, "alpha": 0.45, "zorder": 0, "label": words}
        _lines(ax, X, evenly(ends, MOST_PAIRS), colors=color, **shown)
    small_legend(ax)
    return ax


def pair_multipliers(solution: Solution, positions: ArrayLike | None = None, ax: Any = None) -> Any:
    """Plot the pairs as lines on the embedding; the wider a line, the more the pair shapes the kernel.

    The width of a line is proportional to the multiplier of the certificate. A pair whose loss is zero, and
    not at its kink, has the multiplier zero and no line.

    Parameters
    ----------
    solution : Solution
        The solution.
    positions : array_like of shape (n, 2), optional
        Positions of the points; `layout` of the solution by default.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SolverError
        If the solution has no kernel.
    ProblemError
        If the positions have another shape, or if the problem has no pairs.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> ax = plots.pair_multipliers(problem.solve())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['held together: 2 of 2']
    """
    X = layout(solution) if positions is None else real_array(positions, "positions")
    if X.shape != (solution.problem.n, 2):
        raise ProblemError(f"positions must have shape ({solution.problem.n}, 2), got {X.shape}")
    pairs, held, y = _multipliers(solution)
    ax = axes(ax, 5.2, 4.4)
    _lines(ax, X, graph_edges(solution.problem, True), color=FAINT, linewidth=0.4, alpha=0.35)
    largest = float(np.abs(y).max(initial=0.0)) or 1.0
    kinds = ((held, BLUE, "-", "held together"), (~held, VERMILION, "--", "kept apart"))
    for kind, color, style, name in kinds:
        shown = kind & (np.abs(y) > LEAST * largest)
        order = np.argsort(np.abs(y[shown]))
        width = WIDEST * np.abs(y[shown])[order] / largest
        if shown.any():
            many = f"{name}: {int(shown.sum())} of {int(kind.sum())}"
            _lines(ax, X, pairs[shown][order], color=color, linewidth=width, alpha=0.6, linestyle=style)
            ax.plot([], [], color=color, linestyle=style, label=many)
    ink = ax.xaxis.label.get_color()
    ax.scatter(*X.T, s=6, color=ink, linewidths=0, zorder=3)
    _name_axes(ax)
    title = f"pairs, width by |y| (widest: {largest:.3g})"
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2, "borderaxespad": 0}
    small_legend(ax, title=title, title_fontsize="small", alignment="left", columnspacing=1.0, **above)
    return ax


def graph_edges(problem: Statement, edges: Any) -> Index:
    """The edges (m, 2) to draw, at most `MOST_EDGES`; True takes the graph of the cost matrix."""
    n = problem.n
    if edges is None or edges is False:
        return np.zeros((0, 2), dtype=np.intp)
    if edges is True:
        edges = problem.cost
    if sp.issparse(edges):
        upper = sp.triu(real_matrix(edges, "edges"), k=1).tocoo()
        found = np.stack([upper.row, upper.col], axis=1)
    else:
        found = np.asarray(edges)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ProblemError(
            f"edges must be integers of shape (m, 2), a sparse matrix or True, got {found.shape}"
        )
    if found.size and not (found.min() >= 0 and found.max() < n):
        raise ProblemError(f"edges must join points 0..{n - 1}, got {found.max()}")
    return evenly(found, MOST_EDGES).astype(np.intp)


def _multipliers(solution: Solution) -> tuple[Index, Any, Array]:
    """Pairs (m, 2) of all terms, whether each has a positive target, and their multipliers."""
    problem, y = solution.problem, solution.certificate.multipliers
    parts = [(t.functional, t.target, part) for t, part in zip(problem.losses, y.losses, strict=True)]
    parts += [
        (e.functional, e.value, part) for e, part in zip(problem.constraints, y.constraints, strict=True)
    ]
    found = []
    for functional, target, own in parts:
        if len(functional.indices) != 2:
            continue
        i, j = functional.indices
        apart = i != j
        found.append((np.stack([i, j], axis=1)[apart], (target > 0)[apart], own[apart]))
    if not any(len(pairs) for pairs, _, _ in found):
        raise ProblemError(f"a problem must have pairs for a picture of their multipliers, got {problem!r}")
    pairs, held, values = (np.concatenate(column) for column in zip(*found, strict=True))
    return pairs, held, values


def _lines(ax: Any, X: Array, edges: Index, **style: Any) -> None:
    if len(edges):
        from matplotlib.collections import LineCollection

        ax.add_collection(LineCollection(list(X[edges]), **({"zorder": 1} | style)))
        ax.autoscale_view()


def _name_axes(ax: Any) -> None:
    ax.set_xlabel("first eigenvector of the centred K")
    ax.set_ylabel("second eigenvector")
    ax.margins(0.05)
