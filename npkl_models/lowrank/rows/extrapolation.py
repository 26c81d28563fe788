"""Anderson extrapolation of the iterates of sweeps."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import PART, Array

MEMORY = 5


class Extrapolation:
    """Anderson extrapolation: the affine combination of the last iterates with the smallest residual.

    Source: Anderson 1965; for coordinate descent Bertrand & Massias, AISTATS 2021.
    """

    def __init__(self) -> None:
        self.known = 0
        self.points = np.zeros((MEMORY + 1, 0))

    def clear(self) -> None:
        """Forget the iterates."""
        self.known = 0

    def release(self) -> None:
        """Forget the iterates, and give their memory back."""
        self.known, self.points = 0, np.zeros((MEMORY + 1, 0))

    def propose(self, V: Array) -> Array | None:
        """Add an iterate; every `MEMORY` + 1 iterates return an extrapolated point, else None."""
        if self.points.shape[1] != V.size:  # the array is kept: new memory is expensive
            self.clear()
            self.points = np.empty((MEMORY + 1, V.size))
        self.points[self.known] = V.ravel()
        self.known += 1
        if self.known <= MEMORY:
            return None
        self.clear()
        gram = np.zeros((MEMORY, MEMORY))
        for first in range(0, V.size, PART):
            differences = np.diff(self.points[:, first : first + PART], axis=0)
            gram += differences @ differences.T
        gram += 1e-12 * np.trace(gram) * np.eye(MEMORY)
        try:
            c = np.linalg.solve(gram, np.ones(MEMORY))
        except np.linalg.LinAlgError:
            return None
        total = float(c.sum())
        if not np.isfinite(total) or abs(total) < 1e-300:
            return None
        out: Array = (c / total) @ self.points[1:]
        return out.reshape(V.shape)
