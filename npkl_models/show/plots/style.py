"""The common style of the pictures: colours, markers, plain axes, and the labels of solutions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError, optional
from npkl_models.linalg import Index

BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800",
)  # fmt: skip
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW)
"""Colours that a colour-blind reader can distinguish (Okabe & Ito 2008), with a darker yellow."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MOST_CLASSES = 12  # the largest number of classes that a legend names
FAINT = "#8a8a8a"
DIVERGING = "RdBu_r"
SMALLEST = 1e-16  # smaller relative gaps or eigenvalues, and zero, are drawn as this one
LEAST = 1e-6  # smaller shares of the largest score or multiplier are not told apart
POINTS = 400  # points of a curve


def axes(ax: Any, width: float = 6.0, height: float = 4.0) -> Any:
    """The given axes, or new axes of the given size in inches, without the upper and right spines."""
    if ax is None:
        plt = optional("matplotlib.pyplot", "plot", "plot")
        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def counted(ax: Any, label: str) -> None:
    """Label the vertical axis, with whole numbers from zero."""
    ax.set(ylabel=label)
    ax.set_ylim(bottom=0)
    ax.yaxis.get_major_locator().set_params(integer=True)


def named(solutions: Solution | Mapping[str, Solution] | Iterable[Solution]) -> dict[str, Solution]:
    """Solutions by label; without labels, by the names of their backends, numbered if a name comes twice."""
    found = dict(solutions) if isinstance(solutions, Mapping) else {}
    unnamed: Iterable[Any] = [solutions] if isinstance(solutions, Solution) else solutions
    for solution in () if isinstance(solutions, Mapping) else unnamed:
        label, k = solution.backend, 2
        while label in found:
            label, k = f"{solution.backend} ({k})", k + 1
        found[label] = solution
    if not found:
        raise ProblemError("solutions must hold at least one solution, got none")
    return found


def classes(labels: ArrayLike | None, n: int) -> tuple[Index, list[str]]:
    """The class of each of n points as a number from 0, and the names of the classes."""
    given = np.full(n, "") if labels is None else np.asarray(labels)
    if given.shape != (n,):
        raise ProblemError(f"labels must have shape ({n},), got {given.shape}")
    names, number = np.unique(given, return_inverse=True)
    return number.astype(np.intp), [str(name) for name in names]


def evenly(values: Index, most: int) -> Index:
    """All values; if there are more than ``most``, that many evenly chosen values."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.intp)]


def small_legend(ax: Any, **how: Any) -> None:
    """Draw a small legend without a frame, if anything has a label."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, fontsize="small", **how)
