"""Local refinement of an ordinal embedding: objectives that are not convex in the kernel.

Both start at the leading coordinates of a certified optimum and end at a local minimum; nothing is proved of
them. They bound what one wrong answer can cost by the logarithm of a distance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from npkl_models.errors import chosen
from npkl_models.linalg import Array, Index, Matrix

STEPS = 200  # of L-BFGS
ACCURACY = 1e-4  # least relative fall of the objective in a step; smaller ones predict no better
FLOOR = 0.05  # mu of crowd kernel learning, relative to the mean squared distance of the start


Slopes = tuple[float, Array, Array]  # value, slopes in the near and in the far distances
Rule = Callable[[Array, Array], Slopes]  # of the near and of the far distances


class Compared:
    """Comparisons (m x 3 or m x 4) of n points, as the sparse matrix of v_i - v_j of both distances."""

    def __init__(self, rows: Index, n: int) -> None:
        i, j = rows[:, 0], rows[:, 1]
        one, other = (i, rows[:, 2]) if rows.shape[1] == 3 else (rows[:, 2], rows[:, 3])
        self.rows, self.m, self.n = rows, len(rows), n
        self.differences = row_differences(np.concatenate([i, one]), np.concatenate([j, other]), n)
        self.back = self.differences.T.tocsr()

    def distances(self, V: Array) -> tuple[Array, Array]:
        """The squared distances of a factor V (n x r): the near ones and the far ones."""
        squared = row_squares(self.differences @ V)
        return squared[: self.m], squared[self.m :]

    def descend(
        self, V: Array, rule: Rule, penalty: float, accuracy: float = ACCURACY, steps: int = STEPS,
        held: int = 0,
    ) -> Array:  # fmt: skip
        """Minimise rule(near, far) + penalty ||W||^2 from the start V (n x r); W at the end.

        The first ``held`` rows stay. The descent ends if a step lowers the objective by less than
        ``accuracy``, relative to the objective.
        """
        shape = self.n - held, V.shape[1]

        def value(flat: Array) -> tuple[float, Array]:
            W = np.concatenate([V[:held], flat.reshape(shape)])
            between = self.differences @ W
            squared = row_squares(between)
            total, of_near, of_far = rule(squared[: self.m], squared[self.m :])
            between *= np.concatenate([of_near, of_far])[:, None]
            gradient = np.asarray(self.back @ between)[held:].ravel() + penalty * flat
            return total + penalty * float(flat @ flat), 2 * gradient

        limits = {"maxiter": steps, "ftol": accuracy, "gtol": 0.0}
        found = minimize(value, V[held:].ravel(), jac=True, method="L-BFGS-B", options=limits)
        return np.concatenate([V[:held], np.asarray(found.x).reshape(shape)])


def row_squares(E: Array) -> Array:
    """Squared lengths of the rows; a product with a vector of ones is quicker than a sum of short rows."""
    return np.asarray((E * E) @ np.ones(E.shape[1]))


def row_differences(i: Index, j: Index, n: int) -> Matrix:
    """The sparse matrix E (m x n) with the rows v_i - v_j of E V."""
    at, one = np.arange(i.size), np.ones(i.size)
    entries = np.concatenate([one, -one]), (np.concatenate([at, at]), np.concatenate([i, j]))
    return sp.coo_array(entries, shape=(i.size, n)).tocsr()


def t_ste(near: Array, far: Array, dimensions: int) -> Slopes:
    """The negative logarithm of the probability by Student's t, with ``dimensions`` - 1 degrees of freedom.

    Van der Maaten & Weinberger, "Stochastic Triplet Embedding", MLSP 2012, eq. (6).
    """
    freedom = max(dimensions - 1, 1)
    power = 0.5 * (freedom + 1)
    of_near, of_far = freedom + near, freedom + far
    total, share = softplus(power * np.log(of_near / of_far))  # the share: of the other answer
    share *= power
    return total, share / of_near, -share / of_far


def ckl(near: Array, far: Array, dimensions: int) -> Slopes:
    """The negative logarithm of (mu + far) / (2 mu + near + far), with mu = 0.05 ``dimensions``.

    Tamuz, Liu, Belongie, Shamir & Kalai, "Adaptively Learning the Crowd Kernel", ICML 2011.
    """
    other = FLOOR * dimensions + far
    both = FLOOR * dimensions + near + other
    inverse = 1 / both
    return float(np.sum(np.log(both / other))), inverse, inverse - 1 / other


def softplus(z: Array) -> tuple[float, Array]:
    """The sum of ln(1 + exp(z_e)), and its slopes, from one exponential that cannot overflow."""
    small = np.exp(-np.abs(z))
    both = 1 + small
    return float(np.sum(np.maximum(z, 0.0) + np.log1p(small))), np.where(z >= 0, 1.0, small) / both


REFINEMENTS = {"t_ste": t_ste, "ckl": ckl}
"""Objectives with a size of their own, whatever that of the start."""


def refined(V: Array, compared: Compared | Index, kind: str, accuracy: float = ACCURACY) -> Array:
    """A local minimum (n x r) of the objective ``kind`` of the comparisons, from the start V (n x r)."""
    rule, (n, r) = REFINEMENTS[chosen("refine", kind, REFINEMENTS)], V.shape
    if not isinstance(compared, Compared):
        compared = Compared(compared, n)
    size = float(np.mean(compared.distances(V)[1]))
    if not size > 0:
        return V
    start = V / np.sqrt(size / r)  # distances of the size of r
    return compared.descend(start, partial(rule, dimensions=r), 0.0, accuracy)
