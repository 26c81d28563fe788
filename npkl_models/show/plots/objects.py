"""Maps of named objects, and of sensors with their measured distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Index
from npkl_models.linalg.owned import real_array
from npkl_models.show.plots.style import FAINT, MOST_CLASSES, PALETTE, axes, classes, small_legend

NAMED = 60  # most objects whose names are written


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
    number, classed = classes(labels, n)
    ax = axes(ax, 5.2, 4.4)
    fixed = np.zeros(n, dtype=bool)
    if anchors is not None:
        fixed[np.asarray(anchors)] = True
    if pairs is not None and len(pairs[0]):
        ax.plot(*np.stack([Z[pairs[0]], Z[pairs[1]]]).transpose(2, 0, 1), color="0.88", lw=0.5, zorder=0)
    if deviation is not None:
        _circles(ax, Z, real_array(deviation, "deviation"))
    for k, name in enumerate(classed):
        own = ~fixed & (number == k)
        label = "sensor" if len(classed) == 1 else name if len(classed) <= MOST_CLASSES else None
        ax.scatter(*Z[own].T, s=14, color=PALETTE[k % len(PALETTE)], linewidths=0, label=label)
    ax.scatter(*Z[fixed].T, s=26, marker="s", color="black", linewidths=0, label="anchor")
    if fixed.any() or len(classed) > 1:
        small_legend(ax)
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
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": FAINT, "linewidths": 0.6, "units": "xy"}
    look |= {"offsets": Z[own], "offset_transform": ax.transData}
    ax.add_collection(EllipseCollection(width, width, np.zeros(width.size), **look))
