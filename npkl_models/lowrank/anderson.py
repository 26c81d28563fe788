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
        self.iterates: list[Array] = []

    def clear(self) -> None:
        """Forget the iterates."""
        self.iterates = []

    def propose(self, V: Array) -> Array | None:
        """Add an iterate; after ``memory`` + 1 of them an extrapolated point, else None."""
        if self.iterates and self.iterates[-1].shape != V.shape:
            self.clear()
        self.iterates.append(V.copy())
        if len(self.iterates) <= self.memory:
            return None
        points = np.stack([v.ravel() for v in self.iterates])
        self.clear()
        differences = np.diff(points, axis=0)
        gram = differences @ differences.T
        gram += 1e-12 * np.trace(gram) * np.eye(self.memory)
        try:
            c = np.linalg.solve(gram, np.ones(self.memory))
        except np.linalg.LinAlgError:
            return None
        total = float(c.sum())
        if not np.isfinite(total) or abs(total) < 1e-300:
            return None
        out: Array = (c / total) @ points[1:]
        return out.reshape(V.shape)
