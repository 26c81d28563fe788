"""What is nearly null and taken out of a spectrum before the rest of it is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.linalg import UNIT, Array, Matrix, longest_row, symmetrize

NEAR_NULL = 1e-3  # of the norm: a direction q with |S q| above it is not deflated
LOCAL = 0.1  # share of the points over which a local vector spreads, by (sum |x|)^2 / sum x^2


class Deflation:
    """An orthonormal basis Q (n x k) that S nearly maps to zero, and what it leaves of that.

    Attributes
    ----------
    S : matrix, or what acts like one
    inner : ndarray of shape (k,)
        Eigenvalues of Q'SQ, ascending; Q is rotated to their eigenvectors.
    coupling : float
        The norm of R = (I - QQ')SQ.
    """

    def __init__(self, S: Matrix, Q: Array, largest: float) -> None:
        self.S, SQ = S, S @ Q
        fits = np.linalg.norm(SQ, axis=0) <= largest
        Q, SQ = Q[:, fits], SQ[:, fits]
        self.size, self.products = Q.shape[1], longest_row(S)
        self.Q, self.R = np.asfortranarray(Q), SQ
        self.inner: Array = np.zeros(0)
        self.across: Array = np.zeros((0, 0))
        self.coupling = 0.0
        if self.size:
            self.inner, rotation = np.linalg.eigh(symmetrize(Q.T @ SQ))
            self.Q, SQ = np.asfortranarray(Q @ rotation), SQ @ rotation
            self.R = np.asfortranarray(SQ - self.Q * self.inner)
            self.across = symmetrize(self.R.T @ self.R)
            self.coupling = float(np.linalg.norm(self.R, 2))

    def whole(self, complement: float) -> float:
        """A lower bound of the spectrum from one, c, of the spectrum on the complement of Q.

        S - t I >= 0 if Q'SQ - t I - R'R / (c - t) >= 0, by the Schur complement; bisected for the largest t.
        """
        if not self.size or not np.isfinite(complement):
            return complement
        a, c = float(self.inner[0]), complement
        low = 0.5 * (a + c - float(np.hypot(a - c, 2 * self.coupling)))  # |R|^2 for R'R
        high = min(a, c)
        for _ in range(50):
            t = 0.5 * (low + high)
            if t < c and np.linalg.eigvalsh(np.diag(self.inner - t) - self.across / (c - t))[0] >= 0:
                low = t
            else:
                high = t
        return low

    def rounding(self, upper: float) -> float:
        """What rounding in all of this may have moved a bound by, |S| <= ``upper``."""
        return 4 * (self.Q.shape[0] + self.products + 8 * (self.size + 4)) * UNIT * upper

    def lowest(self) -> Array:
        """The unit vector of the smallest inner eigenvalue."""
        out: Array = self.Q[:, 0].copy()
        return out

    def remove(self, x: Array) -> Array:
        """The part of x that is orthogonal to Q."""
        out: Array = x - self.Q @ (self.Q.T @ x) if self.size else x
        return out


def tight(accuracy: float, upper: float) -> float:
    """The largest |S q| at which a deflated q costs little: rho^2 / c for a spectrum c on the complement."""
    return 0.1 * float(np.sqrt(accuracy * upper))


def is_local(X: Array) -> Any:
    """Which columns of X live on few points, by (sum |x|)^2 / sum x^2."""
    spread = np.abs(X).sum(axis=0) ** 2
    return spread <= LOCAL * X.shape[0] * np.einsum("ij,ij->j", X, X)
