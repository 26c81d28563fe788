"""The three-term recurrence of Lanczos on the complement of a nearly null space, which is deflated."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import (
    LONG,
    PART,
    UNIT,
    Array,
    LowRankUpdate,
    Matrix,
    chunk,
    longest_row,
    nonnegative_norm,
    summed,
    symmetrize,
)
from npkl_models.linalg.exact_products import inner_products
from npkl_models.linalg.twofold import twofold

REORTHOGONALISED = 2_000_000  # most numbers of a Lanczos basis that is kept in double precision
KEPT = 300_000_000  # most numbers of a Lanczos basis that is kept in single precision
BLOCK = 16  # vectors in one array
NOISE = 8.0  # units of roundoff that a step may err by, in addition to those of the product


class Recurrence:
    """Lanczos vectors on the complement of a deflation; ``upper`` bounds the norm of S.

    A small basis is kept and reorthogonalised. A larger basis is kept in single precision, which is enough to
    combine its vectors. A still larger basis is recomputed. For each step, ``lost`` bounds the error of
    ``S q_j = beta_j-1 q_j-1 + alpha_j q_j + beta_j q_j+1`` along a unit eigenvector of the complement.
    """

    def __init__(
        self, deflation: Deflation, start: Array, limit: int, upper: float, keep: bool = True
    ) -> None:
        self.S, self.deflation, self.limit, self.upper = deflation.S, deflation, limit, upper
        self.units = NOISE * UNIT * upper + _of_product(deflation.S, upper)
        self.units += 2 * deflation.size**1.5 * UNIT * deflation.coupling  # Q'w is at most the coupling
        self.drift = deflation.coupling * deflation.left  # from the part of q in the deflated space
        self.lost: list[float] = []
        start = start / np.linalg.norm(start)
        self.start = deflation.remove(start)
        size = float(np.linalg.norm(self.start))
        self.share = 1.01 / size  # what removing the deflated part divided the last norm by
        self.start = self.start / size
        self.alpha: list[float] = []
        self.beta: list[float] = []
        exact = start.size * limit <= REORTHOGONALISED
        self.basis = np.empty((limit, start.size)) if exact else None
        self.blocks: list[Array] | None = None if exact or not keep else []
        self.current, self.previous = self.start, np.zeros_like(start)
        self.scratch = np.empty_like(start)

    def step(self) -> float:
        """Take one step; return beta, the norm of the new vector before it is normalised."""
        j, q = len(self.alpha), self.current
        w, lost = self._product(q)
        a = float(q @ w)
        w -= np.multiply(q, a, out=self.scratch)
        if j:
            w -= np.multiply(self.previous, self.beta[-1], out=self.scratch)
        if self.basis is not None:
            self.basis[j] = q
            B = self.basis[: j + 1]
            for _ in range(2):  # once is not enough if w is small
                again = B @ w
                w -= B.T @ again
                lost += 2 * float(np.linalg.norm(again))
        elif self.blocks is not None:
            self.blocks = self._kept(self.blocks, j, q)
        self.lost.append(lost + self.drift * self.share)
        before, w = float(np.linalg.norm(w)), self.deflation.remove(w)
        b = float(np.linalg.norm(w))
        self.share = before / max(b, 1e-300)
        self.alpha.append(a)
        self.beta.append(b)
        w *= 1 / max(b, 1e-300)
        self.previous, self.current = q, w
        return b

    def _product(self, q: Array) -> tuple[Array, float]:
        """S q, and a bound on the rounding errors of this product and of the rest of the step."""
        measured = getattr(self.S, "measured", None)  # some operators measure their own error
        if measured is None:
            return np.ascontiguousarray(self.S @ q), self.units
        w, inside, lost = measured(q)
        return w, self.units * (1 + inside) + lost

    def _kept(self, blocks: list[Array], j: int, q: Array) -> list[Array] | None:
        """Add a vector to the blocks; None if they become too large to keep."""
        if (j + 1) * q.size > KEPT:
            return None
        if j % BLOCK == 0:
            blocks.append(np.empty((BLOCK, q.size), dtype=np.float32))
        blocks[-1][j % BLOCK] = q
        return blocks

    def release(self) -> None:
        """Give the memory of a basis in single precision back."""
        self.blocks = None

    def combine(self, coefficients: Array) -> Array:
        """Vectors (n x m) with these coefficients (j x m) in the Lanczos basis, of norm one."""
        j, m = coefficients.shape
        if self.basis is not None:
            out = coefficients.T @ self.basis[:j]
        else:
            out = np.zeros((m, self.start.size))
            for at in range(0, j, BLOCK):
                part = coefficients[at : at + BLOCK].T
                if self.blocks is not None:
                    _add_product(out, part, self.blocks[at // BLOCK])
                    continue
                if at == 0:
                    again = Recurrence(self.deflation, self.start, self.limit, self.upper, keep=False)
                    block = np.empty((BLOCK, self.start.size))
                for k in range(part.shape[1]):
                    block[k] = again.current
                    again.step()
                _add_product(out, part, block)
        out /= np.linalg.norm(out, axis=1)[:, None]
        return out.T


def _add_product(out: Array, part: Array, block: Array) -> None:
    """Add ``part`` (m x k) times the first k rows of a block, in its precision and in chunks of columns."""
    few = part.astype(block.dtype)
    for first in range(0, block.shape[1], PART):
        own = slice(first, first + PART)
        out[:, own] += few @ block[: few.shape[1], own]


def _of_product(S: Matrix, upper: float) -> float:
    """A bound on the norm of the rounding error of S q, if |S| <= ``upper`` and q has norm one.

    An entry errs by at most k u |S| |q|, with k entries in its row. The norm of B = diag(k) |S| is the root
    of that of B'B, which is |S| diag(k)^2 |S| for a symmetric S.
    """
    if isinstance(S, LowRankUpdate):
        return _of_product(S.S, upper) + _of_update(S)
    whole: Any = getattr(S, "whole", S)
    if not sp.issparse(whole):
        return longest_row(S) * UNIT * upper
    whole = sp.csr_array(whole)
    data = np.abs(whole.data)
    unit, many = float(np.max(data, initial=0.0)) or 1.0, np.diff(whole.indptr) + 2.0
    data /= unit
    sizes = sp.csr_array((data, whole.indices, whole.indptr), shape=whole.shape)
    squared = nonnegative_norm(lambda x: sizes @ (many**2 * (sizes @ x)), whole.shape[0])
    return 1.01 * float(np.sqrt(squared)) * unit * UNIT


def _of_update(S: Matrix) -> float:
    """The part of the error of S q that the sums over all points in a low-rank update make."""
    if not isinstance(S, LowRankUpdate):
        return 0.0
    n, k = S.W.shape
    sums = (chunk(n) + n // chunk(n) + k + 4) * np.sqrt(max(k, 1))
    return 1.01 * float(sums * np.max(np.abs(S.mu), initial=0.0)) * UNIT


NEAR_NULL = 1e-3  # share of the norm: a direction q with a larger |S q| is not deflated
LOCAL = 0.1  # share of the points over which a local vector spreads at most, by (sum |x|)^2 / sum x^2


class Deflation:
    """An orthonormal basis Q (n x k) that S nearly maps to zero, rotated to the eigenvectors of Q'SQ.

    ``inner`` are the eigenvalues of Q'SQ, ascending; ``coupling`` is the norm of R = (I - QQ')SQ, and
    ``across`` is R'R.
    """

    def __init__(self, S: Matrix, Q: Array, largest: float) -> None:
        self.S, SQ = S, S @ Q
        fits = np.linalg.norm(SQ, axis=0) <= largest
        if not fits.all():
            Q, SQ = Q[:, fits], SQ[:, fits]
        self.size, self.products = Q.shape[1], longest_row(S)
        self.Q = np.asfortranarray(Q)
        self.inner: Array = np.zeros(0)
        self.across: Array = np.zeros((0, 0))
        self.coupling = 0.0
        if self.size:
            self.inner, rotation = np.linalg.eigh(symmetrize(Q.T @ SQ))
            self.Q = (rotation.T @ Q.T).T  # in Fortran's order
            R = (rotation.T @ SQ.T).T
            for column, q, value in zip(R.T, self.Q.T, self.inner, strict=True):
                column -= value * q
            self.across = symmetrize(R.T @ R)
            self.coupling = self._norm_of(R)
        self.left = self._left()  # share of x that `remove` may leave in the range of Q

    def _norm_of(self, R: Array) -> float:
        """The norm of R; that of a long R from R'R, raised by more than the rounding of R'R."""
        if R.size <= LONG:
            return float(np.linalg.norm(R, 2))
        n, k = R.shape
        largest = max(float(np.linalg.eigvalsh(self.across)[-1]), float(self.across.diagonal().max()))
        return float(np.sqrt(largest)) * (1 + 4 * k * (n + 8) * UNIT)

    def _left(self) -> float:
        """Rounding of the sums in `remove` and of its last difference, and what Q lacks in orthonormality.

        With c the computed Q'x and x - Qc the computed result, the part in the range is at most
        |c - Q'x| + |(Q'Q - I) c| + the rounding of Qc and of the difference. |c - Q'x| is at most root k
        times the error of one sum.
        """
        n, k = self.Q.shape
        each = (chunk(n) + n // chunk(n) + 10 + k) * UNIT
        if not k:
            return each
        whole, error = inner_products(twofold(self.Q), twofold(self.Q))
        skew = np.linalg.norm(whole.high - np.eye(k) + whole.low) + np.linalg.norm(error)
        return 1.01 * float(skew + each * np.sqrt(k) + 4 * UNIT)

    def whole(self, complement: float) -> float:
        """A lower bound on the spectrum, from a lower bound c on the spectrum on the complement of Q.

        S - t I is at least [[Q'SQ - t I, F'], [F, (c - t) I]] with F'F = R'R, so the smallest eigenvalue of
        this matrix without t is a bound.
        """
        if not self.size or not np.isfinite(complement):
            return complement
        values, vectors = np.linalg.eigh(self.across)
        F = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        both = np.block([[np.diag(self.inner), F.T], [F, complement * np.eye(self.size)]])
        return float(np.linalg.eigvalsh(both)[0])

    def rounding(self, upper: float) -> float:
        """How far rounding in the deflation may move a bound, if |S| <= ``upper``.

        A column of SQ errs by at most ``products`` units of roundoff times |S|, and by the sums of a low-rank
        update; k columns together by root k times as much. Rotations of Q by k columns err by up to k^2
        units. Sums over n numbers err by n units times the norm of such a column, which is nearly zero. For
        an eigenvalue t of the whole, what Q lacks in orthonormality counts |t| times.
        """
        k, root = self.size, float(np.sqrt(self.size))
        turns = max(8.0 * (k + 4), 0.25 * k**2)
        few = max(1.0, 0.5 * root) * self.products + turns
        columns = root * float(np.sqrt(np.sum(self.inner**2 + self.across.diagonal())))
        sums = 4 * UNIT * (self.Q.shape[0] + few) + self.left
        return 4 * UNIT * few * upper + 2 * root * _of_update(self.S) + sums * columns

    def lowest(self) -> Array:
        """The unit vector of the smallest inner eigenvalue."""
        return self.Q[:, 0].copy()

    def remove(self, x: Array) -> Array:
        """The part of x that is orthogonal to Q."""
        if not self.size:
            return x
        if x.ndim > 1:
            return x - self.Q @ (self.Q.T @ x)
        return x - self.Q @ summed(self.Q, x)


def tight(accuracy: float, upper: float) -> float:
    """The largest |S q| for which deflating q costs little: |S q|^2 / c for a bound c on the complement."""
    return 0.1 * float(np.sqrt(accuracy * upper))


def is_local(X: Array) -> Any:
    """Which columns of X live on few points, by (sum |x|)^2 / sum x^2."""
    spread = np.abs(X).sum(axis=0) ** 2
    return spread <= LOCAL * X.shape[0] * np.einsum("ij,ij->j", X, X)
