"""The base class of squared losses, and the squared excess and shortfall of a value."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array
from npkl_models.model.loss import CvxConstraints, CvxExpression, Loss


class Squared(Loss):
    """Base class of squared losses, whose conjugate is f*(y) = t y + y^2 / (4 w) on its domain."""

    squared = smooth = nonnegative = True
    latex_conjugate = r"t y + \frac{y^2}{4 w}"
    curvature = 2.0

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return 0.25 * (y / w) * y + y * t

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return y / (2 * w) + t

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        return cp.sum_squares(cp.multiply(0.5 / np.sqrt(w), y)) + y @ t, []


class OneSided(Squared):
    """Base class of max(0, sign (z - t))^2: values on one side of the target cost nothing."""

    quadratic = sign_targets = False

    @property
    @abstractmethod
    def sign(self) -> float:
        """1.0 if values above the target cost something, -1.0 if values below the target do."""

    def value(self, z: Array, t: Array) -> Array:
        return np.maximum(0.0, self.sign * (z - t)) ** 2

    def derivative(self, z: Array, t: Array) -> Array:
        return 2 * self.sign * np.maximum(0.0, self.sign * (z - t))

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.where(self.sign * (z - t) > 0, 2.0, 0.0)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return self.sign * np.maximum(self.sign * y, 0.0)

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array]:
        return t / unit, w * unit * unit

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return np.where(self.sign * (x - t) <= 0, x, (x + 2 * step * t) / (1 + 2 * step))

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.where(self.sign * (x - t) <= 0, 1.0, 1 / (1 + 2 * step))

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.square(cp.pos(self.sign * (z - t)))

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        return super().cvxpy_conjugate(y, t, w)[0], [self.sign * y >= 0]


@dataclass(frozen=True)
class SquaredExcess(OneSided):
    """The squared excess max(0, z - t)^2 of a value over its target t; values below t cost nothing.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.SquaredExcess().value(np.array([0.5, 3.0]), np.array([1.0, 1.0]))
    array([0., 4.])
    """

    name = "squared_excess"
    latex = r"\max(0, z - t)^2"
    latex_domain = r"y \ge 0"
    sign = 1.0


@dataclass(frozen=True)
class SquaredShortfall(OneSided):
    """The squared shortfall max(0, t - z)^2 of a value below its target; values above t cost nothing.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.SquaredShortfall().value(np.array([0.5, 3.0]), np.array([1.0, 1.0]))
    array([0.25, 0.  ])
    """

    name = "squared_shortfall"
    latex = r"\max(0, t - z)^2"
    latex_domain = r"y \le 0"
    sign = -1.0
