"""The factorised Hessian of soft distances on a factor: a sparse matrix with a block for each edge.

The objective is <C V, V> + sum phi_e(||v_i - v_j||^2) at V (n x r). Let d_e = e_i - e_j and g_e = v_i - v_j,
and put multipliers y_e in the place of the slopes phi_e'. Half of the Hessian is then
(S(y) + tau) x I_r + sum_e 2 phi_e'' d_e d_e' x g_e g_e'. Only centred directions are wanted. Instead, one
point is fixed, which leaves a matrix as sparse as the graph. A correction of rank r turns its solutions into
those over centred directions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, Matrix, norm_bound, positions, symmetric_lu
from npkl_models.model.facts import fact
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.statement import Statement

CENTRED = 1e-10  # largest residual of the constant vector as an eigenvector of C, relative to the size of C
BLOCKS = 3e6  # largest n r^2 for which the blocks are factorised (about 3 GB on a graph of a surface)
FLOPS = 6e9  # operations per second of a sparse factorisation


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
    """Whether a problem has only smooth losses of squared distances, over all centred kernels."""
    kinds = all(isinstance(term.functional, SquaredDistances) for term in problem.terms)
    smooth = all(term.loss.smooth for term in problem.terms) and not problem.equalities
    if not (problem.terms and kinds and smooth and problem.regularizer.vacuous):
        return False
    return constant_eigenvalue(problem) is not None


class CentredSystem:
    """The matrix of the module's docstring, for C with C1 = c1 and edges (i, j); `at` factorises it.

    The order of elimination depends only on the graph and is found once.
    """

    def __init__(self, C: Matrix, c: float, i: Index, j: Index) -> None:
        n = int(C.shape[0])
        self.n, self.c, every = n, c, np.arange(i.size)
        shared, ones = np.concatenate([every, every]), np.ones(i.size)
        graph = sp.csr_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
        graph.data[:] = 1.0
        C = sp.csr_array(C)
        whole = sp.csr_array(graph + abs(C) + sp.eye_array(n))
        degrees = np.asarray(whole.sum(axis=1)).ravel()
        inner = sp.csc_array(sp.diags_array(2 * degrees[:-1]) - whole[:-1, :-1])
        place = np.append(symmetric_lu(inner).perm_c, n - 1)  # places in the order of elimination
        self.points = np.argsort(place)
        signs = np.concatenate([ones, -ones])
        self.edges = sp.csr_array((signs, (shared, np.concatenate([place[i], place[j]]))), shape=(i.size, n))
        self.gather = sp.csr_array(self.edges.T)
        whole = sp.csr_array(whole[self.points][:, self.points])[:-1, :-1].tocsr()
        whole.sort_indices()
        self.pattern: Matrix = whole
        own = sp.coo_array(C[self.points][:, self.points][:-1, :-1])
        self.base = np.zeros(whole.nnz)
        np.add.at(self.base, positions(whole, own.row, own.col), own.data)
        self.diagonal = positions(whole, np.arange(n - 1), np.arange(n - 1))
        a, b = place[i], place[j]
        rows, columns = np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a])
        held = (rows < n - 1) & (columns < n - 1)
        values = np.concatenate([ones, ones, -ones, -ones])[held]
        at = positions(whole, rows[held], columns[held])
        self.scatter = sp.csr_array((values, (at, np.tile(every, 4)[held])), shape=(whole.nnz, i.size))

    def differences(self, V: Array) -> Array:
        """The difference v_i - v_j of each edge (m x r)."""
        out: Array = self.edges @ V[self.points]
        return out

    def pulled(self, forces: Array) -> Array:
        """The sum of d_e forces_e' over all edges (n x r)."""
        out = np.empty((self.n, forces.shape[1]))
        out[self.points] = self.gather @ forces
        return out

    def at(self, G: Array, y: Array, bend: Array, tau: float) -> tuple[Callable[[Array], Array], float]:
        """(solve, seconds counted) at differences G (m x r), multipliers y and second derivatives phi''.

        ``solve`` maps centred right-hand sides (n x r) to centred directions. A matrix that is singular to
        rounding raises a RuntimeError.
        """
        n, r = self.n, G.shape[1]
        scalar = self.base + self.scatter @ y
        scalar[self.diagonal] += tau
        outer = (2 * bend[:, None] * G)[:, :, None] * G[:, None, :]
        blocks = np.asarray(self.scatter @ outer.reshape(-1, r * r)).reshape(-1, r, r)
        blocks[:, range(r), range(r)] += scalar[:, None]
        rows = sp.bsr_array(
            (blocks, self.pattern.indices, self.pattern.indptr), shape=((n - 1) * r, (n - 1) * r)
        ).tocsr()
        factor = symmetric_lu(
            sp.csc_array((rows.data, rows.indices, rows.indptr), shape=rows.shape), "NATURAL"
        )
        alike = np.zeros((n - 1, r, r))
        alike[:, range(r), range(r)] = 1.0
        constants = alike.reshape(-1, r)
        images = factor.solve(constants)
        less = -(self.c + tau) / n
        mixed = less * np.linalg.inv(np.eye(r) + less * (constants.T @ images))

        def solve(right: Array) -> Array:
            x = factor.solve(right[self.points[:-1]].ravel())
            x = x - images @ (mixed @ (constants.T @ x))
            out = np.zeros((n, r))
            out[self.points[:-1]] = x.reshape(n - 1, r)
            out -= out.mean(axis=0)
            return out

        filled = float(factor.L.nnz)
        return solve, filled**2 / ((n - 1) * r) / FLOPS
