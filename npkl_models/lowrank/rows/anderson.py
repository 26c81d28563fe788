"""Anderson extrapolation of a fixed-point iteration, kept only where it helps."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array

MEMORY = 5


class Extrapolation:
    """Every ``memory`` iterates, the affine combination with the smallest residual.

    Source: Anderson 1965; for coordinate descent Bertrand & Massias, AISTATS 2021.
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self.memory = memory
        self.known = 0
        self.points, self.differences = np.zeros((memory + 1, 0)), np.zeros((memory, 0))

    def clear(self) -> None:
        """Forget the iterates."""
        self.known = 0

    def propose(self, V: Array) -> Array | None:
        """Add an iterate; after ``memory`` + 1 of them an extrapolated point, else None."""
        if self.points.shape[1] != V.size:  # held for good: new memory costs more than the numbers in it
            self.clear()
            self.points = np.empty((self.memory + 1, V.size))
            self.differences = np.empty((self.memory, V.size))
        self.points[self.known] = V.ravel()
        self.known += 1
        if self.known <= self.memory:
            return None
        self.clear()
        np.subtract(self.points[1:], self.points[:-1], out=self.differences)
        gram = self.differences @ self.differences.T
        gram += 1e-12 * np.trace(gram) * np.eye(self.memory)
        try:
            c = np.linalg.solve(gram, np.ones(self.memory))
        except np.linalg.LinAlgError:
            return None
        total = float(c.sum())
        if not np.isfinite(total) or abs(total) < 1e-300:
            return None
        out: Array = (c / total) @ self.points[1:]
        return out.reshape(V.shape)
