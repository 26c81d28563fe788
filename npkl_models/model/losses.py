"""The losses of a pair and all their faces.

A loss is a convex function of a value z and a target t. A term of a problem is
``f(z) = w loss(z; t)`` with a weight w > 0. Each class gives the value, the derivative, the conjugate
f* with its domain, the proximal map, and the CVXPY form of f and f*. To add a loss, write one
class here and put it into `LOSSES`; tests and backends find it there.

Sources: Zhuang, Tsang & Hoi, JMLR 12 (2011), section 4; Hu & Kwok, IEEE TNNLS 26 (2015), fig. 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from npkl_models.errors import unknown
from npkl_models.linalg import Array, Mask

CvxExpression = Any
CvxConstraints = list[Any]


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss(z; t), elementwise on arrays of one shape."""

    name: ClassVar[str]
    latex: ClassVar[str]
    smooth: ClassVar[bool]  # continuously differentiable in z
    quadratic: ClassVar[bool]  # constant second derivative
    nonnegative: ClassVar[bool]  # loss >= 0 and 0 in the domain of f*
    sign_targets: ClassVar[bool]  # targets must be +1 or -1
    curvature: ClassVar[float]  # largest second derivative; inf where there is a kink

    @abstractmethod
    def value(self, z: Array, t: Array) -> Array:
        """loss(z; t)."""

    @abstractmethod
    def derivative(self, z: Array, t: Array) -> Array:
        """A subgradient in z, the derivative where there is one."""

    @abstractmethod
    def second_derivative(self, z: Array, t: Array) -> Array:
        """A generalised second derivative in z."""

    @abstractmethod
    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        """f*(y) of f = w loss, for y in the domain, its rounding a few units of ``abs(f*) + 2 abs(y t)``."""

    @abstractmethod
    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        """A subgradient of f* at y in the domain: a z at which f has the slope y."""

    @abstractmethod
    def project(self, y: Array, t: Array, w: Array) -> Array:
        """The nearest y in the domain of f*."""

    def domain(self, t: Array, w: Array) -> tuple[Array, Array]:
        """The interval on which f* is finite, as (lower, upper), infinite where it has no end."""
        far = np.full(np.shape(t), 1e300)
        ends = self.project(-far, t, w), self.project(far, t, w)
        lower, upper = (np.where(np.abs(end) >= 1e299, np.copysign(np.inf, end), end) for end in ends)
        return lower, upper

    def in_domain(self, y: Array, t: Array, w: Array) -> Mask:
        """Where y lies in the domain of f*, without any tolerance: a kernel may be as large as it likes."""
        inside: Mask = y == self.project(y, t, w)
        return inside

    def subdifferential(self, z: Array, t: Array, w: Array, atol: float | Array) -> tuple[Array, Array]:
        """Interval of the subgradients of f on [z - atol, z + atol], as (lower, upper)."""
        return w * self.derivative(z - atol, t), w * self.derivative(z + atol, t)

    @abstractmethod
    def prox(self, x: Array, t: Array, step: Array) -> Array:
        """argmin_z step loss(z; t) + (z - x)^2 / 2."""

    @abstractmethod
    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        """Derivative of `prox` in x, in [0, 1]."""

    @abstractmethod
    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        """The vector loss(z; t) as a convex CVXPY expression."""

    @abstractmethod
    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        """f*(y), summed, as a convex CVXPY expression, and the constraints of its domain."""


@dataclass(frozen=True)
class Square(Loss):
    """(z - t)^2."""

    name = "square"
    latex = r"(z - t)^2"
    smooth = quadratic = nonnegative = True
    sign_targets = False
    curvature = 2.0

    def value(self, z: Array, t: Array) -> Array:
        return (z - t) ** 2

    def derivative(self, z: Array, t: Array) -> Array:
        return 2 * (z - t)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.full_like(z, 2.0)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return 0.25 * (y / w) * y + y * t

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return y / (2 * w) + t

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return y

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return (x + 2 * step * t) / (1 + 2 * step)

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.broadcast_to(1 / (1 + 2 * step), np.shape(x)).copy()

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.square(z - t)

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        return cp.sum_squares(cp.multiply(0.5 / np.sqrt(w), y)) + y @ t, []


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - t z), t = +1 or -1."""

    name = "hinge"
    latex = r"\max(0, 1 - t z)"
    smooth = quadratic = False
    nonnegative = sign_targets = True
    curvature = np.inf

    def value(self, z: Array, t: Array) -> Array:
        return np.maximum(0.0, 1 - t * z)

    def derivative(self, z: Array, t: Array) -> Array:
        return np.where(t * z < 1, -t, 0.0)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.zeros_like(z)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return t * y  # = -a with y = -t a

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return np.asarray(t, dtype=float) * np.ones_like(y)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return -t * np.clip(-t * y, 0.0, w)

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        margin = t * x
        return t * np.maximum(margin, np.minimum(margin + step, 1.0))

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        margin = t * x
        return np.where((margin < 1) & (margin > 1 - step), 0.0, 1.0)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.pos(1 - cp.multiply(t, z))

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        a = cp.multiply(-t, y)
        return -cp.sum(a), [a >= 0, a <= w]


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - t z)^2, t = +1 or -1."""

    name = "squared_hinge"
    latex = r"\max(0, 1 - t z)^2"
    smooth = nonnegative = sign_targets = True
    quadratic = False
    curvature = 2.0

    def value(self, z: Array, t: Array) -> Array:
        return np.maximum(0.0, 1 - t * z) ** 2

    def derivative(self, z: Array, t: Array) -> Array:
        return -2 * t * np.maximum(0.0, 1 - t * z)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.where(t * z < 1, 2.0, 0.0)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return 0.25 * (y / w) * y + t * y

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return y / (2 * w) + t

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return -t * np.maximum(-t * y, 0.0)

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return np.where(t * x >= 1, x, (x + 2 * step * t) / (1 + 2 * step))

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.where(t * x >= 1, 1.0, 1 / (1 + 2 * step))

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.square(cp.pos(1 - cp.multiply(t, z)))

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        quadratic = cp.sum_squares(cp.multiply(0.5 / np.sqrt(w), y))
        return quadratic + y @ t, [cp.multiply(-t, y) >= 0]


@dataclass(frozen=True)
class Linear(Loss):
    """-t z; unbounded below unless a regulariser bounds the kernel."""

    name = "linear"
    latex = r"-t z"
    smooth = quadratic = sign_targets = True
    nonnegative = False
    curvature = 0.0

    def value(self, z: Array, t: Array) -> Array:
        return -t * z

    def derivative(self, z: Array, t: Array) -> Array:
        return -t * np.ones_like(z)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.zeros_like(z)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return np.zeros_like(y)

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return np.zeros_like(y)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return -w * t

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return x + step * t

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.ones_like(x)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.multiply(-t, z)

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        return 0.0, [y == -w * t]


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Square(), Hinge(), SquaredHinge(), Linear())}


def get_loss(loss: str | Loss) -> Loss:
    """The loss of that name; a `Loss` is passed through."""
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    return LOSSES[loss]
