"""What a loss of a pair is asked: its faces.

A loss is a convex function of a value z and a target t. A term of a problem is ``f(z) = w loss(z; t)`` with a
weight w > 0. A class gives the value, the derivative, the conjugate f* with its domain, the proximal map, and
the CVXPY form of f and f*.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from npkl_models.linalg import Array, Mask

CvxExpression = Any
CvxConstraints = list[Any]
DECLARED = ("name", "latex", "smooth", "quadratic", "nonnegative", "sign_targets", "curvature")


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss(z; t), elementwise on arrays of one shape unless it is not ``separable``.

    Examples
    --------
    >>> import npkl_models as nm
    >>> sorted(nm.LOSSES)
    ['hinge', 'linear', 'shared_slack', 'square', 'squared_excess', 'squared_hinge']
    >>> nm.LOSSES["hinge"].smooth
    False
    """

    name: ClassVar[str]
    latex: ClassVar[str]
    smooth: ClassVar[bool]  # continuously differentiable in z
    quadratic: ClassVar[bool]  # constant second derivative
    nonnegative: ClassVar[bool]  # loss >= 0 and 0 in the domain of f*
    sign_targets: ClassVar[bool]  # targets must be +1 or -1
    curvature: ClassVar[float]  # largest second derivative; inf where there is a kink
    latex_conjugate: ClassVar[str] = r"f^*(y)"  # of f = w loss, on its domain
    latex_domain: ClassVar[str] = r"y \in \operatorname{dom} f^*"
    separable: ClassVar[bool] = True  # a sum over the values; else all weights of a term must be equal
    squared: ClassVar[bool] = False  # the square of something: SimpleNPKL weighs it with C / 2

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

    def recession(self, z: Array, t: Array, w: Array) -> float:
        """How fast f grows along z in the end: the support of its domain (Rockafellar 1970, 13.3)."""
        low, high = self.domain(t, w)
        return float(np.sum(np.where(z == 0, 0.0, np.where(z > 0, high, low)) * z))

    def in_domain(self, y: Array, t: Array, w: Array) -> Mask:
        """Where y lies in the domain of f*, without any tolerance: a kernel may be as large as it likes."""
        return y == self.project(y, t, w)

    def subdifferential(self, z: Array, t: Array, w: Array, atol: float | Array) -> tuple[Array, Array]:
        """Interval of the subgradients of f on [z - atol, z + atol], as (lower, upper)."""
        return w * self.derivative(z - atol, t), w * self.derivative(z + atol, t)

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array] | None:
        """(t', w') such that ``w' loss(z; t')`` is that of z times ``unit``; None where there are none."""
        return None

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


def undeclared(loss: Loss) -> list[str]:
    """What a loss of somebody's own should say of itself and does not."""
    return [name for name in DECLARED if not hasattr(loss, name)]
