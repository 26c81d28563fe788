"""The term tr K^p of a factor, as a penalty or a bound, through the Gram matrix M = W'W (r x r)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npkl_models.linalg import Array
from npkl_models.model.regularizers import Regularizer


class SpectralTerm:
    """G/p tr M^p, or the augmented Lagrangian of tr M^p <= B, p >= 1, as c = (tr M^p / B - 1) / p <= 0."""

    def __init__(self, R: Regularizer) -> None:
        self.R = R.spectral
        self.p = 1.0 if self.R is None else self.R.p
        self.bound = None if self.R is None else self.R.bound
        self.penalty = 0.0 if self.R is None else self.R.penalty or 0.0
        self.constrained = self.bound is not None
        self.multiplier = 0.0
        self.beta = 1.0

    def _power(self, W: Array) -> tuple[float, Array]:
        """Tr M^p and M^(p-1), by one eigendecomposition of M."""
        m, E = np.linalg.eigh(W.T @ W)
        m = np.maximum(m, 0.0)
        powers = m ** (self.p - 1)
        return float(np.sum(powers * m)), (E * powers) @ E.T

    def weight(self, W: Array) -> float:
        """The factor of W M^(p-1) in half of the gradient: G for a penalty, else from the multiplier."""
        if self.R is None:
            return 0.0
        return self._factors(self._power(W)[0])[0]

    def _factors(self, trace: float) -> tuple[float, float]:
        """First and second derivative of the term as a function of tr M^p / p."""
        if self.bound is None:
            return self.penalty, 0.0
        pull = self.multiplier + self.beta * self._excess(trace)
        return max(pull, 0.0) / self.bound, (self.beta / self.bound**2 if pull > 0 else 0.0)

    def _excess(self, trace: float) -> float:
        return (trace / self.bound - 1) / self.p if self.bound else 0.0

    def value_and_gradient(self, W: Array) -> tuple[float, Array]:
        """The value of the term, and half of its gradient in W."""
        if self.R is None:
            return 0.0, np.zeros_like(W)
        trace, power = self._power(W)
        first, _ = self._factors(trace)
        gradient = first * (W @ power)
        if self.bound is None:
            return first * trace / self.p, gradient
        pull = max(0.0, self.multiplier + self.beta * self._excess(trace))
        return (pull**2 - self.multiplier**2) / (2 * self.beta), gradient

    def hessian(self, W: Array) -> Callable[[Array], Array]:
        """The map of D to half of the Hessian applied to D."""
        if self.R is None:
            return np.zeros_like
        trace, power = self._power(W)
        first, second = self._factors(trace)
        WM = W @ power
        m, E = np.linalg.eigh(W.T @ W)
        slopes = divided_differences(np.maximum(m, 0.0), self.p - 1)

        def product(D: Array) -> Array:
            out = first * (D @ power)
            if self.p > 1 and first:
                X = D.T @ W
                inner = E @ (slopes * (E.T @ (X + X.T) @ E)) @ E.T
                out = out + first * (W @ inner)
            if second:
                out = out + second * 2 * float(np.sum(WM * D)) * WM
            return out

        return product

    def residual(self, W: Array) -> float:
        """The change of the objective that the next move of the multiplier would make."""
        new = self._moved(W)
        return abs(new - self.multiplier) / self.beta * (abs(new) + 1.0)

    def update_multiplier(self, W: Array) -> None:
        """Move the multiplier of the bound."""
        self.multiplier = self._moved(W)

    def _moved(self, W: Array) -> float:
        if self.bound is None:
            return self.multiplier
        return max(0.0, self.multiplier + self.beta * self._excess(self._power(W)[0]))


def divided_differences(m: Array, q: float) -> Array:
    """The matrix (m_i^q - m_j^q) / (m_i - m_j) (r x r), without cancellation (Daleckii & Krein 1965)."""
    if q == 0:
        return np.zeros((m.size, m.size))
    m = np.maximum(m, 1e-14 * np.max(m, initial=0.0))  # at zero, a power below one has an infinite slope
    high, low = np.maximum.outer(m, m), np.minimum.outer(m, m)
    with np.errstate(all="ignore"):
        away = np.log(low / high)
        ratio = np.where(away == 0, q, np.expm1(q * away) / np.expm1(away))
        out: Array = high ** (q - 1) * np.where(low > 0, ratio, 1.0)
    return np.where(high > 0, out, float(q == 1))
