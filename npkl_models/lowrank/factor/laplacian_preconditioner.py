"""A preconditioner for distances: a weighted Laplacian of the graph of the pairs, factorised.

The Hessian of sum phi_e(||v_i - v_j||^2) is a Laplacian with the weights 2 phi' in all directions, and one
with 4 phi'' ||v_i - v_j||^2 along v_i - v_j. A direction at random has the share 1 / r of the latter: their
sum is a Laplacian that acts on all columns alike, as sparse as the graph. Without it a long chain of
neighbours takes as many steps of conjugate gradients as it has links.
"""

from __future__ import annotations

from collections.abc import Callable

import scipy.sparse as sp
from scipy.sparse.linalg import splu

from npkl_models.linalg import Array
from npkl_models.model.incidence import Adjoint, Incidence

FLOOR = 1e-3  # of the size of the cost: added to the diagonal, since a Laplacian is singular


class LaplacianPreconditioner:
    """Lays the graph out; `at` factorises the Laplacian of a point."""

    def __init__(self, incidence: Incidence, size: float) -> None:
        self.adjoint = Adjoint(incidence)
        self.floor = FLOOR * size * sp.eye_array(incidence.n, format="csc")

    def at(self, z: Array, slope: Array, bend: Array, rank: int) -> Callable[[Array], Array]:
        """G (n x r) -> the inverse of the Laplacian applied to half of G, at values z with phi', phi''."""
        weights = slope.clip(min=0.0) + 2 * bend * z.clip(min=0.0) / rank
        M = sp.csc_array(self.adjoint(weights)) + self.floor
        factor = splu(M, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        return lambda G: 0.5 * factor.solve(G)
