"""Preconditioners of the factorised problem: blocks of its Hessian, or a Laplacian of the graph of the pairs.

The Hessian of sum phi_e(||v_i - v_j||^2) is a Laplacian with the weights 2 phi' in all directions, and one
with 4 phi'' ||v_i - v_j||^2 along v_i - v_j. A direction at random has the share 1 / r of the latter: their
sum is a Laplacian that acts on all columns alike, as sparse as the graph. Without it a long chain of
neighbours takes as many steps of conjugate gradients as it has links.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Matrix, symmetric_lu
from npkl_models.model.incidence import Adjoint, Incidence

LEAST = 1e-2  # of the median diagonal entry of the slack: what counts as none


class HessianBlocks:
    """The blocks that a row of V has with itself, for any values; `at` inverts them at a point.

    Block i is 2 S_ii I + sum_e bend_e g_e g_e' with g_e the derivative of z_e in row i: the r x r matrices
    that bcd inverts. Large weights of the pairs, which make the Hessian ill-conditioned, stand in them.
    """

    def __init__(self, incidence: Incidence) -> None:
        t, n = incidence, incidence.n
        ends, others = t.ends()
        value = np.concatenate([t.owner, t.owner])
        coefficient = np.tile(np.asarray(t.coefficient, dtype=float), 2)
        keys, slot = np.unique(value * n + ends, return_inverse=True)
        self.value = keys // n
        self.gather: Matrix = sp.csr_array((coefficient, (slot, others)), shape=(keys.size, n))
        every = np.arange(keys.size)
        self.scatter: Matrix = sp.csr_array((np.ones(keys.size), (keys % n, every)), shape=(n, keys.size))

    def at(self, V: Array, diagonal: Array, bend: Array) -> Callable[[Array], Array]:
        """G -> the inverse of the blocks applied to G (n x r), at V (n x r) with the slack's diagonal (n,).

        ``bend`` (m,) are the second derivatives of what is summed over the values.
        """
        n, r = V.shape
        least = LEAST * float(np.median(np.abs(diagonal))) or 1.0
        blocks = np.zeros((n, r, r))
        blocks[:, range(r), range(r)] = 2 * np.maximum(np.abs(diagonal), least)[:, None]
        curved = bend[self.value] > 0
        if curved.any():
            g, weight = (self.gather @ V)[curved], bend[self.value[curved]]
            scatter = self.scatter[:, np.flatnonzero(curved)]
            for a in range(r):  # a column of all blocks at a time
                blocks[:, :, a] += scatter @ (g * (weight * g[:, a])[:, None])
        inverse = np.linalg.inv(blocks)
        return lambda G: np.einsum("nij,nj->ni", inverse, G)


FLOOR = 1e-3  # of the size of the cost: added to the diagonal, since a Laplacian is singular
ROUNDED = 1e-12  # of its largest entry: the same where that is nothing beside it


class LaplacianPreconditioner:
    """Lays the graph out; `at` factorises the Laplacian of a point."""

    def __init__(self, incidence: Incidence, size: float) -> None:
        self.adjoint = Adjoint(incidence)
        self.floor = FLOOR * size * sp.eye_array(incidence.n, format="csc")

    def at(self, z: Array, slope: Array, bend: Array, rank: int) -> Callable[[Array], Array]:
        """G (n x r) -> the inverse of the Laplacian applied to half of G, at values z with phi', phi''."""
        weights = slope.clip(min=0.0) + 2 * bend * z.clip(min=0.0) / rank
        M = sp.csc_array(self.adjoint(weights)) + self.floor
        try:
            factor = symmetric_lu(M)
        except RuntimeError:  # the floor is lost beside the weights
            top = float(M.diagonal().max())
            factor = symmetric_lu(M + ROUNDED * top * sp.eye_array(M.shape[0], format="csc"))
        return lambda G: 0.5 * factor.solve(G)
