"""A kernel as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.show.plots.style import DIVERGING, axes, classes

LARGEST = 2_000  # rows that are drawn one by one; of more points, as many evenly chosen ones
QUANTILE = 0.995  # of |K_ij|: where the colours end


def kernel(solution_or_K: Solution | Array, labels: ArrayLike | None = None, ax: Any = None) -> Any:
    """The kernel, its points ordered by class, on colours that are symmetric about zero.

    Parameters
    ----------
    solution_or_K : Solution or ndarray of shape (n, n)
        Of more than 2,000 points as many are shown, evenly chosen.
    labels : array_like of shape (n,), optional
        Classes or clusters; their borders are drawn.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ProblemError
        If K is not square, or there are not as many labels as points.
    SolverError
        For a solution without a point.
    MissingDependencyError
        Without matplotlib.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.show import plots
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> ax = plots.kernel(problem.solve(), labels=["a", "a", "a", "b", "b", "b"])
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['a', 'b']
    """
    factor = solution_or_K.V if isinstance(solution_or_K, Solution) else None
    if isinstance(solution_or_K, Solution) and factor is None:
        solution_or_K.dense()  # says why there is none
    n = len(solution_or_K if factor is None else factor)  # type: ignore[arg-type]
    number, names = classes(labels, n)
    order = np.argsort(number, kind="stable")
    if n > LARGEST:
        order = order[np.linspace(0, n - 1, LARGEST).astype(np.intp)]
    K = _rows(solution_or_K, order) if factor is None else factor[order] @ factor[order].T
    reach = float(np.quantile(np.abs(K), QUANTILE)) or float(np.abs(K).max()) or 1.0
    ax = axes(ax, 5.2, 4.4)
    image = ax.imshow(K, cmap=DIVERGING, vmin=-reach, vmax=reach, interpolation="nearest")
    bar = ax.figure.colorbar(
        image, ax=ax, shrink=0.8, extend="both" if np.abs(K).max() > reach else "neither"
    )
    bar.set_label("$K_{ij}$")
    bar.outline.set_visible(False)
    _borders(ax, number[order], names)
    return ax


def _borders(ax: Any, number: Index, names: list[str]) -> None:
    """Lines between the classes, and their names along both axes."""
    ax.spines[:].set_visible(False)
    if len(names) < 2:
        ax.set_xlabel("point")
        ax.set_ylabel("point")
        return
    counts = np.bincount(number, minlength=len(names))
    ends = np.cumsum(counts)
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="black", linewidth=0.6)
        ax.axvline(end - 0.5, color="black", linewidth=0.6)
    middle = ends - counts / 2 - 0.5
    ax.set_xticks(middle, names)
    ax.set_yticks(middle, names)
    ax.tick_params(length=0)
    ax.set_xlabel("class")
    ax.set_ylabel("class")


def _rows(given: Any, order: Index) -> Array:
    K = np.asarray(given, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ProblemError(f"a kernel must have shape (n, n), got {K.shape}")
    return K[np.ix_(order, order)]
