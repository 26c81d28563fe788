"""Any convex quadratic of a positive semidefinite matrix, as a sum of squares of its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.conic.quadratic import rank_revealing_factor, smat
from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import SKEW, dense, symmetrize
from npkl_models.linalg.owned import finite, real_array, real_matrix, whole_number
from npkl_models.model.basis import Basis
from npkl_models.model.constraint import Constraint
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

P = TypeVar("P", bound=Statement)


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
        to_vec = _svec_to_vec(s)
        matrix, linear = to_vec.T @ (to_vec.T @ matrix.T).T, to_vec.T @ linear
    matrix = symmetrize(matrix)
    B, _ = rank_revealing_factor(matrix)
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


def _svec_to_vec(s: int) -> sp.csr_array:
    """The matrix (s^2 x s(s+1)/2) that takes svec(U) to vec(U)."""
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
