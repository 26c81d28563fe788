"""Solutions in the form for the page: numbers for its own drawings, figures, and Python programs."""

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
from npkl_models.certificates.certificate import bracket
from npkl_models.errors import ProblemError, chosen
from npkl_models.explore.form import Form
from npkl_models.explore.optimality import LARGEST, numbers
from npkl_models.linalg import Array, Index
from npkl_models.path import Path
from npkl_models.recipe.made import Made
from npkl_models.show.page import svg
from npkl_models.show.plots.style import POINTS, evenly

FEW = 2  # the number of clusters if neither the form nor the data have one
BETWEEN = 12  # number of weights that are shown between two weights of a path


@dataclass(frozen=True)
class Answer:
    """A solution of the page's problem."""

    made: Made
    form: Form
    solution: Solution
    restarts: int = 20  # restarts of k-means

    @cached_property
    def clusters(self) -> Index:
        return kernel_kmeans(self.solution, groups(self.made, self.form), self.restarts)

    @property
    def accuracy(self) -> float | None:
        """The share of pairs of points on which clusters and classes agree; None without classes."""
        known = self.made.labels
        return None if known is None else cluster_accuracy(known, self.clusters)

    def numbers(self) -> dict[str, Any]:
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

    def optimality(self) -> dict[str, Any]:
        """The numbers of primal, dual and conditions at the certificate's point and multipliers."""
        if self.solution.V is None or self.made.problem.order > LARGEST:
            return {}
        found = self.solution.certificate
        told = numbers(self.made.problem, found.point, found.multipliers)
        return told | {"bound": found.bound, "gap": found.objective - found.bound}

    @property
    def located(self) -> Array:
        """The positions (n x d) in the frame of the anchors, which keep theirs; only with anchors."""
        if self.made.anchors is None or self.solution.V is None:
            raise ProblemError("positions need anchors and a kernel")
        return self.made.anchors.located(self.solution.V)[0]

    def network(self, labels: Index | None, ax: Any) -> Any:
        """Draw the sensors and the anchors in the frame of the anchors, with the measured distances."""
        made = self.made
        pairs = made.problem.losses[0].functional.indices
        names = [""] * made.problem.n if made.names is None else made.names
        anchors = None if made.anchors is None else made.anchors.points
        how: dict[str, Any] = {"names": names, "anchors": anchors, "labels": labels}
        return plots.network(self.located, (pairs[0], pairs[1]), ax=ax, **how)

    def figure(self, name: str, by: str, width: int, dark: bool) -> str:
        """One of `FIGURES` as SVG of the given width in pixels.

        ``by`` is "classes" or "clusters"; these order the kernel and colour the points.
        """
        words, draw = FIGURES[chosen("figure", name, FIGURES)]
        if name == "joint_spectrum" and self.made.problem.order > LARGEST:
            words = f"the page draws the spectrum up to order {LARGEST}, got {self.made.problem.order}"
            raise ProblemError(
                f"{words}; npkl_models.show.plots.joint_spectrum(solution) draws it from Python"
            )
        labels = self.clusters if by == "clusters" else self.made.labels
        drawn: Callable[[Any], Any]
        if name == "embedding" and self.made.anchors is not None:
            words, drawn = SENSORS, partial(self.network, labels)
        else:
            drawn = partial(draw, self.solution, self.clusters if labels is None else labels)
        width = int(np.clip(width, 240, 900))
        return svg(drawn, words, width, round(0.8 * width), dark)


SENSORS = "The sensors in the frame of the anchors, with the measured distances"
FIGURES: dict[str, tuple[str, Callable[[Solution, Index, Any], Any]]] = {
    "kernel": ("The kernel, ordered by class or cluster", plots.kernel),
    "embedding": ("The points by the kernel, with the graph", partial(plots.embedding, edges=True)),
    "joint_spectrum": ("Eigenvalues of kernel and dual slack", lambda s, _, ax: plots.joint_spectrum(s, ax)),
    "pair_multipliers": ("The pairs that hold the kernel", lambda s, _, ax: plots.pair_multipliers(s, ax)),
    "spectrum": ("Eigenvalues of the kernel", lambda s, _, ax: plots.spectrum(s, ax)),
    "rank_history": ("Columns of the factor", lambda s, _, ax: plots.rank_history(s, ax)),
}
"""The caption and the drawing function of each figure."""


def path_numbers(path: Path, answers: Sequence[Answer], gamma: float) -> dict[str, Any]:
    """The numbers of a path for the page; ``gamma`` is the weight at the parameter's value 1."""
    return {
        "gamma": path.values * gamma, "objective": path.objective, "gap": path.relative_gap,
        "rank": path.rank, "iterations": path.iterations,
        "accuracy": [one.accuracy for one in answers], "status": [one.status.name for one in path.solutions],
        "backend": path.solutions[0].backend, "between": between_numbers(path, gamma),
        "bracket": [bracket(one.certificate) for one in path.solutions],
    }  # fmt: skip


def between_numbers(path: Path, gamma: float) -> dict[str, Any]:
    """The proved bounds at the weights of a path, and at some between, with the best kernel and its gap."""
    count, cover = path.values.size - 1, path.cover
    steps = np.linspace(0, count, count * (BETWEEN + 1) + 1)
    weights = np.exp(np.interp(steps, np.arange(count + 1), np.log(path.values)))
    weights[:: BETWEEN + 1] = path.values
    return {
        "gamma": weights * gamma, "upper": cover.upper(weights), "lower": cover.lower(weights),
        "best": cover.best(weights), "gap": cover.gaps(weights), "worst": cover.guarantee,
    }  # fmt: skip


def thinned(history: History) -> dict[str, Array]:
    """The columns of a history, thinned to a few rows that include the last row and all rows with a bound."""
    bounded = np.flatnonzero(np.isfinite(history.bound))[-POINTS:]
    kept = np.union1d(evenly(np.arange(len(history)), POINTS), bounded)
    return {name: history[name][kept] for name in history.columns}


def groups(made: Made, form: Form) -> int:
    """The number of clusters, which is at most the number of points."""
    known = made.labels
    classes = 0 if known is None else int(np.unique(known[known >= 0]).size)
    return min(form.clusters or classes or FEW, made.problem.n)


CLUSTERING = "from npkl_models.applications.clustering import {}kernel_kmeans"
AUDIT = "from npkl_models.applications.audit import audit_pairs"
PROGRAMS = {
    "path": """gammas = np.geomspace{span!r}
weights = gammas / {gamma!r}
path = nm.regularization_path(problem, 'weight', weights, {how})
print(path.objective, path.relative_gap, path.rank)""",
    "compare": """backends = {names!r}
check = nm.crosscheck(problem, backends, {keywords})
print(check)""",
    "step": """found = []


def judge(iterate):
    if iterate.V is not None:
        proof = nm.certify(problem, iterate.V.copy(), kind='factor', search=0)
        found.append((iterate.iteration, proof.objective, proof.bound, proof.min_eigenvalue))


solution = problem.solve({how}, callback=judge)
print(*found, sep='\\n')""",
    "race": """for name in {names!r}:
    problem.solve(name, {keywords})  # the first run compiles loops
    began = time.process_time()
    solution = problem.solve(name, {keywords})
    print(name, time.process_time() - began, solution.status, solution.certificate)""",
}
IMPORTS = {"path": ("import numpy as np",), "race": ("import time",)}


def solve_code(made: Made, form: Form) -> str:
    """The program that solves and clusters."""
    known = made.labels is not None
    imports = (CLUSTERING.format("cluster_accuracy, " if known else ""), *([AUDIT] if form.wrong else []))
    lines = [f"solution = problem.solve({form.recipe.backend!r}, {form.solving_words()})"]
    lines += ["print(solution.summary())", f"clusters = kernel_kmeans(solution, {groups(made, form)})"]
    lines += ["print(cluster_accuracy(data.y, clusters))"] if known else []
    lines += ["print(audit_pairs(solution))"] if form.wrong else []
    return made.script.code(*lines, imports=imports)


def program(
    kind: str, made: Made, form: Form, names: Sequence[str] = (), span: tuple[float, float, int] | None = None
) -> str:
    """One of `PROGRAMS`, for the backends ``names`` or for the values ``span`` of gamma."""
    one = names[0] if len(names) == 1 else form.recipe.backend
    how = f"{one!r}, {form.solving_words(one)}"
    given = {"names": list(names), "span": span, "gamma": form.recipe.gamma, "how": how}
    lines = PROGRAMS[kind].format(**given, keywords=form.solving_words(*names)).split("\n")
    return made.script.code(*lines, imports=IMPORTS.get(kind, ()))
