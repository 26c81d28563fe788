"""The linear functionals of a kernel and their registry; the base class is in `functional`."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.model.distances import DistanceCombinations, DistanceDifferences, SquaredDistances
from npkl_models.model.functional import Functional, Triplets, svec
from npkl_models.model.matrices import SparseMatrices

__all__ = [
    "DISTANCES",
    "FUNCTIONALS",
    "DistanceCombinations",
    "DistanceDifferences",
    "Entries",
    "Functional",
    "SparseMatrices",
    "SquaredDistances",
    "TotalSum",
    "Trace",
    "Triplets",
    "single_entries",
    "squares",
]


PAIRWISE = 64  # more roundings than a pairwise sum of numpy has, for any number of summands


class Entries(Functional):
    """Entries of the kernel: z_e = K[i_e, j_e].

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> z = nm.Entries(3, ([0, 1], [1, 1]))  # K_01 and K_11
    >>> z.value(np.arange(9.0).reshape(3, 3))
    array([1., 4.])
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


class TotalSum(Functional):
    """The sum of all entries: the single value z = 1'K1, which is zero for a centred kernel."""

    kind = "total sum"
    arity = 0
    latex = r"\mathbf{1}' K \mathbf{1}"
    latex_matrix = r"\mathbf{1} \mathbf{1}'"
    size = 1

    @property
    def additions(self) -> int:
        return self.n

    def triplets(self) -> Triplets:
        i, j = np.triu_indices(self.n)
        return Triplets(np.zeros(i.size, dtype=np.intp), i, j, np.where(i == j, 1.0, 2.0))

    def value(self, K: Array) -> Array:
        return np.array([float(np.sum(K))])

    def value_of_product(self, V: Array, U: Array) -> Array:
        return np.array([float(V.sum(axis=0) @ U.sum(axis=0))])

    def scale_of_factor(self, V: Array) -> Array:
        return np.array([float(np.sum(np.sqrt(np.einsum("ir,ir->i", V, V))) ** 2)])

    def change_of_factor(self, V: Array, off: Array) -> Array:
        norm, more = float(np.sum(np.sqrt(np.einsum("ir,ir->i", V, V)))), float(np.sum(off))
        return np.array([more * (2 * norm + more) * (1 + 1e-9)])

    def svec_operator(self, Q: Array) -> Array:
        q = Q.sum(axis=0)
        return svec(np.outer(q, q))[None]


class Trace(Functional):
    """The trace: the single value z = tr K."""

    kind = "trace"
    arity = 0
    latex = r"\operatorname{tr} K"
    latex_matrix = "I"
    additions = PAIRWISE
    size = 1

    def triplets(self) -> Triplets:
        i = np.arange(self.n)
        return Triplets(np.zeros(self.n, dtype=np.intp), i, i, np.ones(self.n))

    def value_of_factor(self, V: Array) -> Array:
        """The sum of squares, row by row and then pairwise; it has as few roundings as a sum of numpy."""
        return np.array([float(np.sum(np.einsum("ir,ir->i", V, V)))])

    def size_of_factor(self, V: Array) -> Array:
        return self.value_of_factor(V)

    def change_of_factor(self, V: Array, off: Array) -> Array:
        norm = np.sqrt(np.einsum("ir,ir->i", V, V))
        return np.array([float(np.sum(off * (2 * norm + off))) * (1 + 1e-9)])

    def svec_operator(self, Q: Array) -> Array:
        return svec(Q.T @ Q)[None]


DISTANCES = (SquaredDistances, DistanceDifferences, DistanceCombinations)
"""The functionals of distances, whose values do not change if all points are moved together."""

FUNCTIONALS: dict[str, type[Functional]] = {
    cls.kind: cls for cls in (Entries, *DISTANCES, TotalSum, Trace, SparseMatrices)
}


def squares(f: Functional) -> Mask:
    """Which values are never negative on a PSD kernel: K_ii, squared distances, 1'K1 and tr K."""
    if isinstance(f, Entries):
        return f.on_diagonal
    return np.full(f.size, isinstance(f, (SquaredDistances, TotalSum, Trace)))


def single_entries(f: Functional) -> tuple[Index, Index, Index, Array]:
    """The values c K_ij of one entry, whatever holds them: their positions, i, j and c."""
    none = np.zeros(0, dtype=np.intp)
    if isinstance(f, (TotalSum, Trace)):
        return none, none, none, np.zeros(0)
    t = f.incidence
    e = np.flatnonzero((np.bincount(t.owner, minlength=t.size)[t.owner] == 1) & (t.coefficient != 0))
    return t.owner[e], t.row[e], t.column[e], np.asarray(t.coefficient)[e]
