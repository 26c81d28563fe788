"""A loss that ties its values to each other: one slack for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import UNIT, Array, Mask
from npkl_models.model.loss import CvxConstraints, CvxExpression, Loss

TRIMS = 50  # times that a projection is shortened for the sake of rounding


@dataclass(frozen=True)
class SharedSlack(Loss):
    """The shared slack max(0, max_e z_e - t_e), the smallest slack with which z <= t holds.

    All weights of a term must be equal. By Lagrange duality, w max(0, max_e z_e - t_e) is the maximum of
    y'(z - t) over y >= 0 with sum y <= w. So the conjugate is y't on that simplex. As an array over the
    values, the loss is in the place of the first maximum, and all other entries are zero.
    """

    name = "shared_slack"
    latex = r"\max(0, \max_e z - t)"
    latex_conjugate = r"t y"
    latex_domain = r"y \ge 0, \textstyle\sum y \le w"
    smooth = quadratic = sign_targets = separable = False
    nonnegative = True
    curvature = np.inf

    def value(self, z: Array, t: Array) -> Array:
        return self._at_the_top(z - t) * np.maximum(z - t, 0.0)

    def derivative(self, z: Array, t: Array) -> Array:
        return self._at_the_top(z - t) * (z > t)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.zeros_like(z)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return t * y

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return np.asarray(t, dtype=float) * np.ones_like(y)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return onto_simplex(y, float(np.min(w, initial=np.inf)))

    def domain(self, t: Array, w: Array) -> tuple[Array, Array]:
        """The interval of each single multiplier; in addition, their sum must not exceed the weight."""
        return np.zeros(np.shape(t)), np.broadcast_to(w, np.shape(t)).astype(float)

    def recession(self, z: Array, t: Array, w: Array) -> float:
        """The recession function of the slack, which grows only with the largest value."""
        return float(np.min(w, initial=np.inf)) * max(float(np.max(z, initial=0.0)), 0.0) if z.size else 0.0

    def in_domain(self, y: Array, t: Array, w: Array) -> Mask:
        return (y >= 0) & _within(y, float(np.min(w, initial=np.inf)))

    def subdifferential(self, z: Array, t: Array, w: Array, atol: float | Array) -> tuple[Array, Array]:
        """The interval from zero to the weight for each value that may be the largest."""
        above = z - t
        may = above + 2 * np.max(atol, initial=0.0) >= np.max(above, initial=0.0)
        return np.zeros_like(above), np.where(may, w, 0.0)

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array]:
        return t / unit, w * unit

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return x - self.project(x - t, t, step)

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        y = self.project(x - t, t, step)
        held = y > 0
        full = not _within(np.maximum(x - t, 0.0), float(np.min(step, initial=np.inf)))
        return np.where(held, 1 / max(int(held.sum()), 1) if full else 0.0, 1.0)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.hstack([cp.pos(cp.max(z - t)), np.zeros(t.size - 1)])

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        return y @ t, [y >= 0, cp.sum(y) <= float(np.min(w))]

    @staticmethod
    def _at_the_top(above: Array) -> Array:
        out = np.zeros(above.shape)
        if above.size:
            out[int(np.argmax(above))] = 1.0
        return out


def onto_simplex(y: Array, total: float) -> Array:
    """The nearest x >= 0 with sum x <= total; a y that satisfies this does not change in any bit.

    Held, Wolfe & Crowder 1974: x = max(y - s, 0) with one shift s, found from the sorted numbers.
    """
    x = np.maximum(y, 0.0)
    if not np.isfinite(x).all():  # numbers out of range have no nearest point
        return np.zeros_like(x)
    if _within(x, total):
        return x
    if not total > 0:
        return np.zeros_like(x)
    # Differences show the shift even if y is far larger than the total; what is lower by the total becomes 0.
    below = np.maximum(x - np.max(x), -total) / total
    falling = np.sort(below)[::-1]
    over = (np.cumsum(falling) - 1.0) / np.arange(1, x.size + 1)
    x = total * np.maximum(below - over[np.flatnonzero(falling > over)[-1]], 0.0)
    for _ in range(TRIMS):
        if _within(x, total):
            return x
        x = x * (1 - 4 * UNIT * x.size)  # remove what rounding has left
    return np.zeros_like(x)  # the numbers are too small to become smaller by a factor


def _within(x: Array, total: float) -> bool:
    """Whether x >= 0 has at most the total as its sum, exactly: `math.fsum` does not round a sum's sign."""
    if x.max(initial=0.0) > total:
        return False
    try:
        return math.fsum([*x.tolist(), -total]) <= 0
    except OverflowError:  # of a part of the sum
        return total == math.inf
