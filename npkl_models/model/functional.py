"""The base class of linear functionals z_e = <M_e, K> with sparse symmetric M_e.

z_e is the sum of ``coefficient * K[row, column]`` over the triplets that ``owner`` assigns to e. A new
functional only has to define its triplets; all else follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask, Matrix
from npkl_models.linalg.owned import Owner, frozen, whole_array, whole_number
from npkl_models.model.incidence import Incidence


class Triplets(NamedTuple):
    """The non-zero entries of all M_e: z[owner] += coefficient * K[row, column]."""

    owner: Index
    row: Index
    column: Index
    coefficient: Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Functional(Owner, ABC):
    """Base class of functionals: linear maps from kernels (n x n) to values z (m,).

    Examples
    --------
    >>> import npkl_models as nm
    >>> issubclass(nm.Entries, nm.Functional)
    True
    >>> nm.Entries(3, ([0], [1])).size
    1
    """

    n: int
    indices: tuple[Index, ...]
    kind: ClassVar[str]
    arity: ClassVar[int]

    def __init__(self, n: int, indices: Sequence[ArrayLike] = ()) -> None:
        n = whole_number(n, f"the number of points of {self.kind}", 1)
        if not isinstance(indices, (tuple, list, np.ndarray)):
            raise ProblemError(
                f"{self.kind} must have {self.arity} index arrays, got {type(indices).__name__}"
            )
        given = tuple(_as_indices(part, self.kind, n) for part in indices)
        if len(given) != self.arity or len({part.size for part in given}) > 1:
            raise ProblemError(
                f"{self.kind} must have {self.arity} index arrays of one length, "
                f"got lengths {[part.size for part in given]}"
            )
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "indices", given)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} values over {self.n} points)"

    @property
    def size(self) -> int:
        """The number m of values."""
        return int(self.indices[0].size)

    @property
    def on_diagonal(self) -> Mask:
        """For each value, whether it is a diagonal entry K_ii; shape (m,)."""
        return np.zeros(self.size, dtype=bool)

    @property
    def latex(self) -> str:
        """The formula of z_e in LaTeX."""
        return r"\langle M_e, K \rangle"

    @property
    def latex_matrix(self) -> str:
        """The formula of M_e in LaTeX, "" if it does not fit in a line; delta_i is a unit vector."""
        return ""

    @property
    def additions(self) -> int:
        """The number of terms that a value sums up; 0 if there are only a few."""
        return 0

    @property
    def magnitudes(self) -> Array | float:
        """The largest absolute entry of each matrix, where it is not about one."""
        return 1.0

    @property
    def numbers(self) -> dict[str, Array | Index]:
        """The vectors, by name, that define the functional besides its indices."""
        return {}

    @classmethod
    def made(cls, n: int, indices: Sequence[ArrayLike], numbers: Mapping[str, Array]) -> Self:
        """Make the functional from the given indices and `numbers`."""
        return cls(n, indices)

    def kept(self, mask: Mask) -> Self:
        """The functional with only the values that the mask selects."""
        return type(self)(self.n, tuple(index[mask] for index in self.indices))

    def over(self, n: int, place: Index) -> Self:
        """The same values on a kernel of n points, in which ``place`` gives the index of each point."""
        return type(self)(n, tuple(place[index] for index in self.indices))

    @abstractmethod
    def triplets(self) -> Triplets:
        """The non-zero entries of all M_e, with one ordered index pair for each."""

    @cached_property
    def incidence(self) -> Incidence:
        """The triplets in the form that sums over them need."""
        owner, row, column, coefficient = (frozen(part) for part in self.triplets())
        return Incidence(owner, row, column, coefficient, self.n, self.size)

    def value(self, K: Array) -> Array:
        """The values z on a dense kernel K (n x n)."""
        t = self.incidence
        return t.collect(K[t.row, t.column])

    def value_of_factor(self, V: Array) -> Array:
        """The values z on K = VV', from dot products of rows of V (n x r); K is never formed."""
        return self.value_of_product(V, V)

    def value_of_product(self, V: Array, U: Array) -> Array:
        """The values z on the product VU', which may be asymmetric, in the order of the indices."""
        return self.incidence.of_product(V, U, once=True)

    def size_of_factor(self, V: Array) -> Array:
        """The scale of rounding errors in the values on VV': sums of ``abs(M_ij)`` times norms of rows."""
        return self.scale_of_factor(V)

    def size_of_kernel(self, K: Array) -> Array:
        """The scale of rounding errors in the values on a dense kernel: sums of ``abs(M_ij) abs(K_ij)``."""
        t = self.incidence
        return t.collect(np.sign(t.coefficient) * np.abs(K[t.row, t.column]))

    def scale_of_factor(self, V: Array) -> Array:
        """The scale of a residual at VV' if the target is zero: sum ``abs(M_ij)`` times norms of rows."""
        t, norm = self.incidence, np.sqrt(np.einsum("ir,ir->i", V, V))
        return t.collect(np.sign(t.coefficient) * norm[t.row] * norm[t.column])

    def change_of_factor(self, V: Array, off: Array) -> Array:
        """A bound on the change of the values on VV' if each row of V moves by at most ``off`` (n,)."""
        t, norm = self.incidence, np.sqrt(np.einsum("ir,ir->i", V, V))
        i, j = t.row, t.column
        ends = off[i] * (norm[j] + off[j]) + norm[i] * off[j]
        out = np.bincount(t.owner, np.abs(t.coefficient) * ends, self.size)
        return out.astype(float) * (1 + 1e-9)

    def row_sizes(self, y: Array, x: Array | None = None) -> tuple[Array, Array]:
        """Row sums of ``sum_e abs(y_e) abs(M_e) Diag(x)``, and their numbers of terms (n,)."""
        return self.incidence.row_sums(np.asarray(y, dtype=float), x)

    def adjoint(self, y: Array) -> Matrix:
        """The matrix sum_e y_e M_e as a symmetric sparse array (n x n)."""
        return self.incidence.adjoint(np.asarray(y, dtype=float))

    def operator(self, Q: Matrix | None = None) -> Matrix:
        """The matrix A with z = A vec(K), or z = A vec(U) for K = Q U Q' (row-major vec)."""
        t = self.incidence
        if Q is None or sp.issparse(Q):
            A = sp.coo_array(
                (t.coefficient, (t.owner, t.row * self.n + t.column)), shape=(self.size, self.n * self.n)
            ).tocsr()
            return A if Q is None else sp.csr_array(A @ sp.kron(Q, Q, format="csr"))
        s = Q.shape[1]
        outer = t.coefficient[:, None, None] * Q[t.row][:, :, None] * Q[t.column][:, None, :]
        A = np.zeros((self.size, s * s))
        np.add.at(A, t.owner, outer.reshape(-1, s * s))
        return A

    def svec_operator(self, Q: Array) -> Array:
        """The matrix A (m x s(s+1)/2) with z = A svec(U) for K = Q U Q'; see `svec`."""
        return svec_rows(self.incidence, Q)


def svec_rows(t: Incidence, Q: Array) -> Array:
    """The matrix A (m x s(s+1)/2) of values of K = Q U Q' by their triplets; see `svec`."""
    first, second = np.triu_indices(Q.shape[1])
    every = np.arange(t.owner.size)
    gather = sp.csr_array((t.coefficient, (t.owner, every)), shape=(t.size, every.size))
    out = np.empty((t.size, first.size))
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        both = Q[t.row, a] * Q[t.column, b] + Q[t.row, b] * Q[t.column, a]
        out[:, k] = (gather @ both) * (0.5 if a == b else np.sqrt(0.5))
    return out


def svec(U: Array) -> Array:
    """The upper triangle of a symmetric U by rows, s(s+1)/2 numbers, with off-diagonal entries times sqrt 2.

    With this scaling, <U, W> = svec(U)'svec(W).
    """
    first, second = np.triu_indices(len(U))
    return U[first, second] * np.where(first == second, 1.0, np.sqrt(2.0))


def smat(y: Array, order: int) -> Array:
    """The symmetric U with svec(U) = y."""
    first, second = np.triu_indices(order)
    U = np.zeros((order, order))
    U[first, second] = np.where(first == second, 1.0, np.sqrt(0.5)) * y
    return U + np.triu(U, 1).T


def _as_indices(values: ArrayLike, kind: str, n: int) -> Index:
    out = np.atleast_1d(whole_array(values, f"indices of {kind}"))
    if out.ndim != 1:
        raise ProblemError(f"indices of {kind} must be one-dimensional integers, got shape {out.shape}")
    if out.size and (out.min() < 0 or out.max() >= n):
        bad = out[(out < 0) | (out >= n)][:5].tolist()
        raise ProblemError(f"indices of {kind} must lie in 0..{n - 1}, got {bad}")
    return frozen(out)
