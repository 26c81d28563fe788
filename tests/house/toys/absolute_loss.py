"""A loss from outside the package: the absolute deviation, which has a kink."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import npkl_models as nm


@dataclass(frozen=True)
class Absolute(nm.Loss):
    """|z - t|."""

    name = "absolute"
    latex = r"|z - t|"
    smooth = quadratic = sign_targets = False
    nonnegative = True
    curvature = np.inf

    def value(self, z, t):
        return np.abs(z - t)

    def derivative(self, z, t):
        return np.sign(z - t)

    def second_derivative(self, z, t):
        return np.zeros_like(z)

    def conjugate(self, y, t, w):
        return y * t

    def conjugate_derivative(self, y, t, w):
        return t * np.ones_like(y)

    def project(self, y, t, w):
        return np.clip(y, -w, w)

    def prox(self, x, t, step):
        return t + np.sign(x - t) * np.maximum(np.abs(x - t) - step, 0.0)

    def prox_slope(self, x, t, step):
        return np.where(np.abs(x - t) > step, 1.0, 0.0)

    def cvxpy_value(self, z, t):
        return cp.abs(z - t)

    def cvxpy_conjugate(self, y, t, w):
        return y @ t, [cp.abs(y) <= w]
