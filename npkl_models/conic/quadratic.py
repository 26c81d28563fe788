"""Quadratics y'Ay + b'y + c in y = svec(U) with A = B'B: of a problem over a basis, and given ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import SKEW, Array, dense, symmetrize
from npkl_models.linalg.owned import finite, real_array, real_matrix, whole_number
from npkl_models.model.basis import Basis
from npkl_models.model.constraint import Constraint
from npkl_models.model.functional import smat, svec
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

P = TypeVar("P", bound=Statement)


@dataclass(frozen=True, eq=False)
class ReducedQuadratic:
    """minimise y'Ay + b'y + c over U >= 0, with y = svec(U) of length p = s(s+1)/2.

    Wu, thesis 2011, eqs. (3.13)-(3.14). There y = vec(U), so A counts each off-diagonal entry twice.
    """

    A: Array  # (p, p), positive semidefinite
    b: Array  # (p,)
    c: float
    B: Array  # (rank, p), A = B'B
    constraints: tuple[tuple[Constraint, Array, Array], ...]  # with (E, e) of E y = e, E y <= e or E y >= e
    order: int  # s

    @property
    def rank(self) -> int:
        """Numerical rank of A."""
        return len(self.B)

    def gradient(self, y: Array) -> Array:
        """2 A y + b."""
        return 2 * (self.B.T @ (self.B @ y)) + self.b

    def pseudo_solve(self, g: Array) -> Array:
        """A^+ g, by A^+ = B'(BB')^-2 B for B of full row rank."""
        if not self.rank:
            return np.zeros_like(g)
        factor = scipy.linalg.cho_factor(self.B @ self.B.T)
        return self.B.T @ scipy.linalg.cho_solve(factor, scipy.linalg.cho_solve(factor, self.B @ g))

    @classmethod
    def of(cls, problem: Statement) -> ReducedQuadratic:
        """The quadratic of a problem with quadratic losses and a basis."""
        Q, s = problem.Q, problem.order
        p = s * (s + 1) // 2
        A, b, c = np.zeros((p, p)), svec(dense(problem.restrict(problem.cost))), 0.0
        for term in problem.losses:
            zero = np.zeros(term.functional.size)
            c += term.value(zero)
            slope, bend = term.derivative(zero), 0.5 * term.loss.curvature * term.weight
            rows = term.functional.svec_operator(Q)
            b = b + slope @ rows
            if term.loss.curvature > 0:
                scaled = np.sqrt(bend)[:, None] * rows
                A += scaled.T @ scaled
        R = problem.regularizer.spectral
        if R is not None and R.penalty is not None:
            if R.p == 1:
                b = b + R.penalty * svec(np.eye(s))
            else:
                A[np.diag_indices(p)] += 0.5 * R.penalty
        hard = tuple((part, part.functional.svec_operator(Q), part.value) for part in problem.constraints)
        return cls(A, b, c, rank_revealing_factor(A), hard, s)


def rank_revealing_factor(A: Array) -> Array:
    """B with B'B = A and as many rows as the numerical rank of A, by a Cholesky factorisation with pivots."""
    top = float(np.max(A.diagonal(), initial=0.0))
    factor, pivots, rank, _ = lapack.dpstrf(A, tol=len(A) * np.finfo(float).eps * top)
    B = np.zeros((rank if top > 0 else 0, len(A)))
    B[:, pivots - 1] = np.triu(factor)[: len(B)]
    return B


def from_quadratic(
    A: Any, b: ArrayLike | None, constraints: Constraint | Sequence[Constraint], order: int,
    basis: Basis | None, cls: type[P],
) -> P:  # fmt: skip
    """The problem of a quadratic; see `Problem.from_quadratic`."""
    s = whole_number(order, "order", 1)
    matrix = dense(real_matrix(A, "A"))
    p, whole = s * (s + 1) // 2, s * s
    if matrix.ndim != 2 or matrix.shape not in ((p, p), (whole, whole)):
        raise ProblemError(
            f"A must have shape ({p}, {p}) or ({whole}, {whole}) for order {s}, got {matrix.shape}"
        )
    linear = np.zeros(len(matrix)) if b is None else real_array(b, "b")
    if linear.shape != (len(matrix),):
        raise ProblemError(f"b must have shape ({len(matrix)},), as A has, got {linear.shape}")
    finite(matrix, "A")
    finite(linear, "b")
    skew, top = float(np.max(np.abs(matrix - matrix.T))), float(np.max(np.abs(matrix)))
    if skew > SKEW * top:
        raise ProblemError(f"A must be symmetric, got entries that differ by {skew:.3g}")
    if len(matrix) == whole and whole != p:
        to_vec = svec_to_vec(s)
        matrix, linear = to_vec.T @ (to_vec.T @ matrix.T).T, to_vec.T @ linear
    matrix = symmetrize(matrix)
    B = rank_revealing_factor(matrix)
    left = float(np.max(np.abs(B.T @ B - matrix)))
    if left > SKEW * top:
        raise ProblemError(
            f"A must be positive semidefinite, got {np.linalg.eigvalsh(matrix)[0]:.3g} as smallest eigenvalue"
        )
    back = _transposed(basis, s)
    squares = [back.T @ sp.csr_array(smat(row, s)) @ back for row in B]
    cost = back.T @ sp.csr_array(smat(linear, s)) @ back
    hard = (constraints,) if isinstance(constraints, Constraint) else tuple(constraints)
    n = cost.shape[0]
    losses = [LossTerm(SparseMatrices(n, squares), "square", 0.0, name="quadratic")] if squares else []
    return cls(sp.csr_array(cost), (*losses, *hard), basis=basis, name="quadratic")


def svec_to_vec(s: int) -> sp.csr_array:
    """The matrix (s^2 x s(s+1)/2) that takes svec(U) to vec(U); its transpose takes vec(U) to svec(U)."""
    i, j = np.triu_indices(s)
    own = np.arange(i.size)
    share = np.where(i == j, 0.5, np.sqrt(0.5))  # a diagonal entry is met twice below
    rows = np.concatenate([i * s + j, j * s + i])
    return sp.csr_array((np.tile(share, 2), (rows, np.tile(own, 2))), shape=(s * s, i.size))


def _transposed(basis: Basis | None, s: int) -> sp.csr_array:
    """Q' (s x n), so that U = Q'KQ for K = QUQ'."""
    if basis is None:
        return sp.eye_array(s, format="csr")
    instance(basis, Basis, "basis", "eigenbasis(L, 10)")
    if basis.size != s:
        raise ProblemError(f"basis must have as many columns as the order, got {basis.size} and {s}")
    return sp.csr_array(basis.dense.T)
