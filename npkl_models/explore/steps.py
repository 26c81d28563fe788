"""One solver step by step: objective, bound, rank and the low eigenvector of the slack, for each iterate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from npkl_models.answer.history import Iterate
from npkl_models.certify.prove import certify
from npkl_models.errors import ProblemError
from npkl_models.formulations.known_distances import Anchors
from npkl_models.linalg import Array, Index, numerical_rank
from npkl_models.model.statement import Statement

MOST_POINTS = 300
SHOWN = 60  # the largest number of iterates shown; of more, the first ones and then fewer and fewer
FIRST = 20
KEPT = 3_000  # the largest number of factors that are kept while the solver runs


@dataclass(frozen=True, eq=False)
class Step:
    """A certified iterate, with the positions of the points.

    Attributes
    ----------
    row : Iterate
        The iterate.
    objective, bound, min_eigenvalue : float
        Numbers of the certificate of the iterate; the last one is the smallest eigenvalue of the slack.
    rigour : str
        Rigour of the certificate.
    rank : int
        Rank of the kernel.
    columns : int
        Number of columns of the factor.
    direction : ndarray of shape (n,)
        The eigenvector of the smallest eigenvalue.
    places : ndarray of shape (n, 2)
        Positions of the points along the two largest directions of the factor; with anchors, their first two
        coordinates in the frame of the anchors, relative to the centre of these.
    """

    row: Iterate
    objective: float
    bound: float
    min_eigenvalue: float
    rigour: str
    rank: int
    columns: int
    direction: Array
    places: Array


class Recorder:
    """A solver's callback that keeps the factors, so that they can be certified after the run."""

    def __init__(
        self, problem: Statement, ask: Callable[[Iterate], bool], anchors: Anchors | None = None
    ) -> None:
        self.problem, self._ask, self.anchors = problem, ask, anchors
        self.rows: list[Iterate] = []
        self.blind = 0  # number of iterates without a factor

    def __call__(self, row: Iterate) -> bool:
        """Keep a copy of the factor; return the result of the page's own callback."""
        if row.V is None or len(row.V) != self.problem.n:
            self.blind += 1
        elif len(self.rows) < KEPT:
            self.rows.append(row._replace(V=row.V.copy()))
        return self._ask(row)

    def judged(self, final: Array | None, progress: Callable[[int, int], None]) -> list[Step]:
        """The steps that are shown; the last step is the solution.

        Without anchors, each step is rotated to the step before. ``final`` is the factor of the solution, if
        there is one.
        """
        if not self.rows:
            raise ProblemError(
                "to be shown step by step, a solver must have a factor at each iteration, got "
                f"{self.blind} iterations without a factor; use bcd, burer_monteiro, hybrid or admm"
            )
        rows = [self.rows[k] for k in shown(len(self.rows))]
        if final is not None:
            rows.append(rows[-1]._replace(V=np.array(final)))
        found: list[Step] = []
        for k, row in enumerate(rows):
            progress(k + 1, len(rows))
            found.append(self._judged(row, found[-1] if found else None))
        return found

    def _judged(self, row: Iterate, before: Step | None) -> Step:
        V = np.asarray(row.V)
        found = certify(self.problem, V, kind="factor")
        direction, places = np.array(found.direction), _places(V, self.anchors)
        if before is not None:
            if direction @ before.direction < 0:
                direction = -direction
            if self.anchors is None:
                u, _, w = np.linalg.svd(places.T @ before.places)
                places = places @ (u @ w)
        return Step(
            row, found.objective, found.bound, found.min_eigenvalue, found.rigour, numerical_rank(V),
            V.shape[1], direction, places,
        )  # fmt: skip


def shown(count: int) -> list[int]:
    """The numbers of the iterates that are shown: the first ones, then fewer and fewer, and the last one."""
    if count <= SHOWN:
        return list(range(count))
    later = np.geomspace(FIRST, count - 1, SHOWN - FIRST).round().astype(int)
    return sorted({*range(FIRST), *later.tolist(), count - 1})


def refuse_large(problem: Statement) -> None:
    """Raise a `ProblemError` if there are too many points to show steps."""
    if problem.n > MOST_POINTS:
        raise ProblemError(f"the steps of a solver are shown for up to {MOST_POINTS} points, got {problem.n}")


def numbers(steps: list[Step], labels: Any, anchors: Anchors | None = None) -> dict[str, Any]:
    """The steps for the page; the points are in the order of their classes, and anchors are marked."""
    n = len(steps[0].direction)
    order = np.arange(n) if labels is None else np.argsort(np.asarray(labels), kind="stable")
    best = np.fmax.accumulate([one.bound if np.isfinite(one.bound) else -np.inf for one in steps])
    return {
        "iteration": [one.row.iteration for one in steps], "seconds": [one.row.seconds for one in steps],
        "objective": [one.objective for one in steps], "bound": [one.bound for one in steps],
        "best": best, "min_eigenvalue": [one.min_eigenvalue for one in steps],
        "rigour": [one.rigour for one in steps], "rank": [one.rank for one in steps],
        "columns": [one.columns for one in steps], "backend": steps[0].row.backend,
        "direction": [_short(one.direction[order]) for one in steps],
        "labels": None if labels is None else np.unique(np.asarray(labels)[order], return_inverse=True)[1],
    } | _map(steps, order, anchors)  # fmt: skip


def _map(steps: list[Step], order: Index, anchors: Anchors | None) -> dict[str, Any]:
    """The places of each step, to one scale if there are anchors, and which points are anchors."""
    if anchors is None:
        return {"places": [_short(one.places[order]) for one in steps], "anchors": None}
    size = float(max(np.abs(one.places).max() for one in steps))
    places = [_short(one.places[order], size) for one in steps]
    return {"places": places, "anchors": np.isin(order, anchors.points)}


def _places(V: Array, anchors: Anchors | None) -> Array:
    if anchors is None:
        u, s, _ = np.linalg.svd(V - V.mean(axis=0), full_matrices=False)
        along = u * s
    else:
        along = anchors.located(V)[0] - anchors.centre
    return np.pad(along[:, :2], ((0, 0), (0, max(0, 2 - along.shape[1]))))


def _short(values: Array, size: float | None = None) -> list[Any]:
    """Values over a size, the largest by default, to four digits: enough for a picture."""
    size = size or float(np.abs(values).max(initial=0.0)) or 1.0
    return np.round(values / size, 4).tolist()
