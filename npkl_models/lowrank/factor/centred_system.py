"""The factorised Hessian of soft distances on a factor: a sparse matrix with a block for each edge.

The objective is <C V, V> + sum phi_e(||v_i - v_j||^2) at V (n x r). Let d_e = e_i - e_j and g_e = v_i - v_j,
and put multipliers y_e in the place of the slopes phi_e'. Half of the Hessian is then
(S(y) + tau) x I_r + sum_e 2 phi_e'' d_e d_e' x g_e g_e'. Only centred directions are wanted. Instead, one
point is fixed, which leaves a matrix as sparse as the graph. A correction of rank r turns its solutions into
those over centred directions. With anchors, all anchors are fixed, and there is nothing to correct.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, norm_bound, positions, symmetric_lu
from npkl_models.linalg.cholesky import INDEFINITE, Factor, SymmetricFactors, negative_pivots
from npkl_models.lowrank.factor.held import held_rows
from npkl_models.model.facts import fact
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.statement import Statement

CENTRED = 1e-10  # largest residual of the constant vector as an eigenvector of C, relative to the size of C
BLOCKS = 3e6  # largest n r^2 for which the blocks are factorised (about 3 GB on a graph of a surface)
FLOPS = 6e9  # operations per second that are counted for a sparse factorisation, by whichever library


def constant_eigenvalue(problem: Statement) -> float | None:
    """The number c with C1 = c1, for a sparse C and a sparse basis of all centred kernels; None otherwise."""
    basis, C, n = problem.basis, problem.cost, problem.n
    if basis is None or basis.shared is not None or not sp.issparse(basis.Q) or problem.order != n - 1:
        return None
    if not sp.issparse(C) or float(np.max(np.abs(basis.Q.T @ np.ones(n)), initial=0.0)) > CENTRED:
        return None
    sums = C @ np.ones(n)
    c = float(np.mean(sums))
    return c if float(np.max(np.abs(sums - c))) <= CENTRED * (norm_bound(C) or 1.0) else None


@fact
def restorable(problem: Statement) -> bool:
    """Whether a problem has only losses of squared distances, over centred kernels or with anchors."""
    kinds = all(isinstance(term.functional, SquaredDistances) for term in problem.losses)
    if not (problem.losses and kinds and problem.regularizer.vacuous):
        return False
    if problem.constraints:
        return anchored_points(problem) is not None
    return constant_eigenvalue(problem) is not None


@fact
def anchored_points(problem: Statement) -> Index | None:
    """Points whose rows are combinations of held rows; None unless each other point has a row of its own."""
    held, basis = held_rows(problem), problem.basis
    if held is None or basis is None or basis.shared is not None or not sp.issparse(basis.Q):
        return None
    moved = sp.csr_array(sp.csc_array(basis.Q)[:, held.free])
    own = np.flatnonzero(np.diff(moved.indptr))
    alone = own.size == moved.nnz == held.free.size and bool(np.all(moved.data == 1.0))
    tied = np.diff(sp.csr_array(basis.Q).indptr)[own]
    return np.setdiff1d(np.arange(problem.n), own) if alone and bool(np.all(tied == 1)) else None


class CentredSystem:
    """The matrix of the module's docstring, for C with C1 = c1 and edges (i, j); or with ``fixed`` points."""

    def __init__(self, C: Matrix, c: float, i: Index, j: Index, fixed: Index | None = None) -> None:
        n = int(C.shape[0])
        self.n, self.c, every = n, c, np.arange(i.size)
        self.centred = fixed is None
        last = np.array([n - 1]) if fixed is None else fixed
        first = np.setdiff1d(np.arange(n), last)
        self.moving = m = first.size
        shared, ones = np.concatenate([every, every]), np.ones(i.size)
        graph = sp.csr_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
        graph.data[:] = 1.0
        C = sp.csr_array(C)
        whole = sp.csr_array(graph + abs(C) + sp.eye_array(n))
        degrees = np.asarray(whole.sum(axis=1)).ravel()
        inner = sp.csc_array(sp.diags_array(2 * degrees[first]) - whole[first][:, first])
        place = np.empty(n, dtype=np.intp)  # places in the order of elimination
        factor = symmetric_lu(inner)
        place[first], place[last] = factor.perm_c, m + np.arange(last.size)
        self.filled = float(factor.L.nnz)  # blocks in the factors
        self.points = np.argsort(place)
        signs = np.concatenate([ones, -ones])
        self.edges = sp.csr_array((signs, (shared, np.concatenate([place[i], place[j]]))), shape=(i.size, n))
        self.gather = sp.csr_array(self.edges.T)
        upper = sp.csr_array(sp.triu(whole[self.points][:, self.points][:m, :m], format="csr"))
        upper.sort_indices()
        self.pattern: Matrix = upper
        own = sp.coo_array(sp.triu(C[self.points][:, self.points][:m, :m]))
        self.base = np.zeros(upper.nnz)
        np.add.at(self.base, positions(upper, own.row, own.col), own.data)
        self.diagonal = positions(upper, np.arange(m), np.arange(m))
        a, b = place[i], place[j]
        rows, columns = np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a])
        held = (rows <= columns) & (columns < m)
        values = np.concatenate([ones, ones, -ones, -ones])[held]
        at = positions(upper, rows[held], columns[held])
        self.scatter = sp.csr_array((values, (at, np.tile(every, 4)[held])), shape=(upper.nnz, i.size))
        self.factors: tuple[int, SymmetricFactors] | None = None  # of the last r

    def differences(self, V: Array) -> Array:
        """The difference v_i - v_j of each edge (m x r)."""
        out: Array = self.edges @ V[self.points]
        return out

    def pulled(self, forces: Array) -> Array:
        """The sum of d_e forces_e' over all edges (n x r)."""
        out = np.empty((self.n, forces.shape[1]))
        out[self.points] = self.gather @ forces
        return out

    def at(
        self, G: Array, y: Array, bend: Array, tau: float, definite: bool = False
    ) -> tuple[Callable[[Array], Array], float]:
        """(solve, seconds counted) at differences G (m x r), multipliers y and second derivatives phi''.

        ``solve`` maps right-hand sides (n x r), centred unless points are fixed, to such directions until the
        next call. A matrix that is singular to rounding raises a RuntimeError, and so does one that CHOLMOD
        refuses with fixed points, or, with ``definite``, one that is not definite over these directions.
        """
        n, m, r = self.n, self.moving, G.shape[1]
        factors, data = self.matrix(G, y, bend, tau)
        bent_down = self.centred and self.c + tau < 0  # constants are eigenvectors with a negative eigenvalue
        factor = factors.at(data, retry=self.centred, definite=definite and not bent_down)
        images, mixed, constants = self._correction(factor, tau, r)
        if definite and self.centred and not self._definite(factor, constants.T @ images, tau):
            raise RuntimeError(INDEFINITE)

        def solve(right: Array) -> Array:
            x = factor.solve(right[self.points[:m]].ravel())
            if self.centred:
                x = x - images @ (mixed @ (constants.T @ x))
            out = np.zeros((n, r))
            out[self.points[:m]] = x.reshape(m, r)
            return out - out.mean(axis=0) if self.centred else out

        return solve, (self.filled * r * r) ** 2 / (m * r) / FLOPS

    def matrix(self, G: Array, y: Array, bend: Array, tau: float | Array) -> tuple[SymmetricFactors, Array]:
        """What factorises the matrix over the moving points, in the order of elimination, and its entries."""
        m, r = self.moving, G.shape[1]
        scalar = self.base + self.scatter @ y
        scalar[self.diagonal] += tau
        outer = (2 * bend[:, None] * G)[:, :, None] * G[:, None, :]
        blocks = np.asarray(self.scatter @ outer.reshape(-1, r * r)).reshape(-1, r, r)
        blocks[:, range(r), range(r)] += scalar[:, None]
        rows = sp.bsr_array((blocks, self.pattern.indices, self.pattern.indptr), shape=(m * r, m * r)).tocsr()
        if self.factors is None or self.factors[0] != r:
            self.factors = r, SymmetricFactors(rows.indptr, rows.indices)
        return self.factors[1], rows.data

    def _definite(self, factor: Factor, inner: Array, tau: float) -> bool:
        """Whether the matrix is definite over centred directions, by the inertia of a Schur complement.

        The signs of A and of n (c + tau) (I - (c + tau) / n 1'A^-1 1) are those of the whole (Haynsworth
        1968), and the negative ones must be those of the constants. ``inner`` (r x r) is 1'A^-1 1.
        """
        r, own = len(inner), self.c + tau
        schur = np.linalg.eigvalsh(own * (np.eye(r) - (own / self.n) * 0.5 * (inner + inner.T)))
        return negative_pivots(factor) + int(np.sum(schur < 0)) == (r if own < 0 else 0)

    def _correction(self, factor: Factor, tau: float, r: int) -> tuple[Array, Array, Array]:
        """The rank-r correction that makes a solution one over centred directions."""
        constants = np.tile(np.eye(r), (self.moving if self.centred else 0, 1))
        if not self.centred:
            return constants, constants, constants
        images = factor.solve(constants)
        less = -(self.c + tau) / self.n
        mixed = less * np.linalg.inv(np.eye(r) + less * (constants.T @ images))
        return images, mixed, constants
