"""Pictures of runs over iterations or seconds, and of paths along a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.certify.certificate import together
from npkl_models.errors import ProblemError, chosen
from npkl_models.linalg import Array
from npkl_models.show.plots.style import MARKERS, PALETTE, SMALLEST, axes, named, small_legend

AGAINST = ("seconds", "iterations")
PATH_QUANTITIES = {"objective": "objective", "relative_gap": "certified relative gap", "rank": "rank of K"}


class Along(Protocol):
    """The parts of a path that are drawn; see `npkl_models.path.Path`."""

    @property
    def parameter(self) -> str: ...
    @property
    def values(self) -> Array: ...


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
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.
    against : {"seconds", "iterations"}
        Quantity on the horizontal axis.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    UnsupportedError
        If ``against`` has another value.
    ProblemError
        If there is no solution, or no solution with a bound.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> answers = {name: problem.solve(name) for name in ("burer_monteiro", "interior")}
    >>> ax = plots.convergence(answers, against="iterations")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['burer_monteiro', 'interior']
    """
    chosen("value of against", against, AGAINST)
    shown = named(solutions)
    bound, objective = _bracket(shown)
    scale = next(iter(shown.values())).problem.size(bound, objective)
    ax = axes(ax)
    for k, (label, solution) in enumerate(shown.items()):
        color, history = PALETTE[k % len(PALETTE)], solution.history
        x = history.seconds if against == "seconds" else history.iteration
        above = _positive((history.objective - bound) / scale)
        alone = "o" if len(history) <= 2 else ""
        ax.plot(x, above, color=color, marker=alone, markersize=5, label=label)
        made = np.isfinite(history.bound)
        below = _positive((objective - history.bound[made]) / scale)
        style = {"marker": MARKERS[k % len(MARKERS)], "markersize": 6, "markerfacecolor": "none"}
        ax.plot(x[made], below, color=color, linestyle="none", **style)
    ax.set_yscale("log")
    ax.set_xlabel("seconds" if against == "seconds" else "iteration")
    ax.set_ylabel("relative distance to the best bound\n(hollow: of a bound to the best objective)")
    small_legend(ax)
    return ax


def rank_history(solutions: Solution | Mapping[str, Solution] | Iterable[Solution], ax: Any = None) -> Any:
    """Plot the number of columns of the factor over the iterations, for several solutions.

    Parameters
    ----------
    solutions : Solution, or mapping of str to Solution, or iterable of Solution
        The solutions. Without labels, the names of the backends are the labels.
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ProblemError
        If there is no solution.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> ax = plots.rank_history(problem.solve("burer_monteiro"))
    >>> ax.get_ylabel()
    'columns of the factor V'
    """
    shown = named(solutions)
    ax = axes(ax)
    for k, (label, solution) in enumerate(shown.items()):
        history = solution.history
        marker = "o" if len(history) <= 2 else ""
        color = PALETTE[k % len(PALETTE)]
        ax.step(history.iteration, history.rank, where="post", color=color, marker=marker, label=label)
    ax.set_xlabel("iteration")
    ax.set_ylabel("columns of the factor V")
    ax.set_ylim(bottom=0)
    ax.yaxis.get_major_locator().set_params(integer=True)
    small_legend(ax)
    return ax


def path(path: Along, ax: Any = None, quantity: str = "objective") -> Any:
    """Plot a quantity along the parameter of a path.

    Parameters
    ----------
    path : Path
        Path from `regularization_path`.
    ax : matplotlib axes, or sequence of three, optional
        Axes to draw on; new axes by default. Three axes show objective, certified relative gap and rank, and
        ``quantity`` is ignored.
    quantity : {"objective", "relative_gap", "rank"}
        Quantity on the vertical axis.

    Returns
    -------
    matplotlib axes, or an array of them

    Raises
    ------
    UnsupportedError
        If the quantity is unknown.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> path = nm.regularization_path(problem, "weight", [0.1, 1.0, 10.0])
    >>> ax = plots.path(path, quantity="rank")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('weight', 'rank of K')
    """
    if ax is not None and np.ndim(ax):
        several = np.asarray(ax, dtype=object).ravel()
        for one, name in zip(several, PATH_QUANTITIES, strict=True):
            _quantity(path, one, name)
        return ax
    chosen("quantity of a path", quantity, PATH_QUANTITIES)
    return _quantity(path, axes(ax), quantity)


def _quantity(path: Along, ax: Any, quantity: str) -> Any:
    """Plot one quantity along the path on the given axes."""
    axes(ax)
    values = getattr(path, quantity)
    if quantity == "relative_gap":
        values = np.maximum(np.abs(values), SMALLEST)
        ax.set_yscale("log")
    ax.plot(path.values, values, color=PALETTE[0], marker="o", markersize=4)
    if np.all(path.values > 0) and path.values[-1] > 10 * path.values[0]:
        ax.set_xscale("log")
    if quantity == "rank":
        ax.set_ylim(bottom=0)
        ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel(path.parameter)
    ax.set_ylabel(PATH_QUANTITIES[quantity])
    return ax


def _bracket(shown: Mapping[str, Solution]) -> tuple[float, float]:
    """The best certified bound, and the best objective of feasible points (or of all if there are none)."""
    found = [solution.certificate for solution in shown.values() if solution.V is not None]
    bound, objective = together(found)
    if not np.isfinite(bound):
        raise ProblemError("at least one solution must have a certified bound, got none")
    objective = objective if np.isfinite(objective) else min(one.objective for one in found)
    return min(bound, objective), objective  # a point that misses constraints a little may be below the bound


def _positive(values: Array) -> Array:
    """The values for a logarithmic axis; nan where a value is negative."""
    return np.where(values >= 0, np.maximum(values, SMALLEST), np.nan)
