"""A map of named objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg.owned import real_array
from npkl_models.show.plots.style import PALETTE, axes

NAMED = 60  # most objects whose names are written


def objects(points: ArrayLike, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Plot objects by their first two coordinates, with the names of the first 60.

    Parameters
    ----------
    points : array_like of shape (n, d)
        Coordinates, such as ``OrdinalEmbedding.embedding_``.
    names : sequence of str, optional
        Names of the objects; their numbers by default.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ProblemError
        If the number of names is not the number of points.

    Examples
    --------
    >>> from npkl_models.show import plots
    >>> ax = plots.objects([[0.0, 0.0], [1.0, 2.0]], ["apple", "pear"])
    >>> [text.get_text() for text in ax.texts]
    ['apple', 'pear']
    """
    Z = real_array(points, "points")
    if Z.ndim != 2:
        raise ProblemError(f"points must have shape (n, d), got {Z.shape}")
    said = [str(k) for k in range(len(Z))] if names is None else list(names)
    if len(said) != len(Z):
        raise ProblemError(f"names must be as many as points, {len(Z)}, got {len(said)}")
    x, y = Z[:, 0], Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
    ax = axes(ax, 5.2, 4.4)
    ax.scatter(x, y, s=14, color=PALETTE[0], linewidths=0)
    for name, at, height in zip(said[:NAMED], x, y, strict=False):
        ax.annotate(name, (at, height), textcoords="offset points", xytext=(3, 3), fontsize=7)
    ax.set(xlabel="first coordinate", ylabel="second coordinate")
    return ax
