r"""Losses whose conjugate is a quadratic on an interval.

The conjugate of f = w loss(.; t) is f*(y) = b y + q y^2 / (2 w) on w low <= y <= w high, b a multiple of t.
With y(z) = clip((z - b) / q, low, high), the loss is y(z) (z - b) - q y(z)^2 / 2 and its slope is y(z). So
the inequality of Fenchel and Young holds by construction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import real_number
from npkl_models.model.box import Box
from npkl_models.model.loss import CvxConstraints, CvxExpression, Loss


@dataclass(frozen=True, repr=False)
class BoxLoss(Loss):
    """A loss given by its conjugate f*(y) = b y + q y^2 / 2 on an interval, a row of data.

    Parameters
    ----------
    name : str
        The name of the loss.
    low, high : float
        Ends of the interval of multipliers for the weight 1; they may be infinite. The interval contains 0,
        or is a single number.
    q : float
        Second derivative of the conjugate for the weight 1; 0 if the loss has a kink at b, or is linear.
        A loss with more kinks is a sum of terms.
    signed : bool
        Whether targets are +1 or -1. A target of -1 reflects the loss.
    about : float
        The number b is ``about`` times the target.
    latex : str
        The formula of the loss of z and t.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> pinball = nm.BoxLoss("pinball", low=-0.3, high=0.7)
    >>> pinball.value(np.array([0.0, 3.0]), np.array([1.0, 1.0]))
    array([0.3, 1.4])
    """

    name: str
    low: float = -np.inf
    high: float = np.inf
    q: float = 0.0
    signed: bool = False
    about: float = 1.0
    latex: str = r"f(z; t)"

    def __post_init__(self) -> None:
        for name in ("low", "high", "q", "about"):
            object.__setattr__(self, name, real_number(getattr(self, name), f"{name} of a loss"))
        infinite = int(np.isinf(self.low)) + int(np.isinf(self.high))
        ends = self.low <= 0 <= self.high or self.low == self.high
        if not (ends and 0 <= self.q < np.inf and np.isfinite(self.about)):
            raise ProblemError(
                "a loss must have low <= 0 <= high, or low = high, and a finite q >= 0, "
                f"got low = {self.low}, high = {self.high}, q = {self.q}"
            )
        if self.q == 0 and infinite:
            raise ProblemError(
                f"a loss with q = 0 must have finite ends, got {self.low} and {self.high}; write a Constraint"
            )
        linear = self.low == self.high
        flags = {
            "smooth": linear or self.q > 0, "quadratic": linear or infinite == 2,
            "nonnegative": self.low <= 0 <= self.high, "sign_targets": self.signed,
            "curvature": 0.0 if linear else 1 / self.q if self.q > 0 else np.inf, "squared": infinite > 0,
            "latex_conjugate": self._latex_conjugate, "latex_domain": self._latex_domain,
        }  # fmt: skip
        for name, value in flags.items():
            object.__setattr__(self, name, value)

    @property
    def row(self) -> tuple[object, ...]:
        """The numbers that make the loss, in a unit in which a finite upper end of a slope is one."""
        unit = self.high if self.q > 0 and 0 < self.high < np.inf else 1.0
        return self.low / unit, self.high / unit, self.q, self.signed, self.about

    @property
    def _latex_conjugate(self) -> str:
        share = rf"\frac{{y^2}}{{{2 / self.q:g} w}}" if self.q > 0 else ""
        linear = {0.0: "", 1.0: "t y"}.get(self.about, f"{self.about:g} t y")
        return " + ".join(part for part in (linear, share) if part) or "0"

    @property
    def _latex_domain(self) -> str:
        y = "t y" if self.signed else "y"
        low, high = (
            "" if np.isinf(end) else {0.0: "0", 1.0: "w", -1.0: "-w"}.get(end, f"{end:g} w")
            for end in (self.low, self.high)
        )
        if low and low == high:
            return rf"y = {low} t" if self.signed else rf"y = {low}"
        if low and high:
            return rf"{low} \le {y} \le {high}"
        if low or high:
            return rf"{y} \ge {low}" if low else rf"{y} \le {high}"
        return r"y \in \mathbb R"

    def __repr__(self) -> str:
        return f"BoxLoss({self.name}: {self.low:g} w to {self.high:g} w, q = {self.q:g} / w)"

    def value(self, z: Array, t: Array) -> Array:
        r = self._error(z, t)
        if self.q > 0:
            y = self._slope(r)
            return np.where(y == 0, 0.0, y * (r - 0.5 * self.q * y))
        if self.low == self.high:
            return self.low * r
        sides = ((self.low, np.minimum), (self.high, np.maximum))
        return sum((end * part(r, 0.0) for end, part in sides if end), np.zeros_like(r))

    def derivative(self, z: Array, t: Array) -> Array:
        return self._turned(self._slope(self._error(z, t)), t)

    def second_derivative(self, z: Array, t: Array) -> Array:
        r = self._error(z, t)
        if self.q == 0:
            return np.zeros_like(r)
        return np.where((self.low < r / self.q) & (r / self.q < self.high), 1 / self.q, 0.0)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        return self.about * t * y + 0.5 * self.q * (y / w) * y

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        return self.about * t + self.q * y / w

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return self._turned(np.clip(self._turned(y, t), self.low * w, self.high * w), t)

    def domain(self, t: Array, w: Array) -> tuple[Array, Array]:
        low, high = np.broadcast_arrays(self.low * w, self.high * w, t)[:2]
        if not self.signed:
            return low.copy(), high.copy()
        return np.where(t > 0, low, -high), np.where(t > 0, high, -low)

    def box(self, t: Array, w: Array) -> Box:
        b, q, _ = np.broadcast_arrays(self.about * t, self.q / w, w)
        return Box(b, q, *self.domain(t, w), np.zeros(b.shape))

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array] | None:
        if self.signed and self.about != 0:
            return None
        return t if self.signed else t / unit, w * unit * unit if self.q > 0 else w * unit

    def in_units(self, unit: float) -> Loss:
        return replace(self, low=self.low / unit, high=self.high / unit) if self.q > 0 else self

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        y = self._error(x, t) / (self.q + step)
        b = self.about * t
        inside = (self.q * x + step * b) / (self.q + step) if self.q > 0 else b
        beyond = x - step * self._turned(np.clip(y, self.low, self.high), t)
        return np.where((self.low < y) & (y < self.high), inside, beyond)

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        y = self._error(x, t) / (self.q + step)
        return np.where((self.low < y) & (y < self.high), self.q / (self.q + step), 1.0)

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        r = cp.multiply(t, z) - self.about if self.signed else z - self.about * t
        if self.low == self.high:
            return self.low * r
        if -self.low == self.high:
            return self._cvxpy_side(r, self.high, cp.abs)
        sides = ((self.high, r), (-self.low, -r))
        return sum(self._cvxpy_side(side, end, cp.pos) for end, side in sides if end > 0)

    def _cvxpy_side(self, r: CvxExpression, end: float, part: CvxExpression) -> CvxExpression:
        """The loss of errors of one sign, or of both if ``part`` is the absolute value."""
        import cvxpy as cp

        if self.q == 0:
            return end * part(r)
        both = part is cp.abs
        if np.isinf(end):
            return 0.5 / self.q * cp.square(r if both else part(r))
        return 0.5 / self.q * cp.huber(r if both else part(r), end * self.q)

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        own = cp.multiply(t, y) if self.signed else y
        ends = [own >= self.low * w, own <= self.high * w]
        rules = [rule for rule, end in zip(ends, (self.low, self.high), strict=True) if np.isfinite(end)]
        if self.low == self.high:
            rules = [own == self.low * w]
        curved = cp.sum_squares(cp.multiply(np.sqrt(0.5 * self.q / w), y)) if self.q > 0 else 0.0
        return curved + (self.about * y @ t if self.about else 0.0), rules

    def _error(self, z: Array, t: Array) -> Array:
        """z - b, reflected where a sign is -1."""
        return t * z - self.about if self.signed else z - self.about * t

    def _turned(self, y: Array, t: Array) -> Array:
        return t * y if self.signed else y

    def _slope(self, r: Array) -> Array:
        """The slope y of the loss at an error r; at a kink the number nearest to 0."""
        if self.q > 0:
            return np.clip(r / self.q, self.low, self.high)
        if self.low == self.high:
            return np.full_like(r, self.low)
        return self.high * (r > 0) + self.low * (r < 0)
