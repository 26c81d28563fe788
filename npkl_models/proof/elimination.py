"""The Schur complement of a sparse matrix after a few points are eliminated by a factorisation.

Let S_AA be positive definite and eta >= 0. S + eta I is positive semidefinite if T + eta I is, where
T = S_BB - S_BA S_AA^-1 S_AB (Haynsworth 1968). An eigenvector x of S that lives on A, with a small eigenvalue
lambda, has a value near lambda / |x_B|^2 in T. So a few Lanczos steps on T find what many steps on S do not.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from npkl_models.linalg import (
    LONG_EPS,
    UNIT,
    Array,
    Index,
    Matrix,
    definite_lu,
    longest_row,
    norm_bound,
    symmetrize,
)
from npkl_models.linalg.threads import threaded

NEAREST = 8  # eigenvectors of the block, or columns of a product, that are computed at once
LOOSE = 1e-6  # share of the norm: the eigenvalues of the block nearest to minus this are computed
ROUNDING = 16.0  # units of roundoff in a solve, relative to the norm
ROUNDS = 100  # of raising; each removes most of a shortfall
ENOUGH = 0.9  # share of the floor that suffices
CORE = 0.3  # share of a vector's weight on the points that are raised for this vector


class Elimination:
    """The operator T on vectors (n,) or (n, k) that are zero on the points A of a sparse S (n x n).

    ``raised`` (n,) was added to the diagonal of S; ``raised`` is zero outside A.
    """

    def __init__(self, S: Matrix, points: Index) -> None:
        self.S, self.points, self.shape = threaded(S), points, S.shape
        self.whole, self.upper, self.steps = S, norm_bound(S), longest_row(S)
        rows = sp.csr_array(S[points])
        self.block = sp.csc_array(rows[:, points])
        around = np.unique(rows.indices)
        self.rim = around[~np.isin(around, points)]
        self.outward = sp.csr_array(rows[:, self.rim].T)
        self.raised = np.zeros(S.shape[0])

    def lowest(self, below: float) -> tuple[Array, Array]:
        """The eigenpairs of S_AA + Diag(raised) that are nearest to -``below``, ascending."""
        block = self._own(self.raised)
        start = np.random.default_rng(0).standard_normal(block.shape[0])
        values, vectors = eigsh(block, k=min(NEAREST, block.shape[0] - 1), sigma=-below, v0=start)
        return values, vectors

    def _own(self, raised: Array) -> Matrix:
        """S_AA + Diag(raised)."""
        return sp.csc_array(self.block + sp.diags_array(raised[self.points]))

    def raise_to(self, raised: Array) -> None:
        """Replace S by S + Diag(raised)."""
        factor = definite_lu(self._own(raised))
        if factor is None:
            raise np.linalg.LinAlgError("the block of the points is not positive definite")
        self.raised, self.solve = raised, factor.solve
        self.__dict__.pop("floor", None)

    @cached_property
    def floor(self) -> float:
        """A lower bound on the spectrum of the block, close to its estimate, proved by a factorisation."""
        least = UNIT * self.upper
        low = 0.95 * float(self.lowest(LOOSE * self.upper)[0].min())
        proved = low > least and definite_lu(self._own(self.raised - low)) is not None
        return low if proved else least

    def rounding(self, upper: float) -> float:
        """How far rounding in the solves may move T, if |S| <= ``upper``; far for a nearly singular block."""
        return ROUNDING * UNIT * upper**2 / self.floor

    def measured(self, q: Array) -> tuple[Array, float, float]:
        """T q for a vector q, the norm of the solution x, and a bound on the error along an eigenvector.

        The system is A x = b with A = S_AA. A residual r changes v'Tq by (A^-1 S_AB v)'r. For T v = lambda v,
        the squared norm of A^-1 S_AB v is at most |S| + |lambda|, divided by the floor of the block. |S|
        replaces |lambda| here: for lambda far below zero, (T - lambda)^-1 falls faster than the root of
        |lambda| grows. r is evaluated in long double, since an a priori bound would be a thousand times
        larger.
        """
        w: Array = self.S @ q
        b = w[self.points]
        x = self.solve(b)
        outer, inner = self._long
        r = outer @ q[self.rim] - inner @ x - self.raised[self.points] * x.astype(np.longdouble)
        inside = float(np.linalg.norm(x))
        size = (self.steps + 4) * LONG_EPS * (self.upper + float(self.raised.max())) * (1 + inside)
        w[self.rim] -= self.outward @ x
        w[self.points] = 0.0
        reach = float(np.sqrt(2 * self.upper / self.floor))
        return w, inside, reach * (float(np.linalg.norm(r.astype(float))) + size)

    @cached_property
    def _long(self) -> tuple[Matrix, Matrix]:
        """S_AB and S_AA."""
        wide = np.longdouble
        return sp.csr_array(self.outward.T).astype(wide), sp.csr_array(self.block).astype(wide)

    def __matmul__(self, X: Array) -> Array:
        out: Array = self.S @ X
        out[self.rim] -= self.outward @ self.solve(out[self.points])
        out[self.points] = 0.0
        return out

    def within(self, X: Array) -> Array:
        """X with its rows on A set to zero."""
        out = X.copy()
        out[self.points] = 0.0
        return out

    def extend(self, X: Array) -> Array:
        """Continue vectors (n, k) that are zero on A, such that S X is zero on A; they get norm one."""
        out = X.copy()
        out[self.points] = -self.solve((self.S @ X)[self.points])
        return out / np.linalg.norm(out, axis=0)


def raise_block(held: Elimination, floor: float, price: Array, allowance: float) -> bool:
    """Raise the diagonal until the block is positive definite; False if that exceeds the allowance."""
    for _ in range(ROUNDS):
        values, vectors = held.lowest(floor)
        raised = held.raised.copy()
        for a in np.flatnonzero(values < 0):
            raised[held.points] += core(vectors[:, a], price[held.points], floor - values[a])
        if not float(price @ raised) <= allowance:
            return False
        try:
            held.raise_to(raised)
        except np.linalg.LinAlgError:
            held.raised = raised
        else:
            return True
    return False


def raise_diagonal(held: Elimination, W: Array, floor: float, price: Array, allowance: float) -> bool:
    """Raise the diagonal on the eliminated points, cheaply, until T is above ``floor`` on range(W), W'W = I.

    While W'TW has an eigenvalue below ``floor``, its eigenvector is continued on A. The diagonal is raised on
    the points that carry most of the continued vector. If the sum of price times raise would exceed the
    allowance, nothing is raised and the result is False.
    """
    columns = W.shape[1]
    G, H = np.empty((held.points.size, columns)), np.empty((columns, columns))
    for first in range(0, columns, NEAREST):  # S W as a whole would take as much memory as W
        part = slice(first, first + NEAREST)
        SW = held.S @ W[:, part]
        G[:, part], H[:, part] = SW[held.points], W.T @ SW
    before, cost = held.raised, price[held.points]
    for _ in range(ROUNDS):
        Z = held.solve(G)
        values, vectors = np.linalg.eigh(symmetrize(H - G.T @ Z))
        low = np.flatnonzero(values < ENOUGH * floor)
        if not low.size:
            return True
        raised = held.raised.copy()
        for a in low:
            raised[held.points] += core(Z @ vectors[:, a], cost, floor - values[a])
        if not float(price @ raised) <= allowance:
            break
        held.raise_to(raised)
    held.raise_to(before)
    return False


def core(x: Array, cost: Array, lack: float) -> Array:
    """A diagonal D with x'Dx = ``lack``, on the points that carry most of x for their cost."""
    weight: Any = x**2
    order = np.argsort(-weight / cost)
    total = np.cumsum(weight[order])
    core = order[: int(np.searchsorted(total, CORE * total[-1])) + 1]
    out = np.zeros_like(x)
    out[core] = lack / float(weight[core].sum())
    return out
