"""Pictures of a kernel, of its eigenvalues, and of those of the dual slack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import npkl_models.show.plots.style as style
from npkl_models.answer.solution import Solution, factor_of
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, dense, gram_eigenvalues
from npkl_models.linalg.owned import finite, real_array

LARGEST = 2_000  # the largest number of rows drawn; of more rows, evenly chosen ones are drawn
QUANTILE = 0.995  # the colours end at this quantile of |K_ij|
LARGEST_SLACK = 6_000  # the largest order of a slack whose eigenvalues are drawn


def kernel(solution_or_K: Solution | Array, labels: ArrayLike | None = None, ax: Any = None) -> Any:
    """Plot the kernel as an image; points are ordered by class, and colours are symmetric about zero.

    Parameters
    ----------
    solution_or_K : Solution or ndarray of shape (n, n)
        Solution or kernel. Of more than 2,000 points, 2,000 evenly chosen points are shown.
    labels : array_like of shape (n,), optional
        Classes or clusters, whose borders are drawn.
    """
    if solved := isinstance(solution_or_K, Solution):
        given = factor_of(solution_or_K)
    else:
        given = finite(real_array(solution_or_K, "a kernel"), "a kernel")
    if not solved and (given.ndim != 2 or given.shape[0] != given.shape[1]):
        raise ProblemError(f"a kernel must have shape (n, n), got {given.shape}")
    n = len(given)
    number, names = style.classes(labels, n)
    order = style.evenly(np.argsort(number, kind="stable"), LARGEST)
    K = given[order] @ given[order].T if solved else given[np.ix_(order, order)]
    reach = float(np.quantile(np.abs(K), QUANTILE)) or float(np.abs(K).max()) or 1.0
    ax = style.axes(ax, 5.2, 4.4)
    image = ax.imshow(K, cmap=style.DIVERGING, vmin=-reach, vmax=reach, interpolation="nearest")
    extend = "both" if np.abs(K).max() > reach else "neither"
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, extend=extend, label="$K_{ij}$")
    bar.outline.set_visible(False)
    ax.spines[:].set_visible(False)
    of = "class" if len(names) > 1 else "point"
    ax.set(xlabel=of, ylabel=of)
    if len(names) > 1:
        counts = np.bincount(number[order], minlength=len(names))
        ends = np.cumsum(counts)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="black", linewidth=0.6)
            ax.axvline(end - 0.5, color="black", linewidth=0.6)
        middle = ends - counts / 2 - 0.5
        ax.set_xticks(middle, names)
        ax.set_yticks(middle, names)
        ax.tick_params(length=0)
    return ax


def joint_spectrum(solution: Solution, ax: Any = None) -> Any:
    """Plot the eigenvalues of K and of the dual slack S side by side: one of each pair is zero at an optimum.

    The eigenvalues of K descend and those of S ascend. At an optimum KS = 0, and the product of the k-th
    eigenvalues is zero for every k. S is the slack of the certificate, restricted to the basis if there is
    one. With a penalty or a bound on tr K^p, the slack is not complementary and may have negative
    eigenvalues, which the regulariser balances. Their absolute values are drawn as hollow markers.

    Source: Alizadeh, Haeberly & Overton, Math. Programming 77, 1997, section 2.
    """
    problem, found = solution.problem, solution.certificate
    if problem.order > LARGEST_SLACK:
        most = f"an order of at most {LARGEST_SLACK}"
        raise ProblemError(f"the slack must have {most} to be drawn, got {problem.order}")
    of_kernel = np.zeros(problem.order)  # with the zeros that a factor does not show
    known = np.sort(gram_eigenvalues(factor_of(solution)))[::-1][: problem.order]
    of_kernel[: known.size] = known
    of_slack = np.linalg.eigvalsh(dense(problem.restrict(problem.slack(found.multipliers))))
    ax = style.axes(ax)
    index = np.arange(1, problem.order + 1)
    ax.plot(index, _drawn(of_kernel), "o", color=style.BLUE, markersize=4, label="kernel K")
    tall = _drawn(of_slack)
    negative = of_slack < -1e-10 * max(1.0, float(np.abs(of_slack).max()))
    look = {"color": style.VERMILION, "marker": "x", "markersize": 5, "linestyle": "none"}
    ax.plot(index[~negative], tall[~negative], **look, label="dual slack S")
    if negative.any():
        hollow = look | {"marker": "D", "markerfacecolor": "none"}
        ax.plot(index[negative], tall[negative], **hollow, label="S, negative (size drawn)")
    logarithmic = {"xscale": "log", "yscale": "log"}
    ax.set(xlabel="k (K descending, S ascending)", ylabel="k-th eigenvalue", **logarithmic)
    style.small_legend(ax, loc="center right")
    return ax


def spectrum(solution: Solution, ax: Any = None) -> Any:
    """Plot the eigenvalues of K in descending order, down to the first that counts as zero (a scree plot)."""
    values = np.sort(gram_eigenvalues(factor_of(solution)))[::-1][: solution.rank + 1]
    ax = style.axes(ax)
    ax.bar(np.arange(1, values.size + 1), values, color=style.BLUE, width=0.7)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="k", ylabel="k-th eigenvalue of K")
    return ax


def _drawn(values: Array) -> Array:
    """Absolute values for a logarithmic axis, raised to a floor."""
    size = np.abs(values)
    return np.maximum(size, style.SMALLEST * float(size.max(initial=0.0)) or style.SMALLEST)
