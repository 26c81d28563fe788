"""A fixed orthonormal basis Q of kernels K = Q U Q'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from npkl_models.errors import ProblemError
from npkl_models.linalg import PLAIN, UNIT, Array, Index, Matrix, gamma, nonnegative_norm, norm_bound
from npkl_models.linalg.owned import Owner, finite, frozen, owned_sparse, real_array, real_matrix, shelled

ACCEPTED = 1e-12  # largest norm of Q'Q - I of a given Q
CENTRED = 64 * UNIT  # norm of the column sums, over the number of points, that counts as zero
STRAIGHT = 1e-13  # norm above which `orthonormal` changes computed columns


@dataclass(frozen=True, eq=False, repr=False)
class Basis(Owner):
    """A basis: a matrix Q (n x s) with orthonormal columns, which restricts the kernel to K = QUQ'.

    A sparse Q stays sparse, and so do matrices that are restricted to it. Q is taken as it is, or refused:
    other columns in its place would make another problem. Certificates account for the defect that is left.

    Parameters
    ----------
    Q : ndarray or sparse array of shape (n, s), s <= n
        The columns of the basis.
    eigenvalues : ndarray of shape (s,), optional
        Eigenvalues of the Laplacian, if the columns are eigenvectors of a Laplacian.

    Raises
    ------
    ProblemError
        If Q has more columns than rows, is not finite, or is off by ``norm(Q'Q - I) > 1e-12``.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> Q = np.eye(4)[:, :2]
    >>> nm.Basis(Q)
    Basis(2 columns over 4 points)
    """

    Q: Matrix
    eigenvalues: Array | None = None

    def __post_init__(self) -> None:
        Q = finite(real_matrix(self.__dict__["Q"], "basis Q"), "basis Q")  # itself, and no shell
        if Q.ndim != 2 or not 1 <= Q.shape[1] <= Q.shape[0]:
            raise ProblemError(f"basis Q must have shape (n, s) with 1 <= s <= n, got {Q.shape}")
        error = _error(Q)
        if not error <= ACCEPTED:
            raise ProblemError(
                f"basis Q must have orthonormal columns, |Q'Q - I| <= {ACCEPTED:g}, got {error:.1e}; "
                "Basis(numpy.linalg.qr(Q)[0]) has the same range"
            )
        self.__dict__["Q"] = frozen(owned_sparse(Q) if sp.issparse(Q) else Q)
        if self.eigenvalues is not None:
            values = real_array(self.eigenvalues, "eigenvalues of a basis")
            if values.shape != (self.size,) or not np.isfinite(values).all():
                raise ProblemError(
                    f"eigenvalues of a basis must be {self.size} finite numbers, got shape {values.shape}"
                )
            object.__setattr__(self, "eigenvalues", frozen(values))

    def __repr__(self) -> str:
        return f"Basis({self.size} columns over {self.n} points)"

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.__dict__["Q"].shape[0])  # without a shell

    @property
    def size(self) -> int:
        """s, the number of basis vectors."""
        return int(self.__dict__["Q"].shape[1])

    @cached_property
    def dense(self) -> Array:
        """Q as an ndarray; a sparse Q is copied."""
        return self.Q.toarray() if sp.issparse(self.Q) else self.Q

    @cached_property
    def shared(self) -> tuple[Index, Array] | None:
        """For each row, the only column with an entry, and this entry; None if a row has more entries."""
        if not sp.issparse(self.Q) or np.any(np.diff(self.Q.indptr) > 1):
            return None
        label, share = np.zeros(self.n, dtype=np.intp), np.zeros(self.n)
        rows = np.flatnonzero(np.diff(self.Q.indptr))
        label[rows], share[rows] = self.Q.indices, self.Q.data
        return label, share

    @cached_property
    def centring(self) -> bool:
        """Whether the basis spans exactly the vectors whose entries sum to zero."""
        sums = np.asarray(self.Q.sum(axis=0)).ravel()
        return self.size == self.n - 1 and float(np.linalg.norm(sums)) <= CENTRED * self.n

    @cached_property
    def quick(self) -> tuple[Matrix, Matrix]:
        """Q and Q', as plain arrays if these are small; otherwise sparse if Q is sparse."""
        Q: Matrix = self.dense if self.n * self.size <= PLAIN else self.Q
        return Q, Q.T.tocsr() if sp.issparse(Q) else Q.T

    @cached_property
    def _sizes(self) -> tuple[Matrix, Matrix]:
        """The absolute values of Q and of Q'."""
        Q, transposed = self.quick
        return abs(Q), abs(transposed)

    @cached_property
    def _rounding(self) -> Array:
        """Relative errors of sums over the columns of Q (s): one operation for each entry of a column."""
        sparse = sp.issparse(self.Q)
        count = np.diff(sp.csc_array(self.Q).indptr) if sparse else np.full(self.size, self.n)
        own: Array = (count + 2.0) * UNIT
        return own / (1 - own)

    @cached_property
    def magnitude(self) -> float:
        """An upper bound on the squared norm of the matrix of absolute values of Q."""
        A, At = self._sizes
        return nonnegative_norm(lambda d: At @ (A @ d), self.size)

    def of_product(self, sizes: Matrix, within: float) -> float:
        """An upper bound on the norm of the rounding errors of Q'SQ, from the absolute values of S (n x n).

        An entry of Q'(SQ) errs by the rounding of two sums, relative to the entry of ``|Q|'|S||Q|``. One sum
        is over a row of S and has a relative error of at most ``within``. The other is over a column of Q.
        """
        return self._errors(lambda x: sizes @ x, within + 4 * UNIT)

    @cached_property
    def defect(self) -> float:
        """An upper bound on the norm of Q'Q - I, including the rounding of its evaluation."""
        gap = _gap(self.Q)
        gap = float(np.linalg.norm(gap.data if sp.issparse(gap) else gap))
        return gap * (1 + gamma(self.size**2)) + self._errors(lambda x: x, 2 * UNIT)

    def _errors(self, inner: Callable[[Array], Array], within: float) -> float:
        """An upper bound on the norm of the errors of a product with Q' and Q around ``inner``."""
        (A, At), own = self._sizes, self._rounding

        def product(d: Array) -> Array:
            one, other = (At @ inner(A @ np.stack([d, own * d], axis=1))).T
            return np.asarray((0.5 * own + within) * one + 0.5 * other)

        return nonnegative_norm(product, self.size) * (1 + 1e-3)


shelled(Basis, "Q")


def _gap(Q: Matrix) -> Matrix:
    """Q'Q - I."""
    s = Q.shape[1]
    return Q.T @ Q - (sp.eye_array(s, format="csr") if sp.issparse(Q) else np.eye(s))


def _error(Q: Matrix) -> float:
    """A bound on the norm of Q'Q - I: the smaller of its Frobenius norm and its largest row sum."""
    with np.errstate(over="ignore", invalid="ignore"):
        gap = _gap(Q)
        return min(float(np.linalg.norm(gap.data if sp.issparse(gap) else gap)), norm_bound(gap))


def orthonormal(Q: Array) -> Array:
    """Computed columns without their rounding errors: themselves if these are small, else those of a QR."""
    if _error(Q) <= STRAIGHT:
        return Q
    straight, R = np.linalg.qr(Q)
    return np.ascontiguousarray(straight * np.sign(R.diagonal()))


def shared_rows(label: Index, count: int, share: Array | None = None) -> Basis:
    """A sparse column for each group, with equal entries in its rows; negative labels have no column.

    The entries are multiples of the numbers ``share``, without rounding if these are powers of two.
    """
    points = np.flatnonzero(label >= 0)
    own, part = label[points], np.ones(points.size) if share is None else share[points]
    entry = part * np.bincount(own, part * part, minlength=count)[own] ** -0.5
    return Basis(sp.csr_array((entry, (points, own)), shape=(label.size, count)))


def wavelets_of(graph: Matrix) -> Basis:
    """A sparse basis of all centred vectors, in an order that keeps neighbours in the graph close."""
    return centred_wavelets(reverse_cuthill_mckee(sp.csr_array(graph), symmetric_mode=True).astype(np.intp))


def centred_wavelets(order: Index) -> Basis:
    """A sparse basis of all centred vectors: the n - 1 Haar wavelets, unbalanced unless n is a power of two.

    Each column is constant on either half of a range of points, in the given order (a permutation), and zero
    elsewhere. About log2 n columns have an entry at each point. If neighbours are close in the order, a
    sparse matrix stays sparse when it is restricted to the basis.
    """
    n = order.size
    first, last = np.zeros(1, dtype=np.intp), np.full(1, n, dtype=np.intp)
    rows, columns, entries = [], [], []
    at = 0
    while first.size:
        middle = (first + last + 1) // 2
        left, right = middle - first, last - middle
        column = at + np.arange(first.size)
        for start, count, sign, other in ((first, left, 1.0, right), (middle, right, -1.0, left)):
            within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            rows.append(np.repeat(start, count) + within)
            columns.append(np.repeat(column, count))
            entries.append(np.repeat(sign * np.sqrt(other / (count * (left + right))), count))
        at += first.size
        ends = np.concatenate([np.stack([first, middle]), np.stack([middle, last])], axis=1)
        first, last = ends[:, ends[1] - ends[0] > 1]
    where = (order[np.concatenate(rows)], np.concatenate(columns))
    return Basis(sp.csr_array(sp.coo_array((np.concatenate(entries), where), shape=(n, n - 1))))
