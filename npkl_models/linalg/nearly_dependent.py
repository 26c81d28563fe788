"""Equations with the Gram matrix of rows that nearly depend on each other, without loss of digits.

Rows a_e = vec(p_e r_e') of unit length have the Gram matrix G_ef = (p_e'p_f)(r_e'r_f). If their smallest
singular value is below 1e-8, its square is lost in the rounding of G. A pivoted Cholesky factorisation of G
finds rows that are clearly independent. The parts of the few other rows that are orthogonal to these are
formed as matrices and orthonormalised: a combination x of rows is the matrix P'diag(x)R, even if it is short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from npkl_models.linalg import Array, Index

CLEAR = 1e-11  # smallest squared distance of a row from the span of others that G can tell from zero
ROUNDED = 1e12  # coefficients of this size show that rows are dependent up to rounding
NUMBERS = 2e7  # most numbers in the matrices of the other rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of A, scaled to unit length, and combinations of them that are orthonormal up to rounding."""

    P: Array  # (m, s) and (m, t), with rows of unit length
    R: Array
    lengths: Array  # the divisors that made the rows of A unit vectors (m,)
    first: Index  # the rows that are clearly independent, in the order of their pivots (k,)
    L: Array  # the Cholesky factor of the Gram matrix of the first rows (k, k)
    others: Array  # coefficients (m, m - k) of orthonormal combinations of rows, orthogonal to the first rows

    @classmethod
    def of(cls, P: Array, R: Array) -> Rows | None:
        """From rows of any length; None if a row is zero, or if rows are dependent or too many nearly so."""
        p, r = np.linalg.norm(P, axis=1), np.linalg.norm(R, axis=1)
        if not (bool(np.all(p * r > 0)) and np.isfinite(p * r).all()):
            return None
        P, R = P / p[:, None], R / r[:, None]
        factor, pivots, rank, _ = lapack.dpstrf((P @ P.T) * (R @ R.T), lower=1, tol=CLEAR)
        order = (pivots - 1).astype(np.intp)
        L, first = np.tril(factor[:rank, :rank]), order[:rank]
        if float(len(P) - rank) * P.shape[1] * R.shape[1] > NUMBERS:
            return None
        beside = scipy.linalg.solve_triangular(L, factor[rank:, :rank].T, lower=True, trans=1)
        others = np.zeros((len(P), len(P) - rank), order="F")
        others[first] = -beside
        others[order[rank:]] = np.eye(len(P) - rank)
        out = cls(P, R, p * r, first, L, others)
        return out if rank == len(P) else out._orthonormal(others)

    def _orthonormal(self, others: Array) -> Rows | None:
        values = np.stack([self.value(self.back(x))[self.first] for x in others.T], axis=1)
        others = others.copy()
        others[self.first] -= scipy.linalg.cho_solve((self.L, True), values)
        matrices = np.stack([self.back(x).ravel() for x in others.T], axis=1)
        R = np.asarray(np.linalg.qr(matrices, mode="r"))
        if not bool(np.all(R.diagonal() != 0)):
            return None
        others = scipy.linalg.solve_triangular(R, others.T, trans=1).T
        if not float(np.max(np.abs(others))) < ROUNDED:  # the rows are dependent up to rounding
            return None
        return Rows(self.P, self.R, self.lengths, self.first, self.L, others)

    def value(self, D: Array) -> Array:
        """p_e'D r_e (m)."""
        out: Array = np.einsum("es,es->e", self.P @ D, self.R)
        return out

    def back(self, x: Array) -> Array:
        """sum_e x_e p_e r_e' (s x t)."""
        out: Array = self.P.T @ (x[:, None] * self.R)
        return out

    def solve(self, right: Array) -> Array:
        """x (m) with A A'x = ``right``, where the rows of A have their original lengths."""
        right = right / self.lengths
        x = self.others @ (self.others.T @ right)
        x[self.first] += scipy.linalg.cho_solve((self.L, True), right[self.first])
        out: Array = x / self.lengths
        return out
