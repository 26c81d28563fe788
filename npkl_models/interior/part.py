"""What the method asks of a part of a cone, and the simplest part: numbers x >= 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from npkl_models.interior.steps import ratio
from npkl_models.linalg import PLAIN, Array, Index, Matrix, norm_bound
from npkl_models.linalg.nearly_dependent import Rows

LEAST_SIZE = 10.0  # of the start, as Toh, Todd & Tutuncu (1999) have it
CALLS = 1e-3  # seconds of the interpreter for a part


class Part(ABC):
    """Base class of the parts of a cone: X and S inside them, their products, and the values <M_e, X>."""

    C: Any
    grows: bool = False  # whether every M_e of a positive multiplier is positive semidefinite

    def norm(self, S: Matrix) -> float:
        """A bound on the size of the eigenvalues of S."""
        return norm_bound(S)

    @property
    @abstractmethod
    def degree(self) -> int:
        """The number of eigenvalues of X, whose products with those of S are mu on the central path."""

    @abstractmethod
    def unit(self, size: float) -> Array:
        """A multiple of the identity."""

    @abstractmethod
    def of(self, X: Array) -> Array:
        """<M_e, X> for all e."""

    @abstractmethod
    def adjoint(self, y: Array) -> Matrix:
        """sum y_e M_e, in the form of a slack."""

    def of_cost(self, X: Array) -> float:
        """<C, X>."""
        return self.inner(self.C, X)

    def inner(self, S: Matrix, X: Array) -> float:
        """<S, X>."""
        return float(np.vdot(S, X))

    def slack(self, y: Array, rho: float = 0.0, R: Matrix | None = None) -> Matrix:
        """S(y) - rho R."""
        S = self.C + self.adjoint(y)
        return S if R is None or not rho else S - rho * R

    def change(self, y: Array, rho: float, R: Matrix) -> Matrix:
        """sum y_e M_e + rho R."""
        return self.adjoint(y) + rho * R

    def shifted(self, S: Matrix, by: float) -> Matrix:
        """S plus a multiple of the identity."""
        return S + self.unit(by)

    @abstractmethod
    def factor(self, X: Matrix) -> Array:
        """A factor that `longest` and `inverse` take; LinAlgError if X is not inside the cone."""

    @abstractmethod
    def inverse(self, factor: Array) -> Array:
        """The inverse of S."""

    @abstractmethod
    def between(self, X: Array, D: Matrix, Z: Array) -> Array:
        """The symmetric part of X D Z."""

    @abstractmethod
    def longest(self, factor: Array, D: Matrix, share: float) -> float:
        """The step along D, ``share`` of the way to the boundary, at most 1."""

    @abstractmethod
    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        """H with this part of the Schur complement added, perhaps in place."""

    def rows(self, L_X: Array, L_S: Array) -> Rows | None:
        """The matrices whose Gram matrix is H, if they may nearly depend on each other."""
        return None


@dataclass(frozen=True, eq=False)
class Vector(Part):
    """Numbers x >= 0: their places in K (k,), costs (k,) and coefficients A (m x k)."""

    places: Index
    C: Array
    A: Matrix

    @property
    def order(self) -> int:
        """The number of rows of K in this part."""
        return int(self.places.size)

    @property
    def degree(self) -> int:
        return self.order

    @property
    def block(self) -> int:
        """The order of a block."""
        return 1

    @property
    def seconds(self) -> float:
        """Predicted seconds of an iteration in this part."""
        return CALLS

    def norm(self, S: Array) -> float:
        return self.block * float(np.max(np.abs(S), initial=0.0))

    def unit(self, size: float) -> Array:
        return np.full(self.order, size)

    @cached_property
    def plain(self) -> Matrix:
        """A as a plain array if it has few numbers: its products are quicker."""
        return self.A.toarray() if self.A.shape[0] * self.A.shape[1] <= PLAIN else self.A

    def of(self, X: Array) -> Array:
        return np.asarray(self.plain @ X.ravel())

    def sizes_of(self, X: Array) -> Array:
        """The sums of the absolute values of the summands of <M_e, X>."""
        return np.asarray(abs(self.plain) @ np.abs(X.ravel()))

    def adjoint(self, y: Array) -> Array:
        return np.asarray(y @ self.plain).reshape(self.C.shape)

    def factor(self, X: Array) -> Array:
        if not (X > 0).all():
            raise np.linalg.LinAlgError("not positive")
        return X

    def inverse(self, factor: Array) -> Array:
        return 1 / factor

    def between(self, X: Array, D: Array, Z: Array) -> Array:
        return X * D * Z

    def longest(self, factor: Array, D: Array, share: float) -> float:
        return ratio(factor, D, share)

    def schur(self, X: Array, Z: Array, H: Array) -> Array:
        H += self.gram(X * Z)
        return H

    def gram(self, weights: Array) -> Array:
        """A diag(weights) A' (m x m)."""
        A = self.plain
        return (A * weights) @ A.T if isinstance(A, np.ndarray) else (A.multiply(weights) @ A.T).toarray()

    def sizes(self, b: Array) -> tuple[float, float]:
        """The sizes of the first X and S for targets b (m,)."""
        norms, root = np.sqrt(np.asarray(self.A.multiply(self.A).sum(axis=1)).ravel()), np.sqrt(self.block)
        far = self.block * float(np.max((1 + b) / (1 + norms), initial=1.0))
        size = max(float(np.max(norms, initial=0.0)), float(np.linalg.norm(self.C)))
        return max(LEAST_SIZE, root, far), max(LEAST_SIZE, root, size)

    def fill(self, V: Array, factor: Array) -> None:
        """Write the factor of X into its places of a factor V (n x n)."""
        V[self.places, self.places] = np.sqrt(factor)
