"""Second-order cones t >= |x| as a part of a cone, by the Jordan product x o y = (x'y, x_0 y + y_0 x).

The symmetric part of X D Z is {x, d, z} = (x'd) z + (z'd) x - (x_0 z_0 - x'z) (d_0, -d) there: the triple
product that XDZ + ZDX has for matrices (Faraut & Koranyi 1994, chapter II).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from npkl_models.interior.part import Vector
from npkl_models.linalg import Array, Index


@dataclass(frozen=True, eq=False)
class SecondOrder(Vector):
    """Cones one after the other, with the first rows ``heads``; C (k,) and A (m x k)."""

    heads: Index

    @property
    def degree(self) -> int:
        return int(self.heads.size)

    @cached_property
    def of_row(self) -> Index:
        """The cone of each row."""
        return np.repeat(np.arange(self.heads.size), np.diff(np.append(self.heads, self.order)))

    @cached_property
    def signs(self) -> Array:
        """1 for the first row of each cone, -1 for the others."""
        out = np.full(self.order, -1.0)
        out[self.heads] = 1.0
        return out

    def _sums(self, x: Array) -> Array:
        return np.add.reduceat(x, self.heads)

    def _determinant(self, x: Array) -> Array:
        """x_0^2 - |x|^2 of each cone, positive inside."""
        length = np.sqrt(self._sums(np.where(self.signs > 0, 0.0, x) ** 2))
        return np.asarray((x[self.heads] - length) * (x[self.heads] + length))

    def unit(self, size: float) -> Array:
        return np.where(self.signs > 0, size, 0.0)

    def factor(self, X: Array) -> Array:
        if not ((X[self.heads] > 0) & (self._determinant(X) > 0)).all():
            raise np.linalg.LinAlgError("not inside the cone")
        return X

    def inverse(self, factor: Array) -> Array:
        return self.signs * factor / self._determinant(factor)[self.of_row]

    def between(self, X: Array, D: Array, Z: Array) -> Array:
        first, second, cross = (self._sums(v)[self.of_row] for v in (X * D, Z * D, self.signs * X * Z))
        return np.asarray(first * Z + second * X - cross * self.signs * D)

    def longest(self, factor: Array, D: Array, share: float) -> float:
        """The smallest l with det(D - l X) = 0 is the smallest eigenvalue of D relative to X."""
        own, half = self._determinant(factor), self._sums(self.signs * factor * D)
        of_D = self._sums(self.signs * D * D)
        low = (half - np.sqrt(np.maximum(half**2 - own * of_D, 0.0))) / own
        least = float(np.min(low))
        return 1.0 if least >= -share else share / -least

    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        both = self._along(X) @ self._along(Z).T
        weights = self._sums(self.signs * X * Z)[self.of_row] * self.signs
        H += both + both.T - self.gram(weights)
        return H

    def _along(self, x: Array) -> Array:
        """The values of each M_e on the numbers of each cone (m, cones)."""
        A = self.plain
        if isinstance(A, np.ndarray):
            return np.add.reduceat(A * x, self.heads, axis=1)
        own = sp.csr_array((x, (np.arange(x.size), self.of_row)), shape=(x.size, self.heads.size))
        return np.asarray((A @ own).toarray())
