"""Rows of the factor that equalities hold: the anchors of a network, for instance.

Suppose that the equalities fix a block of the unknown U (s x s), U_hh = G with G positive definite, and say
nothing else. A factor with UU' of this kind can be rotated so that its rows h are [T 0], with T the Cholesky
factor of G. These rows then stay as they are, the equalities hold exactly, and the other rows are free: the
problem has no constraint left. If the gradient in the free rows is zero, so is that of all moves that keep
the block, since those are moves of free rows and rotations. Then S W = 0 for a symmetric multiplier of the
block, L = -(S W)_h W_h' G^-1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, symmetrize
from npkl_models.lowrank.tolerances import SAME
from npkl_models.model.facts import fact
from npkl_models.model.functional import smat, svec, svec_rows
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement

MOST_ROWS = 8  # that equalities hold; more of them are left to multipliers


@dataclass(frozen=True, eq=False)
class Held:
    """The held rows of the unknown factor W (s x r).

    Attributes
    ----------
    rows, free : ndarray of int
        The held rows (d,) and the free rows (s - d,).
    root : ndarray of shape (d, d)
        The lower triangular T with TT' = G.
    operator : ndarray of shape (m, d(d+1)/2)
        The values of the equalities from svec(U_hh).
    sizes : tuple of int
        The number of values of each equality.
    """

    rows: Index
    free: Index
    root: Array
    operator: Array
    sizes: tuple[int, ...]

    def fit(self, W: Array) -> Array:
        """The factor W, rotated so that the held rows are lower triangular, and then with [T 0] in them."""
        d = self.rows.size
        if W.shape[1] < d:
            W = np.hstack([W, np.zeros((len(W), d - W.shape[1]))])
        Q, R = np.linalg.qr(W[self.rows].T, mode="complete")
        Q[:, :d] *= np.where(R.diagonal() < 0, -1.0, 1.0)
        W = W @ Q
        W[self.rows] = 0.0
        W[self.rows, :d] = self.root
        return W

    def multipliers(self, SW: Array) -> tuple[Array, ...]:
        """Multipliers of the equalities, from S W (s x r) without them."""
        d = self.rows.size
        L = -np.linalg.solve(self.root.T, SW[self.rows, :d].T)
        nu = np.linalg.lstsq(self.operator.T, svec(symmetrize(L)), rcond=None)[0]
        return tuple(np.split(nu, np.cumsum(self.sizes)[:-1]))


@fact
def held_rows(problem: Statement) -> Held | None:
    """The rows that the equalities hold; None if they do anything else, or with a regulariser."""
    equal = [part for part in problem.constraints if part.equal]
    if not equal or not problem.regularizer.vacuous:
        return None
    every = Incidence.stack([part.functional.incidence for part in equal])
    points = np.unique(np.concatenate([every.row, every.column]))
    Q: Matrix = sp.eye_array(problem.n, format="csr") if problem.basis is None else problem.basis.Q
    part = sp.csr_array(Q)[points]
    rows = np.unique(part.indices)
    if not 0 < rows.size <= MOST_ROWS or rows.size >= problem.order:
        return None
    place = np.zeros(problem.n, dtype=np.intp)
    place[points] = np.arange(points.size)
    local = replace(every, row=place[every.row], column=place[every.column], n=points.size)
    A = svec_rows(local, part[:, rows].toarray())
    value = np.concatenate([part.value for part in equal])
    root = _root(A, value, rows.size)
    if root is None:
        return None
    free = np.setdiff1d(np.arange(problem.order), rows)
    return Held(rows, free, root, A, tuple(e.functional.size for e in equal))


def _root(A: Array, value: Array, d: int) -> Array | None:
    """The Cholesky factor of the block; None if the block is not fixed, or not positive definite."""
    if np.linalg.matrix_rank(A) < A.shape[1]:
        return None
    g = np.linalg.lstsq(A, value, rcond=None)[0]
    if np.max(np.abs(A @ g - value)) > SAME * np.max(np.abs(value)):
        return None
    G = smat(g, d)
    values = np.linalg.eigvalsh(G)
    return np.linalg.cholesky(G) if values[0] > SAME * values[-1] else None
