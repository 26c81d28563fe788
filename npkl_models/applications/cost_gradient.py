"""The derivative of a number in the cost matrix, and so in edges, shift, width and features of its graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Matrix
from npkl_models.linalg.owned import finite, real_array, real_matrix, real_number
from npkl_models.model.graph import affinity, check_points


@dataclass(frozen=True, eq=False)
class CostGradient:
    """The derivative G of a number in a symmetric cost matrix: the number changes by <G, dC>.

    G is (A B' + B A') / 2, which is never formed.

    Attributes
    ----------
    left, right : ndarray of shape (n, r)
        The factors A and B.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.cost_gradient import CostGradient
    >>> V = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    >>> gradient = CostGradient(V, V)  # of an optimum: G = K
    >>> gradient.shift, gradient.edges([0], [2]).tolist()
    (7.0, [5.0])
    """

    left: Array
    right: Array

    def entries(self, i: ArrayLike, j: ArrayLike) -> Array:
        """The entries G_ij of pairs of points; a change of C_ij is also a change of C_ji."""
        a, b = np.asarray(i, dtype=np.intp), np.asarray(j, dtype=np.intp)
        out = np.einsum("er,er->e", self.left[a], self.right[b])
        out += np.einsum("er,er->e", self.right[a], self.left[b])
        return 0.5 * out

    @property
    def diagonal(self) -> Array:
        """The diagonal of G (n)."""
        return np.einsum("ir,ir->i", self.left, self.right)

    @property
    def shift(self) -> float:
        """The derivative in a shift s of the cost, C + s I."""
        return float(np.sum(self.diagonal))

    def along(self, change: Matrix | Array) -> float:
        """The derivative along a change dC of the cost (n x n, symmetric)."""
        dC = finite(real_matrix(change, "a change of the cost"), "a change of the cost")
        if dC.shape != (len(self.left), len(self.left)):
            raise ProblemError(f"a change of the cost must have {len(self.left)} rows, got shape {dC.shape}")
        return float(np.sum(self.left * (dC @ self.right)))

    def edges(self, i: ArrayLike, j: ArrayLike) -> Array:
        """The derivative in the weight of each edge of an unnormalised Laplacian: G_ii + G_jj - 2 G_ij."""
        a, b = np.asarray(i, dtype=np.intp), np.asarray(j, dtype=np.intp)
        return self.diagonal[a] + self.diagonal[b] - 2 * self.entries(a, b)

    def affinities(self, affinity: Matrix, normalized: bool = True) -> Matrix:
        """The derivative in each affinity S_ij of `npkl_models.laplacian`; both orders of an edge share it.

        Parameters
        ----------
        affinity : sparse of shape (n, n)
            The affinity S of the graph, such as `npkl_models.knn_affinity` gives.
        normalized : bool
            Whether the Laplacian is normalised.

        Returns
        -------
        scipy.sparse.coo_array of shape (n, n)
            Numbers D on the pattern of S; a change dS changes the number by sum D_ij dS_ij over both orders.
        """
        S = finite(sp.coo_array(real_matrix(affinity, "an affinity")), "an affinity")
        if S.shape != (len(self.left), len(self.left)):
            raise ProblemError(f"an affinity must have {len(self.left)} rows and columns, got {S.shape}")
        G = self.entries(S.row, S.col)
        if not normalized:
            diagonal = 0.5 * (self.diagonal[S.row] + self.diagonal[S.col])
            return sp.coo_array((diagonal - G, (S.row, S.col)), shape=S.shape)
        degree = np.asarray(S.sum(axis=1)).ravel()
        root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1.0)), 0.0)
        pull = np.bincount(S.row, weights=G * S.data * root[S.col], minlength=degree.size) * root**3
        values = 0.5 * (pull[S.row] + pull[S.col]) - G * root[S.row] * root[S.col]
        return sp.coo_array((values, (S.row, S.col)), shape=S.shape)

    def graph(
        self, X: ArrayLike, n_neighbors: int, sigma: float, normalized: bool = True
    ) -> tuple[float, Array]:
        """The derivatives in the width and in a scale of each feature of a neighbourhood graph.

        The graph is ``laplacian(X, n_neighbors, sigma=sigma)``. The neighbours stay the same, as they do for
        small changes unless two distances are equal.

        Parameters
        ----------
        X : array_like of shape (n, d)
            The points.
        n_neighbors : int
            Number of neighbours.
        sigma : float
            Width, as a number: a width that follows the points would change with the scales.
        normalized : bool
            Whether the Laplacian is normalised.

        Returns
        -------
        (float, ndarray of shape (d,))
            The derivative in ``sigma``, and in a factor on each column of X, at the factor 1.

        Raises
        ------
        ProblemError
            If the width is not a positive number, or if the points do not fit.
        """
        width, points = real_number(sigma, "sigma"), real_array(check_points(X), "X")
        S = affinity(points, n_neighbors, width)
        slope = self.affinities(S, normalized)
        whole = sp.coo_array(S)
        change = slope.data * whole.data / width**2  # -d S_ij / d (distance^2 / 2), times the derivative
        apart = (points[whole.row] - points[whole.col]) ** 2
        scales = -change @ apart
        return float(change @ np.sum(apart, axis=1)) / width, np.asarray(scales)
