"""Clusters in the plane of the kernel's two principal axes, with the pairs that were given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.model.pairs import Pairs
from npkl_models.show.plots.points import embedding, layout
from npkl_models.show.plots.style import BLUE, VERMILLION, small_legend

MOST_LINES = 2_000  # pairs of a kind that a picture shows


def clusters(solution: Solution, labels: ArrayLike, pairs: Pairs | None = None, ax: Any = None) -> Any:
    """The points along the two principal axes of the factor, by cluster, and the pairs as lines.

    Parameters
    ----------
    solution : Solution
    labels : array_like of shape (n,)
        Clusters, by colour and marker.
    pairs : Pairs, optional
        Must-links are drawn whole, cannot-links broken; of more than 2,000 of a kind so many, evenly.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SolverError
        For a solution without a point.
    ProblemError
        If labels or pairs are not of as many points.
    MissingDependencyError
        Without matplotlib.

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
    from matplotlib.collections import LineCollection

    X = layout(solution)
    kinds = (
        ("must-link", pairs.must_link, BLUE, "solid"),
        ("cannot-link", pairs.cannot_link, VERMILLION, "dashed"),
    )  # fmt: skip
    for name, ends, color, style in kinds:
        if not len(ends):
            continue
        drawn = ends[np.linspace(0, len(ends) - 1, min(len(ends), MOST_LINES)).astype(np.intp)]
        words = f"{len(ends)} {name}{'s' if len(ends) > 1 else ''}"
        lines = LineCollection(
            list(X[drawn]), colors=color, linestyles=style, linewidths=0.6, alpha=0.45, zorder=0, label=words
        )
        ax.add_collection(lines)
    small_legend(ax)
    return ax
