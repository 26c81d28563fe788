"""A picture of what a path proves at every value: both bounds on the optimum, the gap, and the ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError, optional
from npkl_models.linalg import Array, Index
from npkl_models.show.plots.style import BLUE, FAINT, ORANGE, SMALLEST, axes, small_legend

VALUES = 400  # values at which the bounds are drawn, beside those of the path


class Bounds(Protocol):
    """Bounds on the optimum at every value; see `npkl_models.cover.cover.Cover`."""

    def upper(self, values: ArrayLike) -> Array: ...
    def lower(self, values: ArrayLike) -> Array: ...
    def gaps(self, values: ArrayLike) -> Array: ...
    def best(self, values: ArrayLike) -> Index: ...


class Covering(Protocol):
    """The parts of a path that are drawn; see `npkl_models.path.Path`."""

    @property
    def parameter(self) -> str: ...
    @property
    def values(self) -> Array: ...
    @property
    def objective(self) -> Array: ...
    @property
    def rank(self) -> Array: ...
    @property
    def tol(self) -> float | None: ...
    @property
    def cover(self) -> Bounds: ...


def envelopes(path: Covering, ax: Sequence[Any] | Array | None = None) -> Array:
    """Plot what a path proves at every value of its parameter.

    The first axes show the upper and the lower bound on the optimum, with a mark for each stored kernel. The
    second axes show the proved relative gap, and the tolerance of the path as a line. The third axes show the
    rank of the best stored kernel.

    Parameters
    ----------
    path : Path
        Path from `regularization_path`, along "bound", "penalty" or "weight".
    ax : sequence of three matplotlib axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    ndarray of three matplotlib axes

    Raises
    ------
    ProblemError
        If there are not three axes, if the path has a single value, or if its parameter is p.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> path = nm.regularization_path(problem, "weight", (0.1, 10.0), tol=1e-2)
    >>> [one.get_ylabel() for one in plots.envelopes(path)]
    ['optimum', 'proved relative gap', 'rank of K']
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
    fine = np.clip(np.geomspace(low, high, VALUES), low, high)
    values = np.union1d(fine, path.values)
    _bounds(path, every[0], values)
    _gap(path, every[1], values)
    every[2].step(values, path.rank[path.cover.best(values)], where="post", color=BLUE)
    every[2].set_ylim(bottom=0)
    every[2].yaxis.get_major_locator().set_params(integer=True)
    every[2].set_ylabel("rank of K")
    for one in every:
        axes(one)
        one.set_xlabel(path.parameter)
        one.set_xscale("log" if high > 10 * low else "linear")
    return every


def _bounds(path: Covering, ax: Any, values: Array) -> None:
    upper, lower = path.cover.upper(values), path.cover.lower(values)
    ax.plot(values, np.where(np.isfinite(upper), upper, np.nan), color=BLUE, label="upper bound")
    ax.plot(
        values, np.where(np.isfinite(lower), lower, np.nan), color=ORANGE, linestyle="--", label="lower bound"
    )
    ax.plot(path.values, path.objective, "o", color=BLUE, markersize=4, label="stored kernel")
    ax.set_ylabel("optimum")
    small_legend(ax)


def _gap(path: Covering, ax: Any, values: Array) -> None:
    gaps = path.cover.gaps(values)
    ax.plot(values, np.where(np.isfinite(gaps), np.maximum(gaps, SMALLEST), np.nan), color=BLUE)
    if path.tol is not None:
        ax.axhline(path.tol, color=FAINT, linestyle=":")
    ax.set_yscale("log")
    ax.set_ylabel("proved relative gap")
