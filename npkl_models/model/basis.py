"""A fixed orthonormal basis Q of kernels K = Q U Q'."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, gamma

ACCEPTED = 1e-8  # defect of what may be given
STRAIGHT = 1e-13  # defect above which the columns are orthonormalised


@dataclass(frozen=True, eq=False, repr=False)
class Basis:
    """Orthonormal columns Q (n x s).

    Columns that are orthonormal to 1e-8 only are orthonormalised; what rounding leaves of the defect is
    known, and every certificate pays for it.

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
        if error > ACCEPTED:
            raise ProblemError(f"basis Q must have orthonormal columns, got |Q'Q - I| = {error:.1e}")
        if error > STRAIGHT:
            straight, R = np.linalg.qr(Q)
            Q = np.ascontiguousarray(straight * np.sign(R.diagonal()))
        Q.setflags(write=False)
        object.__setattr__(self, "Q", Q)

    def __repr__(self) -> str:
        return f"Basis({self.size} columns over {self.n} points)"

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.Q.shape[0])

    @property
    def size(self) -> int:
        """s, the number of basis vectors."""
        return int(self.Q.shape[1])

    @cached_property
    def magnitude(self) -> float:
        """An upper bound on the squared norm of the matrix of absolute values of Q."""
        size = np.abs(self.Q)
        both = float(size.sum(axis=0).max() * size.sum(axis=1).max())
        return min(both, float(np.sum(size**2))) * (1 + gamma(2 * self.n))

    @cached_property
    def defect(self) -> float:
        """An upper bound on the norm of Q'Q - I, the rounding of its evaluation included."""
        gap = float(np.linalg.norm(self.Q.T @ self.Q - np.eye(self.size)))
        return gap * (1 + gamma(self.size**2)) + gamma(self.n + 2) * self.magnitude
