"""Derivatives of an optimum in the numbers of its problem, from the kernel alone (the envelope theorem).

The derivative in the weight of a value is the loss of this value, and the derivative in the cost is K.

Examples
--------
>>> import npkl_models as nm
>>> from npkl_models.applications.sensitivity import optimum_sensitivity
>>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
>>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
>>> solution = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs).solve()
>>> found = optimum_sensitivity(solution)
>>> found.weights[0].round(3).tolist()  # the loss of each pair
[0.003, 0.003, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import Array, Matrix
from npkl_models.linalg.owned import finite, real_matrix


@dataclass(frozen=True, eq=False)
class CostGradient:
    """The derivative K = VV' of an optimum in its symmetric cost matrix: dC changes the optimum by <K, dC>.

    Attributes
    ----------
    factor : ndarray of shape (n, r)
        The factor V; K is never formed.
    """

    factor: Array

    def entries(self, i: ArrayLike, j: ArrayLike) -> Array:
        """The entries K_ij of pairs of points; a change of C_ij is also a change of C_ji."""
        a, b = np.asarray(i, dtype=np.intp), np.asarray(j, dtype=np.intp)
        return np.einsum("er,er->e", self.factor[a], self.factor[b])

    @property
    def diagonal(self) -> Array:
        """The diagonal of K (n)."""
        return np.einsum("ir,ir->i", self.factor, self.factor)

    @property
    def shift(self) -> float:
        """The derivative in a shift s of the cost, C + s I."""
        return float(np.sum(self.diagonal))

    def along(self, change: Matrix | Array) -> float:
        """The derivative along a change dC of the cost (n x n, symmetric)."""
        n, dC = len(self.factor), finite(real_matrix(change, "a change of the cost"), "a change of the cost")
        if dC.shape != (n, n):
            raise ProblemError(f"a change of the cost must have {n} rows, got shape {dC.shape}")
        return float(np.sum(self.factor * (dC @ self.factor)))

    def edges(self, i: ArrayLike, j: ArrayLike) -> Array:
        """The derivative in the weight of each edge of an unnormalised Laplacian: K_ii + K_jj - 2 K_ij."""
        a, b = np.asarray(i, dtype=np.intp), np.asarray(j, dtype=np.intp)
        return self.diagonal[a] + self.diagonal[b] - 2 * self.entries(a, b)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """An optimum and its derivatives.

    Attributes
    ----------
    value : float
        The optimum.
    weights : tuple of ndarray
        For each loss term, the derivative in the weight of each of its values.
    cost : CostGradient
        The derivative in the cost matrix, and so in shift and edges.
    gamma : float
        The derivative in a common factor on all weights, at the factor 1.
    """

    value: float
    weights: tuple[Array, ...]
    cost: CostGradient
    gamma: float


def optimum_sensitivity(solution: Solution) -> Sensitivity:
    """The derivatives of the optimum in weights and cost, of a solution that has a kernel.

    They are exact if the optimal kernel is unique. If several kernels are optimal, the result is between the
    derivatives to both sides. The tangent is an upper bound on the optimum of every other problem.
    """
    instance(solution, Solution, "solution")
    problem, V = solution.problem, factor_of(solution, "kernel to differentiate")
    values = problem.values(V)
    losses = tuple(t.loss.value(z, t.target) for t, z in zip(problem.losses, values, strict=True))
    gamma = sum(float(t.weight @ own) for t, own in zip(problem.losses, losses, strict=True))
    return Sensitivity(solution.objective, losses, CostGradient(V), gamma)
