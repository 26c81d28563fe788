"""Answers as the page gets them: numbers for its own drawings, figures, and the code of what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from npkl_models.files.atomic import finite
from npkl_models.linalg import Array, Index
from npkl_models.path import Path
from npkl_models.recipe.made import Made
from npkl_models.show.page import svg

FEW = 2  # clusters, where neither the form nor the data say how many
SHOWN = 400  # rows of a history that are sent
LARGEST = 2_000  # order of a slack whose spectrum the page waits for
CLUSTERING = "from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans"


@dataclass(frozen=True)
class Answer:
    """A solution of the page's problem."""

    made: Made
    form: Form
    solution: Solution
    restarts: int = 20  # of k-means

    @cached_property
    def clusters(self) -> Index:
        """By kernel k-means."""
        count = self.form.clusters or _classes(self.made) or FEW
        return kernel_kmeans(self.solution, min(count, self.made.problem.n), self.restarts)

    @property
    def accuracy(self) -> float | None:
        """Share of pairs of points on which clusters and classes agree, None without classes."""
        known = self.made.labels
        return None if known is None else cluster_accuracy(known, self.clusters)

    def numbers(self) -> dict[str, Any]:
        """What stands beside the figures."""
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
            "rigour": found.rigour, "certificate": str(found), "bracket": bracket(found), "rank": one.rank,
            "trace": one.trace, "sizes": np.bincount(self.clusters).tolist(), "accuracy": self.accuracy,
        }  # fmt: skip

    def figure(self, name: str, by: str, width: int, dark: bool) -> str:
        """One of `FIGURES` as SVG, so many pixels wide.

        ``by`` is "classes" or "clusters", which order the kernel and colour the points.
        """
        words, draw = FIGURES[chosen("figure", name, FIGURES)]
        if name == "joint_spectrum" and self.made.problem.order > LARGEST:
            raise ProblemError(
                f"the page draws the spectrum up to order {LARGEST}, got {self.made.problem.order}; "
                "npkl_models.show.plots.joint_spectrum(solution) draws it from Python"
            )
        labels = self.made.labels
        if by == "clusters" or labels is None:
            labels = self.clusters
        width = int(np.clip(width, 240, 900))
        return svg(partial(draw, self.solution, labels), words, width, round(0.8 * width), dark)


Draw = Callable[[Solution, Index, Any], Any]

FIGURES: dict[str, tuple[str, Draw]] = {
    "kernel": ("The kernel, ordered by class or cluster", plots.kernel),
    "embedding": ("The points by the kernel, with the graph", partial(plots.embedding, edges=True)),
    "joint_spectrum": ("Eigenvalues of kernel and dual slack", lambda s, _, ax: plots.joint_spectrum(s, ax)),
    "pair_multipliers": ("The pairs that hold the kernel", lambda s, _, ax: plots.pair_multipliers(s, ax=ax)),
    "spectrum": ("Eigenvalues of the kernel", lambda s, _, ax: plots.spectrum(s, ax)),
    "rank_history": ("Columns of the factor", lambda s, _, ax: plots.rank_history(s, ax)),
}  # fmt: skip
"""Words and drawing function of each figure of an answer."""


def solve_code(made: Made, form: Form) -> str:
    """The program that solves and clusters."""
    known = made.labels is not None
    count = form.clusters or _classes(made) or FEW
    tail = [f"solution = problem.solve({_solving(form)})", "print(solution.summary())"]
    tail.append(f"clusters = kernel_kmeans(solution, {min(count, made.problem.n)})")
    if known:
        tail.append("print(cluster_accuracy(data.y, clusters))")
    return made.script.code(
        *tail, imports=(CLUSTERING if known else CLUSTERING.replace("cluster_accuracy, ", ""),)
    )


def path_code(made: Made, form: Form, span: tuple[float, float, int]) -> str:
    """The program that follows gamma."""
    low, high, count = span
    return made.script.code(
        f"gammas = np.geomspace({low!r}, {high!r}, {count})",
        f"weights = gammas / {form.recipe.gamma!r}",
        f"path = nm.regularization_path(problem, 'weight', weights, {_solving(form)})",
        "print(path.objective, path.relative_gap, path.rank)",
        imports=("import numpy as np",),
    )


def compare_code(made: Made, form: Form, backends: Sequence[str]) -> str:
    """The program that compares backends."""
    return made.script.code(
        f"backends = {list(backends)!r}",
        f"check = nm.crosscheck(problem, backends, {form.recipe.solving_words(*backends)})",
        "print(check)",
    )


def path_numbers(path: Path, answers: Sequence[Answer], gamma: float) -> dict[str, Any]:
    """What is shown along a path; ``gamma`` is the weight at the parameter's value 1."""
    return {
        "gamma": path.values * gamma, "objective": path.objective, "gap": path.relative_gap,
        "rank": path.rank, "iterations": path.iterations,
        "accuracy": [one.accuracy for one in answers], "status": [one.status.name for one in path.solutions],
        "backend": path.solutions[0].backend,
        "bracket": [bracket(one.certificate) for one in path.solutions],
    }  # fmt: skip


def table(check: CrossCheck) -> dict[str, Any]:
    """A cross-check's table."""
    rows = [{"cells": cells(row), "ran": row.ran, "good": row.verdict == "agrees"} for row in check.rows]
    return {"columns": COLUMNS, "rows": rows, "headline": check.headline(), "agrees": check.agrees}


def thinned(history: History) -> dict[str, Array]:
    """Columns of a history, of many rows a few: the last, and all with a bound, among them."""
    count = len(history)
    kept = np.arange(count)
    if count > SHOWN:
        even = np.linspace(0, count - 1, SHOWN).astype(np.intp)
        kept = np.union1d(even, np.flatnonzero(np.isfinite(history.bound))[-SHOWN:])
    return {name: history[name][kept] for name in history.columns}


def plain(value: Any) -> Any:
    """The same for JSON: lists for arrays and tuples, None for what is no finite number."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return finite(value)


def _solving(form: Form) -> str:
    return f"{form.recipe.backend!r}, {form.recipe.solving_words()}"


def _classes(made: Made) -> int:
    known = made.labels
    return 0 if known is None else int(np.unique(known).size)
