"""Solutions in the form for the page: numbers for its own drawings, and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

import npkl_models.show.plots as plots
from npkl_models.answer.history import History
from npkl_models.answer.solution import Solution
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.certify.bracket import bracket
from npkl_models.crosscheck.table import COLUMNS, CrossCheck, cells
from npkl_models.errors import ProblemError, chosen
from npkl_models.explore.form import Form
from npkl_models.explore.optimality import LARGEST, Point
from npkl_models.linalg import Array, Index
from npkl_models.path import Path
from npkl_models.recipe.made import Made
from npkl_models.show.page import svg

FEW = 2  # the number of clusters if neither the form nor the data have one
BETWEEN = 12  # number of weights that are shown between two weights of a path
SHOWN = 400  # the largest number of rows of a history that are sent


@dataclass(frozen=True)
class Answer:
    """A solution of the page's problem."""

    made: Made
    form: Form
    solution: Solution
    restarts: int = 20  # restarts of k-means

    @cached_property
    def clusters(self) -> Index:
        """The clusters by kernel k-means."""
        count = groups(self.made, self.form)
        return kernel_kmeans(self.solution, count, self.restarts)

    @property
    def accuracy(self) -> float | None:
        """The share of pairs of points on which clusters and classes agree; None without classes."""
        known = self.made.labels
        return None if known is None else cluster_accuracy(known, self.clusters)

    def numbers(self) -> dict[str, Any]:
        """The numbers beside the figures."""
        one = self.solution
        out: dict[str, Any] = {
            "status": one.status.name, "advice": one.status.value, "backend": one.backend,
            "message": one.message, "seconds": one.build_time + one.solve_time, "iterations": one.iterations,
            "history": thinned(one.history),
        }  # fmt: skip
        if one.V is None:
            return out
        found = one.certificate
        return out | {
            "objective": one.objective, "bound": found.bound, "upper": found.upper, "gap": found.relative_gap,
            "violation": found.violation, "missed": found.missed, "rigour": found.rigour,
            "certificate": str(found), "bracket": bracket(found), "rank": one.rank, "trace": one.trace,
        }  # fmt: skip

    def clustered(self) -> dict[str, Any]:
        """The numbers of k-means on the kernel, which may take longer than a quick solve."""
        return {"sizes": np.bincount(self.clusters).tolist(), "accuracy": self.accuracy}

    def optimality(self) -> dict[str, Any]:
        """The numbers of primal, dual and conditions at the certificate's point and multipliers."""
        if self.solution.V is None or self.made.problem.order > LARGEST:
            return {}
        found = self.solution.certificate
        numbers = Point.of(self.made.problem, found.point, found.multipliers).numbers()
        return numbers | {"bound": found.bound, "gap": found.objective - found.bound}

    @property
    def located(self) -> Array:
        """The positions (n x d) in the frame of the anchors, which keep theirs; only with anchors."""
        if self.made.anchors is None or self.solution.V is None:
            raise ProblemError("positions need anchors and a kernel")
        return self.made.anchors.located(self.solution.V)[0]

    def network(self, labels: Index | None, ax: Any) -> Any:
        """Draw the sensors and the anchors in the frame of the anchors, with the measured distances."""
        made = self.made
        i, j = made.problem.losses[0].functional.indices
        names = [""] * made.problem.n if made.names is None else made.names
        anchors = None if made.anchors is None else made.anchors.points
        return plots.network(self.located, (i, j), names=names, anchors=anchors, labels=labels, ax=ax)

    def figure(self, name: str, by: str, width: int, dark: bool) -> str:
        """One of `FIGURES` as SVG of the given width in pixels.

        ``by`` is "classes" or "clusters"; these order the kernel and colour the points.
        """
        words, draw = FIGURES[chosen("figure", name, FIGURES)]
        if name == "joint_spectrum" and self.made.problem.order > LARGEST:
            raise ProblemError(
                f"the page draws the spectrum up to order {LARGEST}, got {self.made.problem.order}; "
                "npkl_models.show.plots.joint_spectrum(solution) draws it from Python"
            )
        width = int(np.clip(width, 240, 900))
        if name == "embedding" and self.made.anchors is not None:
            classed = self.clusters if by == "clusters" else self.made.labels
            return svg(partial(self.network, classed), SENSORS, width, round(0.8 * width), dark)
        labels = self.made.labels
        if by == "clusters" or labels is None:
            labels = self.clusters
        return svg(partial(draw, self.solution, labels), words, width, round(0.8 * width), dark)


SENSORS = "The sensors in the frame of the anchors, with the measured distances"
Draw = Callable[[Solution, Index, Any], Any]

FIGURES: dict[str, tuple[str, Draw]] = {
    "kernel": ("The kernel, ordered by class or cluster", plots.kernel),
    "embedding": ("The points by the kernel, with the graph", partial(plots.embedding, edges=True)),
    "joint_spectrum": ("Eigenvalues of kernel and dual slack", lambda s, _, ax: plots.joint_spectrum(s, ax)),
    "pair_multipliers": ("The pairs that hold the kernel", lambda s, _, ax: plots.pair_multipliers(s, ax=ax)),
    "spectrum": ("Eigenvalues of the kernel", lambda s, _, ax: plots.spectrum(s, ax)),
    "rank_history": ("Columns of the factor", lambda s, _, ax: plots.rank_history(s, ax)),
}  # fmt: skip
"""The caption and the drawing function of each figure."""


def path_numbers(path: Path, answers: Sequence[Answer], gamma: float) -> dict[str, Any]:
    """The numbers of a path for the page; ``gamma`` is the weight at the parameter's value 1."""
    return {
        "gamma": path.values * gamma, "objective": path.objective, "gap": path.relative_gap,
        "rank": path.rank, "iterations": path.iterations,
        "accuracy": [one.accuracy for one in answers], "status": [one.status.name for one in path.solutions],
        "backend": path.solutions[0].backend,
        "bracket": [bracket(one.certificate) for one in path.solutions],
    }  # fmt: skip


def between_numbers(path: Path, gamma: float) -> dict[str, Any]:
    """The proved bounds between the weights of a path, with the best kernel and its gap at each weight."""
    weights, cover = grid(path.values), path.cover
    return {
        "gamma": weights * gamma, "upper": cover.upper(weights), "lower": cover.lower(weights),
        "best": cover.best(weights), "gap": cover.gaps(weights), "worst": cover.guarantee,
    }  # fmt: skip


def grid(weights: Array, between: int = BETWEEN) -> Array:
    """The weights of a path, and ``between`` weights within each interval, evenly spaced in logarithms."""
    steps = np.linspace(0, weights.size - 1, (weights.size - 1) * (between + 1) + 1)
    fine = np.exp(np.interp(steps, np.arange(weights.size), np.log(weights)))
    fine[:: between + 1] = weights
    return fine


def table(check: CrossCheck) -> dict[str, Any]:
    """The table of a cross-check for the page."""
    rows = [{"cells": cells(row), "ran": row.ran, "good": row.verdict == "agrees"} for row in check.rows]
    return {"columns": COLUMNS, "rows": rows, "headline": check.headline(), "agrees": check.agrees}


def thinned(history: History) -> dict[str, Array]:
    """The columns of a history, thinned to a few rows that include the last row and all rows with a bound."""
    count = len(history)
    kept = np.arange(count)
    if count > SHOWN:
        even = np.linspace(0, count - 1, SHOWN).astype(np.intp)
        kept = np.union1d(even, np.flatnonzero(np.isfinite(history.bound))[-SHOWN:])
    return {name: history[name][kept] for name in history.columns}


def groups(made: Made, form: Form) -> int:
    """The number of clusters, which is at most the number of points."""
    known = made.labels
    classes = 0 if known is None else int(np.unique(known[known >= 0]).size)
    return min(form.clusters or classes or FEW, made.problem.n)
