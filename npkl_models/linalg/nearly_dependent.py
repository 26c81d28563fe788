"""Equations with the Gram matrix of rows that nearly depend on each other, without squaring that.

Rows a_e = vec(p_e r_e') of unit length have the Gram matrix G_ef = (p_e'p_f)(r_e'r_f). Where their smallest
singular value is below 1e-8, G says nothing of it. A pivoted Cholesky factorisation of G finds rows that are
clearly independent; what of the few others is orthogonal to these is formed as matrices, and these are
orthonormalised: a combination x of rows is a matrix P'diag(x)R whatever its length is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from npkl_models.linalg import Array, Index

CLEAR = 1e-11  # squared distance of a row from the span of others from which on G tells it
ROUNDED = 1e12  # in the inverse of the smallest singular value
NUMBERS = 2e7  # of the matrices of the others, at most


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows, and X (m x m) with the columns of A'X orthonormal but for rounding.

    Attributes
    ----------
    P, R : ndarray of shape (m, s) and (m, t)
        Their rows are of unit length.
    lengths : ndarray of shape (m,)
        What the rows had been divided by.
    first : ndarray of shape (k,)
        Rows that are clearly independent, in the order of their pivots.
    L : ndarray of shape (k, k)
        The Cholesky factor of their Gram matrix.
    others : ndarray of shape (m, m - k)
        Combinations of rows that are orthonormal, and orthogonal to the first ones.
    """

    P: Array
    R: Array
    lengths: Array
    first: Index
    L: Array
    others: Array

    @classmethod
    def of(cls, P: Array, R: Array, clear: float = CLEAR) -> Rows | None:
        """From rows of any length; None where a row is zero, or too many depend on others, or exactly."""
        p, r = np.linalg.norm(P, axis=1), np.linalg.norm(R, axis=1)
        if not (bool(np.all(p * r > 0)) and np.isfinite(p * r).all()):
            return None
        same = R is P
        P = P / p[:, None]
        R = P if same else R / r[:, None]
        G = gram(P, R)
        factor, pivots, rank, _ = lapack.dpstrf(G, lower=1, tol=clear)
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
        if not float(np.max(np.abs(others))) < ROUNDED:  # rows that are dependent but for their rounding
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
        """x (m) with A A'x = ``right``, both in the rows' own lengths."""
        right = right / self.lengths
        x = self.others @ (self.others.T @ right)
        x[self.first] += scipy.linalg.cho_solve((self.L, True), right[self.first])
        out: Array = x / self.lengths
        return out


def gram(P: Array, R: Array) -> Array:
    """(p_e'p_f)(r_e'r_f) (m x m)."""
    G = P @ P.T
    out: Array = G * G if R is P else G * (R @ R.T)
    return out
