"""The logistic loss: the negative logarithm of the probability of a right answer.

Sources: Cox, "The Regression Analysis of Binary Sequences", Journal of the Royal Statistical Society B 20
(1958); van der Maaten & Weinberger, "Stochastic Triplet Embedding", MLSP 2012, for differences of distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from npkl_models.linalg import Array
from npkl_models.model.box import Box
from npkl_models.model.loss import CvxConstraints, CvxExpression, Loss

PROX_STEPS = 100  # of Newton's method, kept between bounds; ten are enough unless the step is huge
STILL = 1e-15  # a step of Newton's method below this share of the number is rounding


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss ln(1 + exp(-t z)) for targets t = +1 or -1."""

    name = "logistic"
    latex = r"\ln(1 + \exp(-t z))"
    latex_conjugate = r"-t y \ln(\tfrac{-t y}{w}) + (w + t y) \ln(1 - \tfrac{-t y}{w})"
    latex_domain = r"-w \le t y \le 0"
    smooth = nonnegative = sign_targets = True
    quadratic = False
    curvature = 0.25
    entropy = 1.0

    def value(self, z: Array, t: Array) -> Array:
        margin = t * z  # a third of the time of np.logaddexp, and as many digits
        return np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))

    def derivative(self, z: Array, t: Array) -> Array:
        return -t * expit(-t * z)

    def second_derivative(self, z: Array, t: Array) -> Array:
        return expit(z) * expit(-z)

    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        a, b = self._shares(y, t, w)
        small = a <= b  # of two numbers with the sum 1, the logarithm of the larger follows from the smaller
        of_a = np.where(small, xlogy(a, a), xlog1py(a, -b))
        of_b = np.where(small, xlog1py(b, -a), xlogy(b, b))
        return w * (of_a + of_b)

    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        a, b = self._shares(y, t, w)
        least = np.finfo(float).tiny  # at an end of the domain the slope is infinite: a large number instead
        return t * (np.log(np.maximum(b, least)) - np.log(np.maximum(a, least)))

    def box(self, t: Array, w: Array) -> Box:
        zero = np.zeros_like(t)
        return Box(zero, zero, *self.domain(t, w), w + zero)

    def project(self, y: Array, t: Array, w: Array) -> Array:
        return -t * np.clip(-t * y, 0.0, w)

    def prox(self, x: Array, t: Array, step: Array) -> Array:
        margin = t * x
        low, high = margin, margin + step  # the root of u - margin = step expit(-u), which grows in u
        u = np.clip(np.maximum(margin, np.minimum(high, 0.0)), low, high)
        for _ in range(PROX_STEPS):
            share = expit(-u)
            miss = u - margin - step * share
            low, high = np.where(miss < 0, u, low), np.where(miss < 0, high, u)
            move = miss / (1 + step * share * (1 - share))
            moving = np.abs(move) > STILL * np.abs(u)
            if not moving.any():
                break
            new = np.where((u - move > low) & (u - move < high), u - move, 0.5 * (low + high))
            u = np.where(moving, new, u)
        return t * u

    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        u = t * self.prox(x, t, step)
        return 1 / (1 + step * expit(u) * expit(-u))

    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        import cvxpy as cp

        return cp.logistic(cp.multiply(-t, z))

    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        import cvxpy as cp

        a = cp.multiply(-t / w, y)
        return -cp.sum(cp.multiply(w, cp.entr(a) + cp.entr(1 - a))), [a >= 0, a <= 1]

    @staticmethod
    def _shares(y: Array, t: Array, w: Array) -> tuple[Array, Array]:
        """a = -t y / w and 1 - a, both to a relative rounding error."""
        part = -t * y
        return part / w, (w - part) / w
