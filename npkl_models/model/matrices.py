"""Values of any sparse symmetric matrices, as the constraints of a semidefinite program in standard form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask, Matrix
from npkl_models.linalg.owned import finite, frozen, real_array, whole_array, whole_number
from npkl_models.model.functional import Functional, Triplets
from npkl_models.model.reading import symmetric


class SparseMatrices(Functional):
    """z_e = <M_e, K> for sparse symmetric matrices M_e (n x n).

    Parameters
    ----------
    n : int
        The number of points, which is the order of K.
    matrices : sequence of array_like or sparse of shape (n, n), or tuple of four array_like of shape (nnz,)
        The matrices M_e, each symmetric. Or (owner, row, column, value): M_owner has this value at
        (row, column) and at (column, row). Each entry is stated once, in either triangle.
    size : int, optional
        The number m of matrices. Default is the number that is given, or the largest owner plus one.

    Raises
    ------
    ProblemError
        If a matrix is not symmetric and finite, or an entry is stated twice.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> M = nm.SparseMatrices(2, [np.eye(2), [[0.0, 1.0], [1.0, 0.0]]])
    >>> M.value(np.array([[3.0, 0.5], [0.5, 1.0]]))
    array([4., 1.])
    """

    kind = "sparse matrices"
    arity = 0  # no index names a point in each value
    latex = r"\langle M_e, K \rangle"
    count: int
    owner: Index
    row: Index  # row <= column; sorted by owner, row and column
    column: Index
    entry: Array  # M_owner at (row, column), not zero

    def __init__(
        self, n: int, matrices: Sequence[Any] | tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
        size: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n)
        if _are_triplets(matrices):
            owner, row, column = (whole_array(part, f"indices of {self.kind}") for part in matrices[:3])
            entry = np.asarray(real_array(matrices[3], f"the values of {self.kind}"), dtype=float)
            count = int(owner.max(initial=-1)) + 1
        else:
            parts = [_upper(one, n, k) for k, one in enumerate(matrices)]
            owner = np.repeat(np.arange(len(parts)), [part[2].size for part in parts])
            row, column, entry = (
                np.concatenate([np.zeros(0, dtype=kind), *(part[k] for part in parts)])
                for k, kind in ((0, np.intp), (1, np.intp), (2, float))
            )
            count = len(parts)
        count = max(count, 1) if size is None else whole_number(size, f"the number of {self.kind}", 0)
        self._hold(count, owner, row, column, entry)

    def _hold(self, size: int, owner: Index, row: Index, column: Index, entry: Array) -> None:
        """Check and sort the entries, and keep them."""
        if len({part.size for part in (owner, row, column, entry)}) > 1 or owner.ndim != 1:
            raise ProblemError(f"{self.kind} must have four vectors of one length")
        finite(entry, f"the values of {self.kind}")
        if not np.isfinite(2 * entry).all():  # the coefficient of K_ij is twice an entry
            raise ProblemError(f"{self.kind} must be finite, also times two")
        for part, most, name in ((owner, size, "owner"), (row, self.n, "row"), (column, self.n, "column")):
            wrong = part[(part < 0) | (part >= most)]
            if wrong.size:
                raise ProblemError(
                    f"each {name} of {self.kind} must lie in 0..{most - 1}, got {wrong[:5].tolist()}"
                )
        low, high = np.minimum(row, column).astype(np.intp), np.maximum(row, column).astype(np.intp)
        order = np.lexsort((high, low, owner))
        owner, low, high, entry = owner[order].astype(np.intp), low[order], high[order], entry[order]
        twice = (np.diff(owner) == 0) & (np.diff(low) == 0) & (np.diff(high) == 0)
        if twice.any():
            k = int(np.flatnonzero(twice)[0])
            raise ProblemError(
                f"{self.kind} must have each entry once, got ({low[k]}, {high[k]}) of matrix {owner[k]} twice"
            )
        kept = entry != 0
        object.__setattr__(self, "count", size)
        for name, value in (("owner", owner), ("row", low), ("column", high), ("entry", entry)):
            object.__setattr__(self, name, frozen(value[kept]))

    @property
    def size(self) -> int:
        """The number m of matrices."""
        return self.count

    @property
    def additions(self) -> int:
        return int(np.max(np.bincount(self.owner, minlength=1), initial=0))

    @property
    def magnitudes(self) -> Array:
        out = np.zeros(self.size)
        np.maximum.at(out, self.owner, np.abs(self.entry))
        return np.where(out > 0, out, 1.0)

    @property
    def numbers(self) -> dict[str, Array | Index]:
        return {
            "owner": self.owner, "row": self.row, "column": self.column, "entry": self.entry,
            "size": np.array([self.size]),
        }  # fmt: skip

    @classmethod
    def made(cls, n: int, indices: Sequence[ArrayLike], numbers: Mapping[str, Array]) -> Self:
        size = numbers["size"]
        if size.shape != (1,):
            raise ProblemError(f"the size of {cls.kind} must be one number, got shape {size.shape}")
        parts = (numbers["owner"], numbers["row"], numbers["column"], numbers["entry"])
        return cls(n, parts, int(size[0]))

    def matrix(self, e: int) -> Matrix:
        """M_e as a sparse array (n x n)."""
        unit = np.zeros(self.size)
        unit[e] = 1.0
        return self.adjoint(unit)

    def kept(self, mask: Mask) -> Self:
        place, left = np.cumsum(mask) - 1, mask[self.owner]
        parts = (place[self.owner[left]], self.row[left], self.column[left], self.entry[left])
        return type(self)(self.n, parts, int(np.sum(mask)))

    def over(self, n: int, place: Index) -> Self:
        return type(self)(n, (self.owner, place[self.row], place[self.column], self.entry), self.size)

    def triplets(self) -> Triplets:
        twice = np.where(self.row == self.column, 1.0, 2.0)
        return Triplets(self.owner, self.row, self.column, twice * self.entry)


def _are_triplets(given: Any) -> bool:
    """Whether the argument is (owner, row, column, value): four vectors, and not four matrices."""
    if not isinstance(given, (tuple, list)):
        raise ProblemError(
            f"sparse matrices must be a sequence of matrices, or (owner, row, column, value), "
            f"got {type(given).__name__}"
        )
    return len(given) == 4 and all(not sp.issparse(part) and np.ndim(part) == 1 for part in given)


def _upper(given: Any, n: int, e: int) -> tuple[Index, Index, Array]:
    """The entries of the upper triangle of a symmetric matrix."""
    M = symmetric(given, f"matrix {e}")
    if M.shape != (n, n):
        raise ProblemError(f"matrix {e} must have shape ({n}, {n}), got {M.shape}")
    half = sp.coo_array(sp.triu(M))
    return half.coords[0], half.coords[1], half.data
