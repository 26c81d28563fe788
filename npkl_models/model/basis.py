"""A fixed orthonormal basis Q of kernels K = Q U Q'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal columns Q (n x s).

    Parameters
    ----------
    Q : ndarray of shape (n, s), s <= n
    eigenvalues : ndarray of shape (s,), optional
        Of the Laplacian whose eigenvectors the columns are.

    Raises
    ------
    ProblemError
        If Q has more columns than rows, is not finite, or is not orthonormal to 1e-8.
    """

    Q: Array
    eigenvalues: Array | None = None

    def __post_init__(self) -> None:
        Q = np.array(self.Q, dtype=float, order="C")
        if Q.ndim != 2 or not 1 <= Q.shape[1] <= Q.shape[0]:
            raise ProblemError(f"basis Q must have shape (n, s) with 1 <= s <= n, got {Q.shape}")
        if not np.isfinite(Q).all():
            raise ProblemError("basis Q must be finite, got NaN or infinity")
        error = float(np.max(np.abs(Q.T @ Q - np.eye(Q.shape[1]))))
        if error > 1e-8:
            raise ProblemError(f"basis Q must have orthonormal columns, got |Q'Q - I| = {error:.1e}")
        Q.setflags(write=False)
        object.__setattr__(self, "Q", Q)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.Q.shape[0])

    @property
    def size(self) -> int:
        """s, the number of basis vectors."""
        return int(self.Q.shape[1])
