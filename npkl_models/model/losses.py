"""The losses of a value and their registry; the base class is in `loss`.

To add a loss, write a class and put an instance into `LOSSES`; tests and backends find the loss there.

Sources: Zhuang, Tsang & Hoi, JMLR 12 (2011), section 4; Hu & Kwok, IEEE TNNLS 26 (2015), fig. 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import ProblemError, chosen
from npkl_models.linalg import Array
from npkl_models.model.logistic import Logistic
from npkl_models.model.loss import CvxConstraints, CvxExpression, Loss, refuse_false
from npkl_models.model.robust import Absolute, Excess, Huber
from npkl_models.model.shared_slack import SharedSlack
from npkl_models.model.squared import Squared, SquaredExcess, SquaredShortfall

__all__ = [
    "LOSSES",
    "Absolute",
    "Excess",
    "Hinge",
    "Huber",
    "Linear",
    "Logistic",
    "Loss",
    "SharedSlack",
    "Square",
    "SquaredExcess",
    "SquaredHinge",
    "SquaredShortfall",
    "get_loss",
]


@dataclass(frozen=True)
class Square(Squared):
    """The square loss (z - t)^2.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.Square().value(np.array([0.5, 3.0]), np.array([1.0, 0.0]))
    array([0.25, 9.  ])
    >>> nm.Square().conjugate(np.array([2.0]), np.array([1.0]), np.array([1.0]))  # y^2/(4w) + y t
    array([3.])
    """

    name = "square"
    latex = r"(z - t)^2"
    latex_domain = r"y \in \mathbb R"
    quadratic = True
    sign_targets = False

    def value(self, z: Array, t: Array) -> Array:
        return (z - t) ** 2

    def derivative(self, z: Array, t: Array) -> Array:
        return 2 * (z - t)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.full_like(z, 2.0)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return y

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array]:
        return t / unit, w * unit * unit

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return (x + 2 * step * t) / (1 + 2 * step)

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.broadcast_to(1 / (1 + 2 * step), np.shape(x)).copy()

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.square(z - t)


@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge loss max(0, 1 - t z) for targets t = +1 or -1.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.Hinge().value(np.array([0.25, 2.0]), np.ones(2))
    array([0.75, 0.  ])
    >>> nm.Hinge().domain(np.array([1.0]), np.array([3.0]))  # of the conjugate, for the weight 3
    (array([-3.]), array([-0.]))
    """

    name = "hinge"
    latex = r"\max(0, 1 - t z)"
    latex_conjugate = r"t y"
    latex_domain = r"-w \le t y \le 0"
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
class SquaredHinge(Squared):
    """The squared hinge loss max(0, 1 - t z)^2 for targets t = +1 or -1.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.SquaredHinge().value(np.array([0.5, 3.0]), np.ones(2))
    array([0.25, 0.  ])
    """

    name = "squared_hinge"
    latex = r"\max(0, 1 - t z)^2"
    latex_domain = r"t y \le 0"
    quadratic = False
    sign_targets = True

    def value(self, z: Array, t: Array) -> Array:
        return np.maximum(0.0, 1 - t * z) ** 2

    def derivative(self, z: Array, t: Array) -> Array:
        return -2 * t * np.maximum(0.0, 1 - t * z)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return np.where(t * z < 1, 2.0, 0.0)

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

        return super().cvxpy_conjugate(y, t, w)[0], [cp.multiply(-t, y) >= 0]


@dataclass(frozen=True)
class Linear(Loss):
    """The linear loss -t z, which is unbounded below unless a regulariser bounds the kernel.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.Linear().value(np.array([0.25, 2.0]), np.array([1.0, -1.0]))
    array([-0.25,  2.  ])
    """

    name = "linear"
    latex = r"-t z"
    latex_conjugate = r"0"
    latex_domain = r"y = -w t"
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

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array]:
        return t, w * unit

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        return x + step * t

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        return np.ones_like(x)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.multiply(-t, z)

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        return 0.0, [y == -w * t]


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Square(), Hinge(), SquaredHinge(), Logistic(), Absolute(), Huber(), Excess(), SquaredExcess(),
        SquaredShortfall(), Linear(), SharedSlack(),
    )
}  # fmt: skip


OWN = frozenset(map(type, LOSSES.values()))


def get_loss(loss: str | Loss) -> Loss:
    """The loss with the given name, or a `Loss` object itself; a user's loss is tried on numbers."""
    if isinstance(loss, Loss):
        if type(loss) not in OWN:
            refuse_false(loss)
        return loss
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise ProblemError(
            f"a loss must be an instance, got the class {loss.__name__}; write {loss.__name__}()"
        )
    return get_loss(LOSSES[chosen("loss", loss, LOSSES)])
