"""A proved lower bound on the smallest singular value of a wide matrix, even if this value is very small.

The Gram matrix J J' cannot tell a singular value below 1e-7 of the norm from zero. The proof uses the QR
factorisation J' = O R instead. Let X be near the inverse of R, so that the columns of T = J'X are nearly
orthonormal. If ||T'T - I|| <= delta < 1, X has full rank, and |J'y| >= sqrt(1 - delta) |y| / ||X|| for every
y = Xz. The bound is lowered only by the rounding errors of T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from npkl_models.linalg import Array, gamma

MOST = 0.5  # largest delta


@dataclass(frozen=True, eq=False)
class Independent:
    """A proof that the rows of J (m x k) are linearly independent.

    Attributes
    ----------
    floor : float
        A proved lower bound on the smallest singular value, positive.
    X : ndarray of shape (m, m)
    T : ndarray of shape (k, m)
        An approximation of J'X, with nearly orthonormal columns.
    """

    floor: float
    X: Array
    T: Array

    def shortest(self, right: Array) -> Array:
        """An approximation of the shortest solution x of J x = ``right``."""
        out: Array = self.T @ (self.X.T @ right)
        return out


def independent_rows(J: Array, doubt: float = 0.0) -> Independent | None:
    """The proof for every matrix within ``doubt`` of J in norm; None if the proof fails."""
    m, k = J.shape
    if m > k or not np.isfinite(J).all():
        return None
    R = scipy.linalg.qr(J.T, mode="r", check_finite=False, overwrite_a=False)[0][:m]
    if not bool(np.all(R.diagonal() != 0)):
        return None
    X, failed = lapack.dtrtri(R)
    if failed or not np.isfinite(X).all():
        return None
    X = np.triu(X)
    T = J.T @ X
    size, length = float(np.linalg.norm(X)), float(np.linalg.norm(J))
    off = (gamma(m + 4) * length + doubt) * size  # of T, Frobenius
    spread = float(np.linalg.norm(T))
    delta = float(np.linalg.norm(T.T @ T - np.eye(m))) + gamma(k + 4) * spread**2 + 2 * off * spread + off**2
    if not delta <= MOST:
        return None
    return Independent(float(np.sqrt(1 - delta)) / size * (1 - gamma(m * m)), X, T)


def independent_by_gram(G: Array, relative: float) -> tuple[float, Array] | None:
    """A floor of the singular values of J and an X (m x m) with X'JJ'X near I, from a G near JJ'.

    J has rows of unit length, and each entry of G errs by at most ``relative``. The proof works down to
    singular values of about 1e-5, for any number of columns.
    """
    m = len(G)
    if not np.isfinite(G).all():
        return None
    L, failed = lapack.dpotrf(G, lower=1)
    if failed:
        return None
    X, failed = lapack.dtrtri(np.tril(L), lower=1)
    if failed or not np.isfinite(X).all():
        return None
    X = np.tril(X).T
    size = float(np.linalg.norm(X))
    delta = float(np.linalg.norm(X.T @ (G @ X) - np.eye(m)))
    delta += 1.01 * m * (relative + 2 * gamma(m + 4)) * size**2
    return (float(np.sqrt(1 - delta)) / size * (1 - gamma(m * m)), X) if delta <= MOST else None
