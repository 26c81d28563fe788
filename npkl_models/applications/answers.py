"""Answers to comparisons: read in several forms, used to place new points, and chosen to be asked next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from npkl_models.errors import ProblemError
from npkl_models.formulations.comparisons import differences, number_of_points, read_comparisons
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import generator, whole_array
from npkl_models.model.answers import signs
from npkl_models.model.losses import Loss, get_loss
from npkl_models.model.terms import LossTerm

CANDIDATES = 200  # comparisons drawn for each one that is asked
PLACE_TOL = 1e-9  # gradient of the positions of new points, relative to the weight of all comparisons


@dataclass(frozen=True, eq=False)
class Answers:
    """Comparisons in the order that was said, and comparisons of equal distances or None."""

    rows: Index
    ties: Index | None

    @property
    def count(self) -> int:
        """The largest index plus one, at least 3."""
        return number_of_points([part for part in (self.rows, self.ties) if part is not None], None)


def read_answers(X: Any, y: ArrayLike | None) -> Answers:
    """Comparisons from rows, from rows with answers, or from a sparse tensor (n x n x n) of 1 and -1."""
    if hasattr(X, "coords") and hasattr(X, "data") and len(getattr(X, "shape", ())) == 3:
        if y is not None:
            raise ProblemError("y must be None for a sparse tensor, which has its answers as entries")
        coords = X.coords
        X, y = np.stack([np.asarray(axis) for axis in coords], axis=1), np.asarray(X.data)
    rows = read_comparisons(X, "comparisons")
    if y is None:
        return Answers(rows, None)
    sign = signs(y, ties=True)
    if sign.shape != (len(rows),):
        raise ProblemError(f"y must have an answer for each of {len(rows)} rows, got shape {sign.shape}")
    other = rows[:, [0, 2, 1]] if rows.shape[1] == 3 else rows[:, [2, 3, 0, 1]]
    ordered, equal = np.where((sign > 0)[:, None], rows, other)[sign != 0], rows[sign == 0]
    if not len(ordered):
        raise ProblemError("comparisons must hold at least one that is not a tie, got ties alone")
    return Answers(whole_array(ordered, "comparisons"), equal if len(equal) else None)


def placed(V: Array, rows: Index, count: int, loss: str | Loss, penalty: float) -> Array:
    """Rows (count x r) for new points, which are numbered from n on; the rows V of known points stay.

    The loss of the comparisons plus penalty ||W||^2 is minimised from W = 0 by L-BFGS.
    """
    n, r = V.shape
    if rows.max() >= n + count or not (rows >= n).any():
        raise ProblemError(
            f"comparisons must name points 0..{n + count - 1}, and new points from {n} on, got "
            f"{rows.min()} to {rows.max()}"
        )
    rows = rows[(rows >= n).any(axis=1)]
    term = LossTerm(differences(rows, n + count), get_loss(loss), -1.0, 1.0, "order")

    def value(flat: Array) -> tuple[float, Array]:
        every = np.concatenate([V, flat.reshape(count, r)])
        z = term.functional.value_of_factor(every)
        slope = term.functional.adjoint(term.derivative(z))
        gradient = 2 * np.asarray(slope @ every)[n:] + 2 * penalty * every[n:]
        return term.value(z) + penalty * float(flat @ flat), gradient.ravel()

    limits = {"maxiter": 2_000, "gtol": PLACE_TOL * len(rows), "ftol": 1e-14}
    found = minimize(value, np.zeros(count * r), jac=True, method="L-BFGS-B", options=limits)
    return np.asarray(found.x).reshape(count, r)


def to_ask(V: Array, count: int, random_state: int) -> Index:
    """Of comparisons that are drawn at random, those with the smallest difference of distances."""
    n, rng = len(V), generator(random_state)
    drawn = rng.integers(n, size=(CANDIDATES * count, 3))
    i, j, k = drawn.T
    drawn = np.unique(drawn[(i != j) & (i != k) & (j < k)], axis=0)
    if len(drawn) < count:
        raise ProblemError(f"count must be at most the number of comparisons of {n} points, got {count}")
    z = differences(drawn, n).value_of_factor(V)
    return np.asarray(drawn[np.argsort(np.abs(z), kind="stable")[:count]])
