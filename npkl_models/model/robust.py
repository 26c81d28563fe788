"""Losses that a few wrong pairs cannot dominate: both grow in proportion to the error, not to its square.

Sources: Huber, "Robust Estimation of a Location Parameter", Annals of Mathematical Statistics 35 (1964);
Boyd & Vandenberghe, "Convex Optimization" (2004), section 6.1.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array
from npkl_models.linalg.owned import positive_number
from npkl_models.model.loss import CvxConstraints, CvxExpression, Loss


@dataclass(frozen=True)
class Absolute(Loss):
    """The absolute loss abs(z - t): each pair pulls with its weight, however wrong its value is.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.Absolute().value(np.array([0.5, 3.0]), np.array([1.0, 0.0]))
    array([0.5, 3. ])
    >>> nm.Absolute().domain(np.array([1.0]), np.array([3.0]))  # of the conjugate, for the weight 3
    (array([-3.]), array([3.]))
    """

    name = "absolute"
    latex = r"\lvert z - t \rvert"
    latex_conjugate = r"t y"
    latex_domain = r"-w \le y \le w"
    smooth = quadratic = sign_targets = False
    nonnegative = True
    curvature = np.inf

    def value(self, z: Array, t: Array) -> Array:
        return np.abs(z - t)

    def derivative(self, z: Array, t: Array) -> Array:
        return np.sign(z - t)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.zeros_like(z)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return t * y

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return np.asarray(t, dtype=float) * np.ones_like(y)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return np.clip(y, -w, w)

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array]:
        return t / unit, w * unit

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return x - np.clip(x - t, -step, step)

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.where(np.abs(x - t) < step, 0.0, 1.0)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.abs(z - t)

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        return y @ t, [y >= -w, y <= w]


@dataclass(frozen=True)
class Excess(Absolute):
    """The excess max(0, z - t) of a value over its target t; values below t cost nothing.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.Excess().value(np.array([0.5, 3.0]), np.array([1.0, 1.0]))
    array([0., 2.])
    """

    name = "excess"
    latex = r"\max(0, z - t)"
    latex_domain = r"0 \le y \le w"

    def value(self, z: Array, t: Array) -> Array:
        return np.maximum(z - t, 0.0)

    def derivative(self, z: Array, t: Array) -> Array:
        return (z > t).astype(float)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return np.clip(y, 0.0, w)

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return x - np.clip(x - t, 0.0, step)

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.where((x > t) & (x - t < step), 0.0, 1.0)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.pos(z - t)

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        return y @ t, [y >= 0, y <= w]


@dataclass(frozen=True)
class Huber(Loss):
    """The Huber loss: (z - t)^2 up to an error of ``delta``, and 2 delta abs(z - t) - delta^2 beyond it.

    Parameters
    ----------
    delta : float
        Error from which on the loss grows in proportion to the error; positive, in the units of the values.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.Huber().value(np.array([0.75, 3.0]), np.array([1.0, 0.0]))
    array([0.0625, 2.75  ])
    >>> nm.Huber(delta=1.0).value(np.array([3.0]), np.array([0.0]))
    array([5.])
    """

    delta: float = 0.5

    name = "huber"
    latex = r"\operatorname{huber}(z - t)"  # an instance prints its delta
    latex_conjugate = r"t y + \frac{y^2}{4 w}"
    smooth = nonnegative = True
    quadratic = sign_targets = False
    curvature = 2.0

    def __post_init__(self) -> None:
        delta = positive_number(self.delta, "delta")
        limit = f"{2 * delta:g} w" if delta != 0.5 else "w"
        printed = {
            "latex": rf"\operatorname{{huber}}_{{{delta:g}}}(z - t)",
            "latex_domain": rf"-{limit} \le y \le {limit}",
        }
        for name, value in ({"delta": delta} | printed).items():
            object.__setattr__(self, name, value)

    def value(self, z: Array, t: Array) -> Array:
        error = np.abs(z - t)
        return np.where(error <= self.delta, error**2, self.delta * (2 * error - self.delta))

    def derivative(self, z: Array, t: Array) -> Array:
        return 2 * np.clip(z - t, -self.delta, self.delta)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.where(np.abs(z - t) < self.delta, 2.0, 0.0)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return 0.25 * (y / w) * y + y * t

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return y / (2 * w) + t

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return np.clip(y, -2 * self.delta * w, 2 * self.delta * w)

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array]:
        return t / unit, w * unit * unit

    def in_units(self, unit: float) -> Loss:
        return Huber(self.delta / unit)

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return x - np.clip(
            (x - t) * (2 * step / (1 + 2 * step)), -2 * self.delta * step, 2 * self.delta * step
        )

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.where(np.abs(x - t) < self.delta * (1 + 2 * step), 1 / (1 + 2 * step), 1.0)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.huber(z - t, self.delta)

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        far = 2 * self.delta * w
        return cp.sum_squares(cp.multiply(0.5 / np.sqrt(w), y)) + y @ t, [y >= -far, y <= far]
