"""tr K^p on a factor, as a penalty or a bound, through the Gram matrix M = W'W (r x r)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npkl_models.linalg import Array
from npkl_models.model.regularizers import Regularizer


class SpectralTerm:
    """G/p tr M^p, or the augmented Lagrangian of tr M^p <= B, for integer p >= 1.

    The constraint is c = (tr M^p / B - 1) / p <= 0, of slope about one in the logarithm of the scale.
    """

    def __init__(self, R: Regularizer) -> None:
        self.R = R.spectral
        self.p = 1 if self.R is None else int(self.R.p)
        self.bound = None if self.R is None else self.R.bound
        self.constrained = self.bound is not None
        self.multiplier = 0.0
        self.beta = 1.0

    def _powers(self, W: Array) -> tuple[float, list[Array]]:
        """Tr M^p and the powers M^0 .. M^(p-1)."""
        M = W.T @ W
        powers: list[Array] = [np.eye(M.shape[0])]
        for _ in range(self.p - 1):
            powers.append(powers[-1] @ M)
        return float(np.sum(powers[-1] * M)), powers

    def weight(self, W: Array) -> float:
        """The factor of W M^(p-1) in half of the gradient: G, or what the multiplier makes it."""
        if self.R is None:
            return 0.0
        return self._factors(self._powers(W)[0])[0]

    def _factors(self, trace: float) -> tuple[float, float]:
        """First and second derivative of the term as a function of tr M^p / p."""
        if self.R is None:
            return 0.0, 0.0
        if self.bound is None:
            return float(self.R.penalty or 0.0), 0.0
        pull = self.multiplier + self.beta * self._excess(trace)
        return max(pull, 0.0) / self.bound, (self.beta / self.bound**2 if pull > 0 else 0.0)

    def _excess(self, trace: float) -> float:
        return (trace / self.bound - 1) / self.p if self.bound else 0.0

    def value_and_gradient(self, W: Array) -> tuple[float, Array]:
        """The term, and half of its gradient in W."""
        if self.R is None:
            return 0.0, np.zeros_like(W)
        trace, powers = self._powers(W)
        first, _ = self._factors(trace)
        gradient = first * (W @ powers[-1])
        if self.bound is None:
            return first * trace / self.p, gradient
        pull = max(0.0, self.multiplier + self.beta * self._excess(trace))
        return (pull**2 - self.multiplier**2) / (2 * self.beta), gradient

    def hessian(self, W: Array) -> Callable[[Array], Array]:
        """D -> half of the Hessian applied to D."""
        if self.R is None:
            return np.zeros_like
        trace, powers = self._powers(W)
        first, second = self._factors(trace)
        WM = W @ powers[-1]

        def product(D: Array) -> Array:
            out = first * (D @ powers[-1])
            if self.p > 1 and first:
                X = D.T @ W
                X = X + X.T
                inner = sum(powers[k] @ X @ powers[self.p - 2 - k] for k in range(self.p - 1))
                out = out + first * (W @ inner)
            if second:
                out = out + second * 2 * float(np.sum(WM * D)) * WM
            return out

        return product

    def misfit(self, W: Array) -> float:
        """What a move of the multiplier would cost."""
        new = self._moved(W)
        return abs(new - self.multiplier) / self.beta * (abs(new) + 1.0)

    def update_multiplier(self, W: Array) -> None:
        """Move the multiplier of the bound."""
        self.multiplier = self._moved(W)

    def _moved(self, W: Array) -> float:
        if self.bound is None:
            return self.multiplier
        return max(0.0, self.multiplier + self.beta * self._excess(self._powers(W)[0]))
