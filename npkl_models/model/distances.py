"""Squared distances in feature space, differences of two distances, and linear combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask, Matrix
from npkl_models.linalg.owned import owned_sparse, real_matrix
from npkl_models.model.functional import Functional, Triplets


def _triplets(owner: Index, i: Index, j: Index, a: Array) -> Triplets:
    """The entries of the sums of ``a`` times squared distances, by owner."""
    ends = np.concatenate([i, j, i]), np.concatenate([i, j, j])
    return Triplets(np.tile(owner, 3), *ends, np.concatenate([a, a, -2 * a]))


class SquaredDistances(Functional):
    """Squared distances in feature space: z_e = K[i, i] + K[j, j] - 2 K[i, j].

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.SquaredDistances(3, ([0, 0], [1, 2])).value_of_factor(np.array([[0.0], [1.0], [3.0]]))
    array([1., 9.])
    """

    kind = "squared distances"
    arity = 2
    latex = r"K_{ii} + K_{jj} - 2 K_{ij}"
    latex_matrix = r"(\delta_i - \delta_j) (\delta_i - \delta_j)'"

    def triplets(self) -> Triplets:
        i, j = self.indices
        return _triplets(np.arange(i.size), i, j, np.ones(i.size))

    def value_of_factor(self, V: Array) -> Array:
        """The values ||v_i - v_j||^2, computed from differences of rows so that far points lose no digits."""
        differences = V[self.indices[0]] - V[self.indices[1]]
        return np.einsum("er,er->e", differences, differences)

    def size_of_factor(self, V: Array) -> Array:
        return self.value_of_factor(V)

    def change_of_factor(self, V: Array, off: Array) -> Array:
        i, j = self.indices
        both = np.where(i == j, 0.0, off[i] + off[j])  # a point stays at no distance from itself
        out: Array = both * (2 * np.sqrt(self.value_of_factor(V)) + both) * (1 + 1e-9)
        return out


class OfDistances(Functional):
    """Base class of z = A D, with D squared distances and A a sparse matrix."""

    distances: SquaredDistances
    combination: Matrix  # A: a row for each value, and a column for each distance

    def value_of_factor(self, V: Array) -> Array:
        return np.asarray(self.combination @ self.distances.value_of_factor(V))

    def size_of_factor(self, V: Array) -> Array:
        return np.asarray(abs(self.combination) @ self.distances.value_of_factor(V))

    def change_of_factor(self, V: Array, off: Array) -> Array:
        each = self.distances.change_of_factor(V, off)
        return np.asarray(abs(self.combination) @ each) * (1 + 1e-9)


class DistanceDifferences(OfDistances):
    """Differences of squared distances: z_e = D_ij - D_ik, which compare two distances from one point."""

    kind = "distance differences"
    arity = 3
    latex = r"D_{ij} - D_{ik}"
    latex_matrix = (
        r"(\delta_i - \delta_j) (\delta_i - \delta_j)' - (\delta_i - \delta_k) (\delta_i - \delta_k)'"
    )

    def __init__(self, n: int, indices: Sequence[ArrayLike] = ()) -> None:
        super().__init__(n, indices)
        i, j, k = self.indices
        both = SquaredDistances(self.n, (np.tile(i, 2), np.concatenate([j, k])))
        object.__setattr__(self, "distances", both)
        object.__setattr__(self, "combination", difference(i.size))

    def triplets(self) -> Triplets:
        i, j, k = self.indices  # K_ii is in both distances
        owner, one = np.arange(i.size), np.ones(i.size)
        return Triplets(
            np.tile(owner, 4),
            np.concatenate([j, i, k, i]),
            np.concatenate([j, j, k, k]),
            np.concatenate([one, -2 * one, -one, 2 * one]),
        )


def difference(count: int) -> Matrix:
    """The matrix of the differences of the first ``count`` numbers and the next ``count``."""
    one = sp.eye_array(count, format="csr")
    return sp.hstack([one, -one], format="csr")


class DistanceCombinations(OfDistances):
    """z = A D, with D the squared distances of some pairs of points and A a sparse matrix.

    Parameters
    ----------
    n : int
    indices : two array_like of int, shape (p,)
        The pairs whose squared distances are combined.
    combination : array_like or sparse of shape (m, p)
        A: a row for each value.
    """

    kind = "combinations of distances"
    arity = 0  # no index names a point in each value
    latex = r"\textstyle\sum_{(i,j)} a_{e,ij} D_{ij}"
    latex_matrix = r"\textstyle\sum_{(i,j)} a_{e,ij} (\delta_i - \delta_j) (\delta_i - \delta_j)'"

    def __init__(self, n: int, indices: Sequence[ArrayLike], combination: ArrayLike | Matrix) -> None:
        super().__init__(n)
        distances = SquaredDistances(n, indices)
        given = real_matrix(combination, f"the matrix of {self.kind}")
        if given.ndim != 2 or given.shape[1] != distances.size:
            raise ProblemError(
                f"the matrix of {self.kind} must have a column for each of the {distances.size} distances, "
                f"got shape {given.shape}"
            )
        A = owned_sparse(given)
        big = float(np.max(np.abs(A.data), initial=0.0))
        if not np.isfinite(2 * big):  # the coefficient of K_ij is twice a number
            raise ProblemError(f"the matrix of {self.kind} must be finite, also times two, got {big!r}")
        object.__setattr__(self, "distances", distances)
        object.__setattr__(self, "combination", A)

    @property
    def size(self) -> int:
        return int(self.combination.shape[0])

    @property
    def additions(self) -> int:
        return int(np.max(np.diff(self.combination.indptr), initial=0))

    @property
    def numbers(self) -> dict[str, Array | Index]:
        A, (i, j) = self.combination, self.distances.indices
        return {"i": i, "j": j, "start": A.indptr, "column": A.indices, "entry": A.data}

    @classmethod
    def made(cls, n: int, indices: Sequence[ArrayLike], numbers: Mapping[str, Array]) -> Self:
        parts = (numbers["entry"], numbers["column"], numbers["start"])
        shape = (numbers["start"].size - 1, numbers["i"].size)
        try:
            A = sp.csr_array(parts, shape=shape)
            A.check_format()
        except ValueError as error:
            raise ProblemError(f"the matrix of {cls.kind} must be a valid CSR array: {error}") from None
        return cls(n, (numbers["i"], numbers["j"]), A)

    def kept(self, mask: Mask) -> Self:
        A = sp.csr_array(self.combination[np.flatnonzero(mask)])
        used = np.unique(A.indices)
        i, j = self.distances.indices
        return type(self)(self.n, (i[used], j[used]), A[:, used])

    def over(self, n: int, place: Index) -> Self:
        i, j = self.distances.indices
        return type(self)(n, (place[i], place[j]), self.combination)

    def triplets(self) -> Triplets:
        A = self.combination.tocoo()
        i, j = (end[A.col] for end in self.distances.indices)
        return _triplets(A.row.astype(np.intp), i, j, A.data)

    def operator(self, Q: Matrix | None = None) -> Matrix:
        product = self.combination @ self.distances.operator(Q)
        return sp.csr_array(product) if sp.issparse(product) else product

    def svec_operator(self, Q: Array) -> Array:
        return np.asarray(self.combination @ self.distances.svec_operator(Q))
