"""The linear functionals of a kernel and their registry; what one must have is in `functional`."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.model.functional import Functional, Triplets, svec

__all__ = [
    "FUNCTIONALS",
    "DistanceDifferences",
    "Entries",
    "Functional",
    "SquaredDistances",
    "TotalSum",
    "Triplets",
]


class Entries(Functional):
    """z_e = K[i_e, j_e].

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> z = nm.Entries(3, ([0, 1], [1, 1]))  # K_01 and K_11
    >>> z.value(np.arange(9.0).reshape(3, 3))
    array([1., 4.])
    >>> z.adjoint(np.array([2.0, 5.0])).toarray()
    array([[0., 1., 0.],
           [1., 5., 0.],
           [0., 0., 0.]])
    """

    kind = "entries"
    arity = 2

    @property
    def latex(self) -> str:
        return r"K_{ii}" if self.on_diagonal.all() else r"K_{ij}"

    @property
    def latex_matrix(self) -> str:
        return (
            r"\delta_i \delta_i'"
            if self.on_diagonal.all()
            else r"\tfrac{1}{2} (\delta_i \delta_j' + \delta_j \delta_i')"
        )

    @property
    def on_diagonal(self) -> Mask:
        return np.equal(*self.indices)

    def triplets(self) -> Triplets:
        i, j = self.indices
        return Triplets(np.arange(i.size), i, j, np.ones(i.size))


class SquaredDistances(Functional):
    """z_e = K[i, i] + K[j, j] - 2 K[i, j], the squared distance in feature space.

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
        return _distance(i, j, 1.0)

    def value_of_factor(self, V: Array) -> Array:
        """||v_i - v_j||^2, however far from zero the points are."""
        apart = V[self.indices[0]] - V[self.indices[1]]
        return np.einsum("er,er->e", apart, apart)

    def size_of_factor(self, V: Array) -> Array:
        return self.value_of_factor(V)

    def change_of_factor(self, V: Array, off: Array) -> Array:
        both = off[self.indices[0]] + off[self.indices[1]]
        out: Array = both * (2 * np.sqrt(self.value_of_factor(V)) + both) * (1 + 1e-9)
        return out

    def scale_of_factor(self, V: Array) -> Array:
        return super().size_of_factor(V)  # of points that should coincide: how long their rows are


class DistanceDifferences(Functional):
    """z_e = D_ij - D_ik with D the squared distances (a relative comparison).

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> z = nm.DistanceDifferences(3, ([0], [1], [2]))  # is 0 nearer to 1 than to 2?
    >>> V = np.array([[0.0], [1.0], [3.0]])
    >>> z.value_of_factor(V)
    array([-8.])
    """

    kind = "distance differences"
    arity = 3
    latex = r"D_{ij} - D_{ik}"
    latex_matrix = (
        r"(\delta_i - \delta_j) (\delta_i - \delta_j)' - (\delta_i - \delta_k) (\delta_i - \delta_k)'"
    )

    def value_of_factor(self, V: Array) -> Array:
        near, far = self._both(V)
        return near - far

    def size_of_factor(self, V: Array) -> Array:
        near, far = self._both(V)
        return near + far

    def scale_of_factor(self, V: Array) -> Array:
        return super().size_of_factor(V)

    def change_of_factor(self, V: Array, off: Array) -> Array:
        near, far = (side.change_of_factor(V, off) for side in self._sides)
        return near + far

    @property
    def _sides(self) -> tuple[SquaredDistances, SquaredDistances]:
        i, j, k = self.indices
        return SquaredDistances(self.n, (i, j)), SquaredDistances(self.n, (i, k))

    def _both(self, V: Array) -> tuple[Array, Array]:
        near, far = (side.value_of_factor(V) for side in self._sides)
        return near, far

    def triplets(self) -> Triplets:
        i, j, k = self.indices
        parts = zip(_distance(i, j, 1.0), _distance(i, k, -1.0), strict=True)
        return Triplets(*(np.concatenate(pair) for pair in parts))


class TotalSum(Functional):
    """The single value z = 1'K1 (zero for a centred kernel); its matrix 11' is dense.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> nm.TotalSum(2).value(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    array([2.])
    """

    kind = "total sum"
    arity = 0
    latex = r"\mathbf{1}' K \mathbf{1}"
    latex_matrix = r"\mathbf{1} \mathbf{1}'"

    @property
    def size(self) -> int:
        return 1

    def triplets(self) -> Triplets:
        i, j = np.triu_indices(self.n)
        return Triplets(np.zeros(i.size, dtype=np.intp), i, j, np.where(i == j, 1.0, 2.0))

    def value(self, K: Array) -> Array:
        return np.array([float(np.sum(K))])

    def value_of_product(self, V: Array, U: Array) -> Array:
        return np.array([float(V.sum(axis=0) @ U.sum(axis=0))])

    def size_of_factor(self, V: Array) -> Array:
        return np.array([float(np.sum(np.sqrt(np.einsum("ir,ir->i", V, V))) ** 2)])

    def change_of_factor(self, V: Array, off: Array) -> Array:
        norm, more = float(np.sum(np.sqrt(np.einsum("ir,ir->i", V, V)))), float(np.sum(off))
        return np.array([more * (2 * norm + more) * (1 + 1e-9)])

    def svec_operator(self, Q: Array) -> Array:
        q = Q.sum(axis=0)
        return svec(np.outer(q, q))[None]


FUNCTIONALS: dict[str, type[Functional]] = {
    cls.kind: cls for cls in (Entries, SquaredDistances, DistanceDifferences, TotalSum)
}


def _distance(i: Index, j: Index, sign: float) -> Triplets:
    owner, one = np.arange(i.size), np.ones(i.size)
    return Triplets(
        np.tile(owner, 3),
        np.concatenate([i, j, i]),
        np.concatenate([i, j, j]),
        sign * np.concatenate([one, one, -2 * one]),
    )
