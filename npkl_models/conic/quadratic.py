"""A problem over a basis as a quadratic y'Ay + b'y + c in y = svec(U), with a factor A = B'B."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from npkl_models.linalg import Array, dense
from npkl_models.model.constraint import Constraint
from npkl_models.model.functional import svec
from npkl_models.model.statement import Statement

FACTOR_ERROR = 1e-11  # relative to the largest diagonal entry of A: largest error of B'B
ROWS = 2_000  # loss values whose rows are formed at a time


@dataclass(frozen=True, eq=False)
class ReducedQuadratic:
    """minimise y'Ay + b'y + c over U >= 0, with y = svec(U) of length p = s(s+1)/2.

    Wu, thesis 2011, eqs. (3.13)-(3.14). There y = vec(U), so A counts each off-diagonal entry twice.
    """

    A: Array  # (p, p), positive semidefinite
    b: Array  # (p,)
    c: float
    B: Array  # (rank, p), A = B'B
    method: str  # how B was found: "Cholesky", "pivoted Cholesky" or "eigenvalues"
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
                for start in range(0, len(rows), ROWS):
                    part = slice(start, start + ROWS)
                    scaled = np.sqrt(bend[part])[:, None] * rows[part]
                    A += scaled.T @ scaled
        R = problem.regularizer.spectral
        if R is not None and R.penalty is not None:
            if R.p == 1:
                b = b + R.penalty * svec(np.eye(s))
            else:
                A[np.diag_indices(p)] += 0.5 * R.penalty
        B, method = rank_revealing_factor(A)
        hard = tuple((part, part.functional.svec_operator(Q), part.value) for part in problem.constraints)
        return cls(A, b, c, B, method, hard, s)


def smat(y: Array, order: int) -> Array:
    """The symmetric U with svec(U) = y."""
    first, second = np.triu_indices(order)
    U = np.zeros((order, order))
    U[first, second] = np.where(first == second, 1.0, np.sqrt(0.5)) * y
    return U + np.triu(U, 1).T


def rank_revealing_factor(A: Array) -> tuple[Array, str]:
    """B with B'B = A and as many rows as the numerical rank of A, and the method that found B."""
    p = len(A)
    top = float(np.max(A.diagonal(), initial=0.0))
    if top == 0.0:
        return np.zeros((0, p)), "eigenvalues"
    threshold = p * np.finfo(float).eps * top
    try:
        B = np.linalg.cholesky(A).T
        if float(np.min(B.diagonal())) ** 2 > 10 * threshold:
            return B, "Cholesky"
    except np.linalg.LinAlgError:
        pass
    factor, pivots, rank, _ = lapack.dpstrf(A, tol=threshold)
    B = np.zeros((rank, p))
    B[:, pivots - 1] = np.triu(factor)[:rank]
    if float(np.max(np.abs(B.T @ B - A))) <= FACTOR_ERROR * top:
        return B, "pivoted Cholesky"
    values, vectors = np.linalg.eigh(A)
    kept = values > p * np.finfo(float).eps * values[-1]
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T, "eigenvalues"
