"""A program over cones, part by part: what the iteration asks of the parts, summed over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from npkl_models.interior.part import Part
from npkl_models.linalg import Array, Matrix
from npkl_models.model.box import Box


@dataclass(frozen=True, eq=False)
class Program:
    """The parts of the cone, f* as boxes with the curvature P, and the sizes from which to begin."""

    parts: Sequence[Part]
    box: Box
    P: Matrix | None = None
    kernel_size: float | None = None  # of the diagonal of the first X; None: from the sizes of the rows
    cost_unit: float = 1.0  # the size of the first slacks, if nothing else says one

    @property
    def degree(self) -> int:
        """The number of products that are mu on the central path."""
        return sum(part.degree for part in self.parts) + self.box.count

    def of(self, X: Sequence[Any]) -> Array:
        """z = sum A_k(X_k), the values <M_e, X> (m,)."""
        z = self.parts[0].of(X[0])
        for part, one in zip(self.parts[1:], X[1:], strict=True):
            z = z + part.of(one)
        return z

    def cost(self, X: Sequence[Any]) -> float:
        """sum <C_k, X_k>."""
        return sum(part.of_cost(one) for part, one in zip(self.parts, X, strict=True))

    def factors(self, X: Sequence[Any]) -> list[Any]:
        """A factor of each part; LinAlgError if one is not inside its cone."""
        return [part.factor(one) for part, one in zip(self.parts, X, strict=True)]

    def inner(self, S: Sequence[Any], X: Sequence[Any]) -> float:
        """sum <S_k, X_k>."""
        return sum(part.inner(one, two) for part, one, two in zip(self.parts, S, X, strict=True))

    def slack(self, y: Array, rho: float = 0.0, R: Sequence[Any] = ()) -> list[Any]:
        """The slacks S_k(y) - rho R_k."""
        if not rho:
            return [part.slack(y) for part in self.parts]
        return [part.slack(y, rho, one) for part, one in zip(self.parts, R, strict=True)]

    def conjugate(self, y: Array) -> float:
        """f*(y)."""
        return self.box.conjugate(y) + (0.0 if self.P is None else 0.5 * float(y @ (self.P @ y)))
