"""Preconditioners of the factorised problem: blocks of its Hessian, or a Laplacian of the graph of the pairs.

The Hessian of sum phi_e(||v_i - v_j||^2) is the sum of two parts. One is a Laplacian with the weights 2 phi'
in all directions. The other has the weights 4 phi'' ||v_i - v_j||^2 along v_i - v_j. A random direction meets
the share 1 / r of the second part. With this share, the sum is a Laplacian that acts on all columns alike and
is as sparse as the graph. Without a preconditioner, a long chain of neighbours takes as many steps of
conjugate gradients as it has links.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, definite_lu, norm_bound, symmetric_lu
from npkl_models.lowrank.tolerances import SAME
from npkl_models.model.incidence import Adjoint, Incidence
from npkl_models.proof.factorisation import sparse_order

LEAST = 1e-2  # smaller diagonal entries of the slack are raised to this share of their median


class HessianBlocks:
    """The diagonal blocks of the Hessian, 2 S_ii I + sum_e bend_e g_e g_e' for each row, to invert."""

    def __init__(self, incidence: Incidence) -> None:
        t, n = incidence, incidence.n
        ends, others = t.ends()
        value = np.concatenate([t.owner, t.owner])
        coefficient = np.tile(np.asarray(t.coefficient, dtype=float), 2)
        keys, slot = np.unique(value * n + ends, return_inverse=True)
        self.value, self.point = keys // n, np.ascontiguousarray(keys % n, dtype=np.intp)
        self.gather: Matrix = sp.csr_array((coefficient, (slot, others)), shape=(keys.size, n))
        every = np.arange(keys.size)
        self.scatter: Matrix = sp.csr_array((np.ones(keys.size), (self.point, every)), shape=(n, keys.size))

    def at(self, V: Array, diagonal: Array, bend: Array) -> Callable[[Array], Array]:
        """The map of G (n x r) to the inverse blocks applied to G, at V (n x r).

        ``diagonal`` (n,) is the diagonal of the slack, ``bend`` (m,) the second derivatives of all phi_e.
        """
        n, r = V.shape
        blocks = np.zeros((n, r, r))
        blocks[:, range(r), range(r)] = 2 * self.raised(diagonal)[:, None]
        curved = bend[self.value] > 0
        if curved.any():
            g, weight = (self.gather @ V)[curved], bend[self.value[curved]]
            scatter = self.scatter[:, np.flatnonzero(curved)]
            for a in range(r):  # one column of all blocks at a time
                blocks[:, :, a] += scatter @ (g * (weight * g[:, a])[:, None])
        inverse = np.linalg.inv(blocks)
        return lambda G: np.einsum("nij,nj->ni", inverse, G)

    @staticmethod
    def raised(diagonal: Array) -> Array:
        """The absolute diagonal of the slack, where small entries are raised to a share of their median."""
        size = np.abs(diagonal)
        return np.maximum(size, LEAST * float(np.median(size)) or 1.0)

    def weights(self, V: Array, bend: Array) -> Array:
        """Half the mean curvature of the losses along a row of V, over all directions (n,)."""
        g = self.gather @ V
        size = np.maximum(bend, 0.0)[self.value] * np.einsum("sr,sr->s", g, g)
        return np.asarray(self.scatter @ size) / (2 * V.shape[1])


FLOOR = 1e-3  # this share of the size of the cost is added to the diagonal: a Laplacian is singular


class FlatPreconditioner:
    """The cost and the mean curvature of the losses in each row, factorised, for nearly flat graphs.

    Blocks of rows know nothing of directions in which all rows of a part move alike. These cost little, so
    that conjugate gradients take as many steps as the graph has points in a line. On the graph of points in
    the plane the factors have hardly more entries than the cost.
    """

    def __init__(self, C: Matrix) -> None:
        self.C = sp.csc_array(C)
        self.floor = FLOOR * norm_bound(C)

    @staticmethod
    def worth(C: Matrix) -> bool:
        """Whether the factors are cheap at any order."""
        return C.shape[0] > 1 and sparse_order(C, at_any_order=True) is not None

    def at(self, weights: Array) -> Callable[[Array], Array] | None:
        """The map of G (n x r) to the inverse of the cost with these weights on its diagonal, to G / 2.

        None if the losses hold most rows: then no direction is left in which a part moves alike. None, too,
        if the matrix is not positive definite.
        """
        if np.median(weights) > self.floor:
            return None
        factor = definite_lu(self.C + sp.diags_array(weights + self.floor, format="csc"))
        return None if factor is None else lambda G: 0.5 * factor.solve(np.ascontiguousarray(G))


class LaplacianPreconditioner:
    """A preconditioner for distances: a Laplacian on their graph, which `at` factorises at a point.

    ``moved`` (n x f) are the columns of the basis for the rows ``free``; held rows do not move.
    """

    def __init__(
        self, incidence: Incidence, size: float, moved: Matrix | None = None, free: Index | None = None
    ) -> None:
        self.adjoint, self.moved, self.free = Adjoint(incidence), moved, free
        order = incidence.n if moved is None else moved.shape[1]
        self.floor = FLOOR * size * sp.eye_array(order, format="csc")

    def at(self, z: Array, slope: Array, bend: Array, rank: int) -> Callable[[Array], Array]:
        """The map of G (n x r) to the inverse Laplacian applied to G / 2, at values z with phi' and phi''."""
        weights = slope.clip(min=0.0) + 2 * bend * z.clip(min=0.0) / rank
        M = sp.csc_array(self.adjoint(weights))
        M = (M if self.moved is None else sp.csc_array(self.moved.T @ M @ self.moved)) + self.floor
        try:
            factor = symmetric_lu(M)
        except RuntimeError:  # the floor is lost to rounding
            top = float(M.diagonal().max())
            factor = symmetric_lu(M + SAME * top * sp.eye_array(M.shape[0], format="csc"))
        if self.free is None:
            return lambda G: 0.5 * factor.solve(G)

        def inverse(G: Array) -> Array:
            out = np.zeros_like(G)
            out[self.free] = 0.5 * factor.solve(np.ascontiguousarray(G[self.free]))
            return out

        return inverse
