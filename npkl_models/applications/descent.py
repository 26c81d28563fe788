"""Descent from a start in few dimensions: an objective of the distances that comparisons name, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from npkl_models.linalg import Array, Index, Matrix

Slopes = tuple[float, Array, Array]  # value, slopes in the near and in the far distances
Rule = Callable[[Array, Array], Slopes]  # of the near and of the far distances


class Compared:
    """Comparisons (m x 3 or m x 4) of n points, as the sparse matrix of v_i - v_j of both distances."""

    def __init__(self, rows: Index, n: int) -> None:
        i, j = rows[:, 0], rows[:, 1]
        one, other = (i, rows[:, 2]) if rows.shape[1] == 3 else (rows[:, 2], rows[:, 3])
        self.rows, self.m, self.n = rows, len(rows), n
        self.apart = _differences(np.concatenate([i, one]), np.concatenate([j, other]), n)
        self.back = self.apart.T.tocsr()

    def distances(self, V: Array) -> tuple[Array, Array]:
        """The squared distances of a factor V (n x r): the near ones and the far ones."""
        squared = _row_squares(self.apart @ V)
        return squared[: self.m], squared[self.m :]

    def descend(self, V: Array, rule: Rule, penalty: float, accuracy: float, steps: int) -> Array:
        """Minimise rule(near, far) + penalty ||W||^2 from the start V (n x r); W at the end.

        The descent ends if a step lowers the objective by less than ``accuracy``, relative to the objective.
        """
        n, r = V.shape

        def value(flat: Array) -> tuple[float, Array]:
            W = flat.reshape(n, r)
            between = self.apart @ W
            squared = _row_squares(between)
            total, of_near, of_far = rule(squared[: self.m], squared[self.m :])
            between *= np.concatenate([of_near, of_far])[:, None]
            gradient = np.asarray(self.back @ between)
            if penalty:
                total += penalty * float(flat @ flat)
                gradient += penalty * W
            return total, 2 * gradient.ravel()

        limits = {"maxiter": steps, "ftol": accuracy, "gtol": 0.0}
        found = minimize(value, V.ravel(), jac=True, method="L-BFGS-B", options=limits)
        return np.asarray(found.x).reshape(n, r)


def _row_squares(E: Array) -> Array:
    """Squared lengths of the rows; a product with a vector of ones is quicker than a sum of short rows."""
    return np.asarray((E * E) @ np.ones(E.shape[1]))


def _differences(i: Index, j: Index, n: int) -> Matrix:
    """The sparse matrix E (m x n) with the rows v_i - v_j of E V."""
    at, one = np.arange(i.size), np.ones(i.size)
    entries = np.concatenate([one, -one]), (np.concatenate([at, at]), np.concatenate([i, j]))
    return sp.coo_array(entries, shape=(i.size, n)).tocsr()
